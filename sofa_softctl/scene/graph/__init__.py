"""Bodies and devices of a scene graph."""
