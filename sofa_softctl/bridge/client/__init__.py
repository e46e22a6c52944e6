"""The device process as the process of the scene sees it."""
