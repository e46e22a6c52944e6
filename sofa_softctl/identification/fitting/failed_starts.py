"""Warnings and errors on starts from which there is no search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.base.suggestions import sentence
from sofa_softctl.errors import IdentificationError, WorkerError
from sofa_softctl.identification.fitting.searches import Attempt


def check_found(attempts: Sequence[Attempt], names: Sequence[str]) -> None:
    """Raise if no search has a result.

    Raises:
        IdentificationError: The model cannot be simulated at any start.
        WorkerError: Searches lost their worker processes.
    """
    if any(one.found is not None for one in attempts):
        return
    lost = [one for one in attempts if one.lost]
    if lost:
        raise WorkerError(
            f"{len(lost)} of {len(attempts)} searches lost their worker processes, twice each, and "
            f"none ended; the first: {sentence(lost[0].lost)} Use fewer workers, or none."
        )
    raise unsimulated(attempts[0].task.start, attempts[0].unsimulated, names)


def unsimulated(start: np.ndarray, why: str, names: Sequence[str]) -> IdentificationError:
    """The error where the model cannot be simulated at any start; the first is given."""
    return IdentificationError(
        f"The model cannot be simulated at the start ({_listed(start, names)}): {sentence(why)} "
        "Give another start, or more of them."
    )


def warnings_on(attempts: Sequence[Attempt], names: Sequence[str]) -> tuple[str, ...]:
    """Warnings on starts that were moved or skipped, with the first of each kind."""
    count, found = len(attempts), []
    failed = [one for one in attempts if one.unsimulated]
    if failed:
        skipped = sum(one.found is None for one in failed)
        moved = len(failed) - skipped
        found.append(
            f"at {len(failed)} of {count} starts the model cannot be simulated; the first is "
            f"{_listed(failed[0].task.start, names)} ({failed[0].unsimulated.rstrip('.')})"
            + (f". Moved towards one that can be: {moved}" if moved else "")
            + (f". Skipped: {skipped}" if skipped else "")
        )
    lost = [one for one in attempts if one.lost]
    if lost:
        found.append(
            f"{len(lost)} of {count} searches are missing, as their worker processes died, twice "
            f"each; the first is from {_listed(lost[0].task.start, names)} ({lost[0].lost})"
        )
    return tuple(found)


def _listed(rho: np.ndarray, names: Sequence[str]) -> str:
    return ", ".join(f"{name} = {x:.4g}" for name, x in zip(names, rho, strict=True))
