"""Libraries that scenes import, as modules of our own: stlib3, splib3 and softrobots."""
