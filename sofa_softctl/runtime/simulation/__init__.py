"""The time step: systems, matrices, constraints; and the files of scenes."""
