"""Which runs a study has: combinations of the values of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from sofa_softctl.batch.parameters.axes import Axis

METHODS = ("grid", "list", "random", "latin", "sobol")
"""All combinations; the first values of all, then the second ...; and samples: independent, a Latin
hypercube, a scrambled Sobol' sequence."""


def design(
    axes: Mapping[str, Axis], method: str, *, count: int | None = None, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Parameters of each run. Of samples, the first n do not depend on `count`, but for "latin".

    Args:
        axes: The parameters.
        method: One of `METHODS`.
        count: Number of samples; of grids and lists there are as many as they have.
        seed: Of the samples.

    Raises:
        ValueError: An axis has no values for a grid, or the lists have different lengths.
    """
    if method in ("grid", "list"):
        grids = {name: axis.grid() for name, axis in axes.items()}
        rows = product(*grids.values()) if method == "grid" else zip(*grids.values(), strict=True)
        for row in rows:
            yield dict(zip(grids, row, strict=True))
        return
    assert count is not None
    ends = np.cumsum([axis.size for axis in axes.values()])
    for u in _samples(method, int(ends[-1]) if len(ends) else 0, count, seed):
        parts = np.split(u, ends[:-1])
        yield {name: axis.at(p) for (name, axis), p in zip(axes.items(), parts, strict=True)}


def _samples(method: str, size: int, count: int, seed: int) -> np.ndarray:
    """Samples in the unit cube, shape (count, size)."""
    if not size:
        return np.empty((count, 0))
    from scipy.stats import qmc  # takes most of a second, which workers need not spend

    rng = np.random.default_rng(seed)
    draw: dict[str, Callable[[], np.ndarray]] = {
        "random": lambda: rng.random((count, size)),
        "latin": lambda: qmc.LatinHypercube(size, rng=rng).random(count),
        # a power of two, as its balance wants; the first `count` of it
        "sobol": lambda: qmc.Sobol(size, rng=rng).random_base2(max(count - 1, 1).bit_length()),
    }
    found: np.ndarray = draw[method]()[:count]
    return found
