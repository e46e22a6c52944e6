"""External forces."""
