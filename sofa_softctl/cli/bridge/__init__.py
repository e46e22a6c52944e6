"""The commands of `softctl bridge`: one command, one file."""

from sofa_softctl.cli.bridge import calibrate, check, devices, jog, play, stop

__all__ = ["calibrate", "check", "devices", "jog", "play", "stop"]
