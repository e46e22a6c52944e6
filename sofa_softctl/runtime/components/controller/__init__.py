"""Components that act between the steps, and are no Python controllers of a scene."""
