"""The hardware bridge of a scene that `softctl run` opens: added, or made a dry run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sofa_softctl.cli.bridge.dialogue import HELP, stop_key
from sofa_softctl.errors import UsageError

if TYPE_CHECKING:
    from sofa_softctl.scene.session.session import Session
    from sofa_softctl.view.terminal.run import Terminal


def adding_bridge(config: Path | None, dry_run: bool) -> Callable[[Any], None] | None:
    """Return what `Session` calls with the root of the scene, or None.

    Args:
        config: The robot's file for an added bridge, or None if the scene has a bridge.
        dry_run: Whether loopback devices stand in for the robot's, also in a bridge of the scene.
    """
    if config is None and not dry_run:
        return None

    def add(root: Any) -> None:
        from sofa_softctl.bridge.controller import HardwareBridge
        from sofa_softctl.scene.graph.nodes import nodes_of

        entries = [component for node in nodes_of(root) for component in node.objects]
        bridges = [component for component in entries if isinstance(component, HardwareBridge)]
        if config is not None:
            if bridges:
                raise UsageError(
                    f"--bridge {config}: the scene has a bridge of its own, "
                    f"'{bridges[0].getPathName()}'. Leave --bridge out."
                )
            root.addObject(HardwareBridge(name="bridge", root=root, config=config, dry_run=dry_run))
        elif not bridges:
            raise UsageError("--dry-run: the scene has no hardware bridge. Give --bridge CONFIG.")
        for bridge in bridges:
            bridge.keep(dry_run=dry_run or bridge.dry_run)

    return add


@contextmanager
def stopped_by_key(session: Session, show: Terminal) -> Iterator[None]:
    """Stop the motors of all bridges of a scene if space is pressed in the block; say so.

    See `stop_key`; nothing is shown and done in scenes without a bridge.
    """
    from sofa_softctl.bridge.controller import HardwareBridge

    bridges = [
        controller for controller in session.controllers if isinstance(controller, HardwareBridge)
    ]

    def stop() -> None:
        for bridge in bridges:
            bridge.stop_now()

    if not bridges:
        yield
        return
    with stop_key(stop) as works:
        if works:
            show.note(HELP)
        yield
