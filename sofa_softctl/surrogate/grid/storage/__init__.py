"""Files that keep samples of exact maps."""
