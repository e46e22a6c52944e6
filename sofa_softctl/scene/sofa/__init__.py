"""A real SOFA: finding it, starting it, stepping it."""
