"""Components that act between the steps, except Python controllers of a scene."""
