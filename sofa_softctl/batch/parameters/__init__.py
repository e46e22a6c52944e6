"""Parameters of a study: the values that each may have, and how they are combined."""
