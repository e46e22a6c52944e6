"""The elastic arm of elastic_arm_pick_place.py: problems of its motions, and the robot."""
