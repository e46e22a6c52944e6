"""Contact modes of a step, and the options of the search for them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

import numpy as np

from sofa_softctl.errors import ProblemError

INACTIVE, STICKING, SLIDING = 0, 1, 2
OPEN, TOUCHING, SECTOR = 3, 4, 5
"""Relaxed: anything; touching, whatever it does along the surface; sliding within a sector."""


class Mode(Enum):
    """Mode of a contact. The value is its explanation; compare by member."""

    INACTIVE = "The bodies are apart, or touch without force."
    STICKING = "The bodies touch and do not move along each other."
    SLIDING = "The bodies touch and move along each other, against friction."


_MODES = (Mode.INACTIVE, Mode.STICKING, Mode.SLIDING)


class Modes(NamedTuple):
    """Modes of all contacts, directions of the sliding ones, and ranges of undecided ones.

    A sliding contact obeys lam_t + mu lam_n u = 0 and delta_t = s u with s >= 0, where the unit
    vector u turns with the answer. It is linearised about the direction u_0:

        u_0 . lam_t + mu lam_n = 0        a w . lam_t + b w . delta_t = 0        (w normal to u_0)

    with a : b = s : mu lam_n of the point about which it is linearised.
    """

    kind: np.ndarray
    """INACTIVE, STICKING (also: touching without friction) or SLIDING; or undecided: OPEN,
    TOUCHING, or SECTOR, sliding between two angles, shape (n_c,) of int."""
    direction: np.ndarray
    """u_0 of the sliding contacts [-], shape (n_c, 2)."""
    balance: np.ndarray
    """a and b of the sliding contacts, a + b = 1 [-], shape (n_c, 2)."""
    sector: np.ndarray
    """First and last angle of contacts that slide in a sector [rad], shape (n_c, 2)."""

    @classmethod
    def of(cls, kind: np.ndarray) -> Modes:
        """Modes without sliding contacts."""
        n_c = len(kind)
        direction, balance = np.zeros((n_c, 2)), np.full((n_c, 2), 0.5)
        direction[:, 0] = 1.0
        return cls(np.array(kind, dtype=np.int64), direction, balance, np.zeros((n_c, 2)))

    def with_kind(self, contact: int, kind: int) -> Modes:
        """These modes with one contact changed."""
        kinds = self.kind.copy()
        kinds[contact] = kind
        return self._replace(kind=kinds)

    def labels(self, friction: np.ndarray) -> tuple[Mode, ...]:
        """The modes for users. A contact that touches without friction slides."""
        kind = np.where((self.kind == STICKING) & (friction == 0.0), SLIDING, self.kind)
        return tuple(_MODES[k] for k in kind)


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
    few_nodes: int = 6
    """Maximum number of relaxations that it then solves."""
    new_nodes: int = 400
    """The same for at most `few` contacts where the last step had none of them."""
    step_nodes: int = 24
    """Maximum number of relaxations in one step, for up to 8 contacts; the work of as many for
    more. A longer search goes on in the next steps, from where it was. Not in a first step, where
    there is no answer, before limits are first exceeded, with "exact", and with a budget."""
    long_nodes: int = 144
    """The same in one step of fifty: what holds an object is worth a longer search at once."""
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


class OpenSearch(NamedTuple):
    """Branch and bound that a step leaves to the next one."""

    identity: Sequence[Hashable]
    """Identity of the contacts."""
    kind: np.ndarray
    """Decisions of the open nodes, the next one first, see `Modes`, shape (k, n_c)."""
    sector: np.ndarray
    """Sectors of the decisions [rad], shape (k, n_c, 2)."""
    nodes_left: int
    """Relaxations that remain."""
    gap: float
    """Gap at which it ends [-]."""
    enough: float
    """Objective at which it ends [displacement^2]."""


class ContactWarm(NamedTuple):
    """Warm start of the next step, by the identity of the contacts."""

    effort: np.ndarray
    """Efforts [effort], shape (n_a,)."""
    contacts: dict[Hashable, int]
    """Number of each contact by its identity."""
    modes: Modes
    """Modes of the contacts."""
    force: np.ndarray
    """Forces of their rows [effort], shape (n_r,)."""
    widths: np.ndarray
    """Number of rows of each contact, shape (n_c,)."""
    objective: float
    """Objective of the answer [displacement^2]."""
    usual: float = math.inf
    """Objective before it rose, if it did [displacement^2]."""
    idle: int = 0
    """Consecutive steps without motion, though the goal is not near."""
    pause: int = 0
    """Steps until a search may take `long_nodes` again."""
    is_excess: bool = False
    """True for a search whose answers exceed limits, as none keeps them."""
    open_search: OpenSearch | None = None
    """Search within the limits that is not complete."""
    open_excess: OpenSearch | None = None
    """Search for the least excess of the limits that is not complete."""
