"""Model parameters from measured motion, and how far they can be trusted."""
