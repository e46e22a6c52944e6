"""Planning of gaits on maps of the mass matrix."""
