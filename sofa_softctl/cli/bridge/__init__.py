"""The commands of `softctl bridge`: one command, one file, imported with the group."""

from sofa_softctl.cli.bridge import calibrate, check, devices, jog, play, stop
from sofa_softctl.cli.bridge.group import bridge

__all__ = ["bridge", "calibrate", "check", "devices", "jog", "play", "stop"]
