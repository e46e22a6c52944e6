"""How bodies and fluid move: kinematics, inertia, time steps."""
