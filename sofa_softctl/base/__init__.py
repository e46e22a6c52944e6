"""Utilities without a domain: compiled code, threads, processes, files."""
