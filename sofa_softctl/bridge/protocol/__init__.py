"""What is on the wire: the serial protocol of docs/reference/bridge-protocol.md, and messages."""
