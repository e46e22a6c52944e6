"""Which surfaces are near each other, and where."""
