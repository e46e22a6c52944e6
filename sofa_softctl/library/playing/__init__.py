"""Controllers that play the trajectories of a library."""
