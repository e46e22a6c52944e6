"""Gravity that a file gives to a node below the root."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.source_line import describe, scene_line


def inherit(node: Node) -> None:
    """Let a node take dt, gravity and time from its parent; warn of a gravity of its own."""
    given = node.gravity.value.copy()
    is_given = node.gravity.isSet() and bool(node.parents)
    node.inherit()
    present = node.gravity.value
    if is_given and not np.array_equal(given, present):
        texts = [" ".join(f"{number:g}" for number in values) for values in (given, present)]
        message.warning(
            node,
            f"{describe(scene_line())}: node '{node.getPathName()}' has gravity='{texts[0]}', and "
            f"all nodes have that of the root, '{texts[1]}', as in SOFA: give it there, or add a "
            "Gravity to the node.",
        )
