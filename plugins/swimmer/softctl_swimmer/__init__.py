"""An underwater swimmer: ellipsoids joined by hinges in potential flow. See README.md."""
