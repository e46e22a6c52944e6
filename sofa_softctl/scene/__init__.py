"""What controllers may know of a scene, the same on both backends."""
