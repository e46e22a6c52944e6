"""Excess stiffness of a scene's bodies by their meshes."""
