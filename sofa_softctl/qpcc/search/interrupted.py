"""Searches that go on in the next step.

Contacts have other numbers there, and others are new: decisions are kept by the contacts' identity,
and new contacts are open. Bounds are not kept, since the next step is another problem.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from sofa_softctl.qpcc.problem.modes import OPEN, OpenSearch
from sofa_softctl.qpcc.search.branch_and_bound import OpenNodes

NODES_KEPT_MAX = 64
"""Open nodes that the next step goes on from; those of the highest bounds are dropped."""


def interrupt_search(
    nodes: OpenNodes,
    identity: Sequence[Hashable],
    *,
    nodes_left: int,
    gap: float,
    enough: float,
) -> OpenSearch | None:
    """Open nodes for the next step; None if nothing is left."""
    if not len(nodes.kind) or nodes_left <= 0:
        return None
    kind, sector = nodes.kind[:NODES_KEPT_MAX], nodes.sector[:NODES_KEPT_MAX]
    return OpenSearch(identity, kind, sector, nodes_left, gap, enough)


def resume_search(search: OpenSearch, identity: Sequence[Hashable]) -> OpenNodes:
    """Open nodes of the last step, for this step's contacts."""
    count, number = len(search.kind), {key: i for i, key in enumerate(search.identity)}
    kind = np.full((count, len(identity)), OPEN)
    sector = np.zeros((count, len(identity), 2))
    for i, contact in enumerate(identity):
        if contact in number:
            kind[:, i] = search.kind[:, number[contact]]
            sector[:, i] = search.sector[:, number[contact]]
    return OpenNodes(kind, sector, np.full(count, -np.inf))
