"""The robots of the inverse controller on cases that nobody tuned."""
