"""States that follow others."""
