"""Build a library, verify it and export it."""
