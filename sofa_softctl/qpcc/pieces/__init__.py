"""Pieces of the inverse problem: the best efforts for given contact modes."""
