"""How much stiffer a scene's meshes make its bodies than their material is."""
