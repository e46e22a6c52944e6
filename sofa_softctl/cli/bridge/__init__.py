"""The commands of `softctl bridge`: one command, one file."""

from sofa_softctl.cli.bridge import check, devices, stop

__all__ = ["check", "devices", "stop"]
