"""Executors: worker processes of this computer, in the interface of `concurrent.futures`."""
