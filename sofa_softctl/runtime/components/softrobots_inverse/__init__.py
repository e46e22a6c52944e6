"""Components of SoftRobots.Inverse: actuators, effectors, equalities, the QP solver."""
