"""Searches that go on in the next step.

Contacts have other numbers there, and others are new: decisions are kept by the contacts' identity,
and new contacts are open. Bounds are not kept, since the next step is another problem.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from sofa_softctl.qpcc.problem.modes import OPEN, Modes, OpenSearch

NODES_KEPT_MAX = 64
"""Open nodes that the next step goes on from; those of the highest bounds are dropped."""


def interrupt_search(
    nodes: Iterable[Modes],
    identity: Sequence[Hashable],
    *,
    nodes_left: int,
    gap: float,
    enough: float,
) -> OpenSearch | None:
    """Open nodes for the next step, the next one first; None if nothing is left."""
    kept = [
        {identity[i]: (int(modes.kind[i]), modes.sector[i]) for i in _decided_contacts(modes)}
        for modes in list(nodes)[:NODES_KEPT_MAX]
    ]
    return OpenSearch(kept, nodes_left, gap, enough) if kept and nodes_left > 0 else None


def resume_search(search: OpenSearch, identity: Sequence[Hashable]) -> list[Modes]:
    """Open nodes of the last step, for this step's contacts."""
    nodes = []
    for decisions in search.nodes:
        modes = Modes.of(np.full(len(identity), OPEN))
        for i, contact in enumerate(identity):
            if contact in decisions:
                modes.kind[i], modes.sector[i] = decisions[contact]
        nodes.append(modes)
    return nodes


def _decided_contacts(modes: Modes) -> np.ndarray:
    """Numbers of the contacts that are decided."""
    return np.flatnonzero(modes.kind != OPEN)
