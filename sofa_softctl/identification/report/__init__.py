"""What an estimation found, most severe first."""
