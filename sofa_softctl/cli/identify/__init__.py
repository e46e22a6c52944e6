"""The command `softctl identify`."""
