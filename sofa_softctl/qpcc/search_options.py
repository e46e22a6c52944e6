"""How long, and how, the modes of the contacts are searched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from sofa_softctl.errors import ProblemError


@dataclass(frozen=True)
class SearchOptions:
    """How the best modes of the contacts are looked for."""

    strategy: Literal["auto", "pivoting", "exact"] = "auto"
    """"pivoting": from piece to neighbouring piece, a local optimum, fast. "exact": branch and
    bound beside it, with a proof of how far from the optimum the answer can be. "auto": pivoting,
    and then branch and bound for at most `few` contacts and a number of relaxations that a step has
    time for; or for what is left of a finite `budget`."""
    pieces: int = 24
    """Most pieces that pivoting solves."""
    new_pieces: int = 100
    """The same where the step before knew no contact."""
    flips: int = 4
    """Most contacts of an answer that pivoting tries in another mode though they do not press
    against the border of theirs. More find better answers, slower."""
    warm_flips: int = 1
    """The same from the modes of the step before."""
    few: int = 8
    """Most contacts for which "auto" goes on to branch and bound without a budget."""
    some: int = 16
    """The same where pivoting finds nothing as good as in the step before, and most contacts for
    which relaxations then also suggest where to start, if contacts may slide. Those that stick have
    one QP a piece: there it is always done."""
    few_nodes: int = 12
    """Most relaxations that it then solves."""
    new_nodes: int = 400
    """The same for at most `few` contacts where the step before knew none."""
    confirm_nodes: int = 400
    """Most relaxations that are solved before limits are said to contradict each other."""
    nodes: int = 2000
    """Most relaxations that "exact" solves, or "auto" with a budget."""
    gap: float = 1e-4
    """Gap (objective - bound) / objective at which branch and bound is content with contacts that
    slide [-]. The modes of others are searched to the end."""
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
    """What the next step starts from, by the identity of the contacts."""

    effort: np.ndarray
    """Efforts [effort], shape (n_a,)."""
    contacts: dict
    """Identity -> kind, direction and balance (see `Modes`), force of the rows [effort]."""
    objective: float
    """Objective of the answer [displacement^2]."""
    usual: float = math.inf
    """What objectives were before they rose, if they did [displacement^2]."""
    idle: int = 0
    """Steps in a row that did nothing, though the goal was not near."""
