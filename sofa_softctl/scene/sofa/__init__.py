"""A real SOFA: find, start and step it."""
