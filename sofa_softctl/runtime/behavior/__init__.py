"""What a time step asks of a component."""
