"""Recordings for ParaView."""
