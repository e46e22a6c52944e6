"""Devices: one kind, one file; see `sofa_softctl.bridge.device` for their contract."""
