"""Benchmarks and studies."""
