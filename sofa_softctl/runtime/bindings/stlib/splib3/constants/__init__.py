"""Keys, as characters and as numbers."""

__all__ = ["Key", "KeyCode"]
