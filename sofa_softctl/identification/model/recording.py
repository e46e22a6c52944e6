"""Recording of a robot: inputs and outputs at regular times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Recording:
    """One measured run, in the units of a problem's channels."""

    name: str
    """Name of the file."""
    time: np.ndarray
    """Times of the samples [s], shape (n,), increasing."""
    inputs: np.ndarray
    """Recorded inputs without missing samples, shape (n, n_inputs)."""
    outputs: np.ndarray
    """Measured outputs, NaN where missing, shape (n, n_outputs)."""
    notes: tuple[str, ...] = ()
    """Notes for the user: gaps, resampling, unused columns, doubts."""
    doubts: tuple[str, ...] = ()
    """Notes on sensors that seem to have failed, which makes any fit wrong."""
