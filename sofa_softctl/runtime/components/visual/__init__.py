"""Components for GUIs."""
