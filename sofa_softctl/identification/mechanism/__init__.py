"""Mechanisms of joints and springs: variational integrators and their discrete adjoints."""
