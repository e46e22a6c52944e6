"""Warnings and errors on starts from which no search was possible."""

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
    if any(attempt.result is not None for attempt in attempts):
        return
    lost = [attempt for attempt in attempts if attempt.worker_error]
    if lost:
        raise WorkerError(
            f"{len(lost)} of {len(attempts)} searches lost their worker processes, twice each, and "
            f"none ended; the first: {sentence(lost[0].worker_error)} Use fewer workers, or none."
        )
    raise unsimulated_error(attempts[0].task.start, attempts[0].simulation_error, names)


def unsimulated_error(start: np.ndarray, reason: str, names: Sequence[str]) -> IdentificationError:
    """Return the error for a model that cannot be simulated at any start, such as `start`."""
    return IdentificationError(
        f"The model cannot be simulated at the start ({_values_text(start, names)}): "
        f"{sentence(reason)} "
        "Give another start, or more of them."
    )


def warnings_on(attempts: Sequence[Attempt], names: Sequence[str]) -> tuple[str, ...]:
    """Return warnings on starts that were moved or skipped, with the first of each kind."""
    count, texts = len(attempts), []
    failed = [attempt for attempt in attempts if attempt.simulation_error]
    if failed:
        skipped_count = sum(attempt.result is None for attempt in failed)
        moved_count = len(failed) - skipped_count
        texts.append(
            f"at {len(failed)} of {count} starts the model cannot be simulated; the first is "
            f"{_values_text(failed[0].task.start, names)} "
            f"({failed[0].simulation_error.rstrip('.')})"
            + (f". Moved towards one that can be: {moved_count}" if moved_count else "")
            + (f". Skipped: {skipped_count}" if skipped_count else "")
        )
    lost = [attempt for attempt in attempts if attempt.worker_error]
    if lost:
        texts.append(
            f"{len(lost)} of {count} searches are missing, as their worker processes died, twice "
            f"each; the first is from {_values_text(lost[0].task.start, names)} "
            f"({lost[0].worker_error})"
        )
    return tuple(texts)


def _values_text(rho: np.ndarray, names: Sequence[str]) -> str:
    return ", ".join(f"{name} = {x:.4g}" for name, x in zip(names, rho, strict=True))
