"""HTML pages of runs, studies and identifications."""
