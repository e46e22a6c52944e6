"""Animation loops, integrators and linear solvers."""
