"""Pivoting from several starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter

from sofa_softctl.qpcc.pieces.piece import PieceAnswer, Pieces
from sofa_softctl.qpcc.search.pivoting import PivotStart, pivot


@dataclass(eq=False)
class Multistart:
    """Best answer of pivoting from several starts."""

    pieces: Pieces
    enough: float
    """Objective at which an answer is good enough."""
    deadline: float
    """Reading of `perf_counter` at which to end [s]."""
    last: int
    """Number of solved pieces at which to end."""
    best: PieceAnswer | None = None
    complete: bool = True
    """Whether all starts and their candidates were tried."""
    tried: set[bytes] = field(default_factory=set)
    """Keys of modes that were tried."""

    def go(self, starts: Iterable[PivotStart], flips: int) -> None:
        """Pivot from further starts."""
        for start in starts:
            if self.best is not None and self.best.objective <= self.enough:
                return
            room = self.last - self.pieces.pieces
            if room <= 0 or (self.best is not None and perf_counter() > self.deadline):
                self.complete = False
                return
            found, ended = pivot(
                self.pieces,
                [start],
                most=room,
                flips=flips,
                tried=self.tried,
                deadline=self.deadline,
            )
            self.complete = self.complete and ended
            if found is not None and self.pieces.better(found, self.best):
                self.best = found

    def poor(self, expected: float) -> bool:
        """Whether there is no answer, or its objective is above the expected one."""
        return self.best is None or self.best.objective > expected
