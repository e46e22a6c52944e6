"""A scene running on a backend, and what it is made of."""
