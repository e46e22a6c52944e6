"""The command `softctl bridge list`."""

from __future__ import annotations

from dataclasses import asdict

from sofa_softctl.cli.bridge.group import bridge
from sofa_softctl.cli.options import Json, Plugin, print_json
from sofa_softctl.cli.scenes import load_plugins


@bridge.command(
    name="list", epilog="Examples:\n\n  softctl bridge list\n\n  softctl bridge list --json"
)
def list_devices(plugin: Plugin = None, as_json: Json = False) -> None:
    """List the devices that a configuration file may name, their options, and what they need."""
    from sofa_softctl.bridge.config.about import describe_devices
    from sofa_softctl.view.terminal import bridge as tables

    load_plugins(plugin, "auto")
    found = describe_devices()
    if as_json:
        print_json([asdict(device) for device in found])
    else:
        tables.show_devices(found)
