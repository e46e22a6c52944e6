"""Environments by name, registered with Gymnasium."""
