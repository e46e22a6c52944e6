"""The paper's experiment: an arm that stretches, bends and twists a flexible loop."""
