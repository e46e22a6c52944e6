"""The hardware bridge of a scene that `softctl run` opens: added, or made a dry run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sofa_softctl.errors import UsageError


def adding_bridge(config: Path | None, dry_run: bool) -> Callable[[Any], None] | None:
    """What `Session` calls with the root of the scene; None: there is nothing to do.

    Args:
        config: The robot's file, for a bridge that is added; None: the scene has its own.
        dry_run: Whether loopback devices stand in for the robot's, also in a bridge of the scene.
    """
    if config is None and not dry_run:
        return None

    def add(root: Any) -> None:
        from sofa_softctl.bridge.controller import HardwareBridge
        from sofa_softctl.scene.channels import nodes_of

        entries = [entry for node in nodes_of(root) for entry in node.objects]
        own = [entry for entry in entries if isinstance(entry, HardwareBridge)]
        if config is not None:
            if own:
                raise UsageError(
                    f"--bridge {config}: the scene has a bridge of its own, "
                    f"'{own[0].getPathName()}'. Leave --bridge out."
                )
            root.addObject(HardwareBridge(name="bridge", root=root, config=config, dry_run=dry_run))
        elif not own:
            raise UsageError("--dry-run: the scene has no hardware bridge. Give --bridge CONFIG.")
        for bridge in own:
            bridge.keep(dry_run=dry_run or bridge.dry_run)

    return add
