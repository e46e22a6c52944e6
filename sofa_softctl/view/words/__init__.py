"""Numbers and names as text."""
