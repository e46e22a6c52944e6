"""The commands of `softctl bridge`, imported with the group."""

from sofa_softctl.cli.bridge import calibrate, check, jog, other, play
from sofa_softctl.cli.bridge.group import bridge

__all__ = ["bridge", "calibrate", "check", "jog", "other", "play"]
