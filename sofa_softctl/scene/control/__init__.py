"""What controllers see of a scene: rows, contacts, goals, channels, reports."""
