"""Plans on a sparse grid: their rounds, and what they will cost."""
