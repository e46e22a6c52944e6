"""The scene graph: nodes, objects, links, events, the factory."""
