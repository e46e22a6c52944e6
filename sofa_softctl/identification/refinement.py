"""Finer discretisations of the model of a recorded run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sofa_softctl.identification.experiment import Experiment


@dataclass(frozen=True)
class Refinement:
    """The model of a recorded run with half the time step, or half the size of its elements."""

    name: str
    """Which it is, the same for all experiments of a problem: 'dt', 'mesh', 'links'."""
    of: str
    """What is made finer, for reports: 'time step', 'mesh'."""
    text: str
    """What it is made, for reports: 'with a time step of 5 instead of 10 ms'."""
    make: Callable[[], Experiment]
    """Makes the finer experiment, with the same parameters and data, where it is needed.

    Raises:
        SoftctlError: The model cannot be refined in this way; the message says what to do.
    """
    order: int = 1
    """Order of the error: it falls to 2^-order of itself. The lower one where it is not certain."""
    cost: float = 2.0
    """Estimated time of a simulation, relative to that of the experiment [-]."""

    @property
    def whole(self) -> float:
        """The whole error of the discretisation relative to the change by this refinement [-].

        Source: Richardson 1911; Roache 1994, with the order given.
        """
        return 1.0 / (1.0 - 0.5**self.order)
