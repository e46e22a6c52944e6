"""Mechanisms simulated by MuJoCo: recordings of another simulator, for identification."""
