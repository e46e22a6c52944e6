"""Libraries of optimal trajectories that depend on parameters, refined when they are asked."""
