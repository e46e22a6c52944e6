"""Devices."""

from splib3.interface.serialport import getDevicePort

__all__ = ["getDevicePort"]
