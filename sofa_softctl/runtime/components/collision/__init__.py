"""Components for contacts."""
