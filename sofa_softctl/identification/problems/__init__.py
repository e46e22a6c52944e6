"""Built-in identification problems."""
