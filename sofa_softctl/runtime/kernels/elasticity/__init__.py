"""Element forces and stiffness."""
