"""Compiled kernels on disk: their cache, digests of their sources, and compilation ahead of use."""
