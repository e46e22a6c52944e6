"""Design of motions that determine parameters best."""
