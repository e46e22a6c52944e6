"""Maps of a robot's equilibria as plans use them: exact, on cells, or sparse polynomials."""
