"""Parameter estimation from experiments."""
