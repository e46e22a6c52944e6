"""Small inverse problems with known answers."""
