"""`python -m softctl_swimmer`."""

from softctl_swimmer.cli import app

app()
