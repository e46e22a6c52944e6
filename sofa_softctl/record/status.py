"""Statuses of recordings: how the run ended."""

COMPLETE = "complete"
"""Status of a recording that was closed normally."""
INTERRUPTED = "interrupted"
"""Status of a recording of a run that was stopped by Ctrl-C."""
TRUNCATED = "truncated: the file ends before it was closed"
"""Status that a reader gives to a file of a killed run."""
