"""Starts suggested by relaxations."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from sofa_softctl.qpcc.modes import OPEN, SLIDING, STICKING, TOUCHING, Modes
from sofa_softctl.qpcc.pieces.piece import PieceAnswer, Pieces
from sofa_softctl.qpcc.search.neighbours import rounded
from sofa_softctl.qpcc.search.pivoting import PivotStart
from sofa_softctl.qpcc.search.relaxation import Relaxation


def suggested_starts(
    pieces: Pieces, relaxation: Relaxation, best: PieceAnswer | None, pairs: Sequence[Hashable]
) -> Iterator[PivotStart]:
    """Modes nearest to relaxations of all contacts, of one body's, and of those of one pair.

    A relaxation shows which contacts begin to slide together. The other contacts keep their modes
    of the best answer so far, or stick: a box that is pushed along a floor slides on it together
    with the fingers that hold it.
    """
    of_pair = [np.array([pair == other for other in pairs]) for pair in dict.fromkeys(pairs)]
    opened = [np.full(len(pairs), OPEN), np.full(len(pairs), TOUCHING)]
    opened += [np.where(own, TOUCHING, STICKING) for own in _of_bodies(pairs)]
    if len(of_pair) > 1:
        opened += [np.where(own, TOUCHING, STICKING) for own in of_pair]
        if best is not None:
            kinds = np.where(best.modes.kind == SLIDING, TOUCHING, best.modes.kind)
            opened += [np.where(own, OPEN, kinds) for own in of_pair]
    for modes in map(Modes.of, opened):
        try:
            relaxed = relaxation.solve(modes)
        except ArithmeticError:
            continue
        if relaxed is not None:
            for sliding in (True, False):
                at = relaxed.effort, relaxed.force
                yield PivotStart(rounded(pieces, modes, *at, sliding=sliding), relaxed.force)


def _of_bodies(pairs: Sequence[Hashable]) -> list[np.ndarray]:
    """The contacts of each body that touches several others but not all, bool (n_c,) each."""
    found = []
    bodies = dict.fromkeys(body for pair in pairs if isinstance(pair, tuple) for body in pair)
    for body in bodies:
        own = np.array([isinstance(pair, tuple) and body in pair for pair in pairs])
        touched = {pair for pair, mine in zip(pairs, own, strict=True) if mine}
        if len(touched) > 1 and not own.all():
            found.append(own)
    return found
