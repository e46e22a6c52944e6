"""Protocols: the serial protocol of docs/reference/bridge-protocol.md, and JSON messages."""
