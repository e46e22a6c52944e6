"""The constraint system of a step: rows, contacts, friction, the same on both backends."""
