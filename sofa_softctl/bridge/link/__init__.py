"""The link between the process of the scene and the process of the devices."""
