"""Tables and lines of text."""
