"""Linear elasticity in bodies that turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.scene.plausibility.bodies import Body, is_linear

TURN_MAX = 10.0
"""Turn of elements [degree] above which linear elasticity is wrong: it sees a strain of
1 - cos(turn), 1.5 per cent at this one."""
TURNED_FRACTION = 0.1
"""Fraction of the elements that turn by so much or more [-]."""
ELEMENTS_MAX = 1000
"""Largest number of examined elements, which bounds the computing time."""


@dataclass
class WatchedTurn:
    """A body with a linear force field, and the turns of its elements."""

    body: Body
    field: Any
    turn: float = 0.0
    """Largest turn that a tenth of the elements exceeded [degree]."""
    time: float = 0.0
    """Time of the largest turn [time]."""

    def check(self, time: float) -> None:
        """Look at the elements."""
        elements = self.body.elements[:: 1 + len(self.body.elements) // ELEMENTS_MAX]
        x = np.asarray(self.body.state.position.value, dtype=float)[:, :3]
        turn = float(np.quantile(turns(self.body.rest, x, elements), 1.0 - TURNED_FRACTION))
        if turn > self.turn:
            self.turn, self.time = turn, time

    def texts(self) -> Iterator[str]:
        """Return a sentence if they turned by more than linear elasticity bears."""
        if self.turn > TURN_MAX:
            yield (
                f"{self.field.getClassName()} '{self.field.getPathName()}' has "
                f"method='{self.field.method.value}', which is for small turns, and a tenth of the "
                f"elements had turned by {self.turn:.0f} degrees and more at t = {self.time:.4g}: "
                "they swell and resist as if they were stretched. Use method='large'."
            )


def turns(rest: np.ndarray, x: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Return the angles by which elements turned since rest [degree], shape (m,).

    Args:
        rest: Rest positions [length], shape (n, 3).
        x: Present positions [length], shape (n, 3).
        elements: Vertex numbers of tetrahedra or hexahedra, shape (m, 4) or (m, 8).
    """
    corners = elements[:, [0, 1, 2, 3] if elements.shape[1] == 4 else [0, 1, 3, 4]]
    edges, edges_rest = (
        np.moveaxis(y[corners[:, 1:]] - y[corners[:, :1]], 1, 2) for y in (x, rest)
    )
    U, _, Vt = np.linalg.svd(edges @ np.linalg.pinv(edges_rest))  # of F = R S
    cosine = 0.5 * (np.einsum("mij,mji->m", U, Vt) - 1.0)
    return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def watched_turns(bodies: Sequence[Body]) -> list[WatchedTurn]:
    """Return the watches on bodies with elements whose force field is linear."""
    return [
        WatchedTurn(body, field)
        for body in bodies
        for field in body.node.objects
        if len(body.elements) and is_linear(field)
    ]
