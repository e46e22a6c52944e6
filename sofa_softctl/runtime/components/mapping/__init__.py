"""Mappings."""
