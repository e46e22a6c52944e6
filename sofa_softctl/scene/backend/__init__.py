"""What runs a scene: SOFA or the embedded runtime."""
