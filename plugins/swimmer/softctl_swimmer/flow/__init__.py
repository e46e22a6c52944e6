"""Potential flow about the links: skins, boundary elements, added mass."""
