"""A chain of rigid links, identified from recordings."""
