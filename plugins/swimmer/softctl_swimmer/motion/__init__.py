"""Motion of bodies and fluid: kinematics, inertia, time steps."""
