"""The best efforts where every contact does as decided: a piece of the inverse problem."""
