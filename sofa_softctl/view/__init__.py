"""Pictures and movies of runs."""
