"""The equilibrium as a function of the actuators, and its derivatives."""
