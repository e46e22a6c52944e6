"""Success rates of inverse control over cases that nobody tuned."""
