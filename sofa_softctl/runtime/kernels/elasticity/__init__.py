"""Forces and stiffness of elements."""
