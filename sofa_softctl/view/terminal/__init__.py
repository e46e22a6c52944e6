"""Tables and text in the terminal."""
