"""Compiled kernels: arrays in, arrays out. They know nothing of scenes."""
