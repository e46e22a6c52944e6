"""The nonlinear program of a plan and its optimiser."""
