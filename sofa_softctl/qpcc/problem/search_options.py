"""Options of the search for contact modes, and its warm start."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from sofa_softctl.errors import ProblemError


@dataclass(frozen=True)
class SearchOptions:
    """Options of the search for contact modes."""

    strategy: Literal["auto", "pivoting", "exact"] = "auto"
    """"pivoting": from piece to neighbouring piece, a local optimum, fast. "exact": also branch and
    bound, with a bound on the distance from the optimum. "auto": pivoting, then branch and bound
    for at most `few` contacts with a limited number of relaxations, or for the rest of a finite
    `budget`."""
    pieces: int = 24
    """Maximum number of pieces that pivoting solves."""
    new_pieces: int = 100
    """The same where the last step had none of the contacts."""
    flips: int = 4
    """Contacts per answer that pivoting tries in another mode though their mode's border is not
    active. More find better answers, slower."""
    warm_flips: int = 1
    """The same from the modes of the last step."""
    few: int = 8
    """Maximum number of contacts for branch and bound in "auto" without a budget."""
    some: int = 16
    """The same where pivoting finds nothing as good as in the last step; also the maximum number of
    contacts for which relaxations then suggest starts, if contacts may slide. Where they stick, a
    piece is one QP, and relaxations always do."""
    few_nodes: int = 12
    """Maximum number of relaxations that it then solves."""
    new_nodes: int = 400
    """The same for at most `few` contacts where the last step had none of them."""
    confirm_nodes: int = 400
    """Maximum number of relaxations before limits are reported as contradictory."""
    nodes: int = 2000
    """Maximum number of relaxations of "exact", or of "auto" with a budget."""
    gap: float = 1e-4
    """Gap (objective - bound) / objective at which branch and bound ends with contacts that slide
    [-]. Modes of others are searched completely."""
    budget: float = math.inf
    """Time after which the search ends with the best answer so far [s]. Finite, it makes answers
    depend on the machine."""

    def __post_init__(self) -> None:
        if self.strategy not in ("auto", "pivoting", "exact"):
            raise ProblemError(
                f"strategy must be 'auto', 'pivoting' or 'exact', got {self.strategy!r}."
            )
        for name in ("pieces", "new_pieces"):
            if getattr(self, name) < 1:
                raise ProblemError(f"{name} must be at least 1, got {getattr(self, name)}.")


class ContactWarm(NamedTuple):
    """Warm start of the next step, by the identity of the contacts."""

    effort: np.ndarray
    """Efforts [effort], shape (n_a,)."""
    contacts: dict
    """Identity -> kind, direction and balance (see `Modes`), force of the rows [effort]."""
    objective: float
    """Objective of the answer [displacement^2]."""
    usual: float = math.inf
    """Objective before it rose, if it did [displacement^2]."""
    idle: int = 0
    """Consecutive steps without motion, though the goal is not near."""
