"""The command line: one command, one function."""
