"""Design of a study: combinations of the values of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from sofa_softctl.batch.study.axes import Axis

METHODS = ("grid", "list", "random", "latin", "sobol")
"""All combinations; the first values of all, then the second ...; and samples: independent, a Latin
hypercube, a scrambled Sobol' sequence."""

BLOCK_SIZE = 1000
"""Number of samples whose values are computed together."""


def design(
    axes: Mapping[str, Axis], method: str, *, count: int | None = None, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield the parameters of each run. The first samples do not depend on `count`, except "latin".

    Args:
        axes: The parameters.
        method: One of `METHODS`.
        count: Number of samples; not used for grids and lists.
        seed: Seed of the samples.

    Raises:
        ValueError: An axis has no values for a grid, or the lists have different lengths.
    """
    if not axes:
        yield {}
        return
    if method in ("grid", "list"):
        grids = {name: axis.grid() for name, axis in axes.items()}
        rows = product(*grids.values()) if method == "grid" else zip(*grids.values(), strict=True)
        for row in rows:
            yield dict(zip(grids, row, strict=True))
        return
    assert count is not None
    ends = np.cumsum([axis.size for axis in axes.values()])
    samples = _samples(method, int(ends[-1]), count, seed)
    for begin in range(0, count, BLOCK_SIZE):
        parts = np.split(samples[begin : begin + BLOCK_SIZE], ends[:-1], axis=1)
        columns = [axis.at(part) for axis, part in zip(axes.values(), parts, strict=True)]
        for values in zip(*columns, strict=True):
            yield dict(zip(axes, values, strict=True))


def _samples(method: str, size: int, count: int, seed: int) -> np.ndarray:
    """Return samples in the unit cube, shape (count, size)."""
    from scipy.stats import qmc  # takes most of a second, which workers need not spend

    rng = np.random.default_rng(seed)
    draw: dict[str, Callable[[], np.ndarray]] = {
        "random": lambda: rng.random((count, size)),
        "latin": lambda: qmc.LatinHypercube(size, rng=rng).random(count),
        # a power of two, as its balance wants; the first `count` of it
        "sobol": lambda: qmc.Sobol(size, rng=rng).random_base2(max(count - 1, 1).bit_length()),
    }
    samples: np.ndarray = draw[method]()[:count]
    return samples
