"""The nonlinear program of a trajectory, and its solution."""
