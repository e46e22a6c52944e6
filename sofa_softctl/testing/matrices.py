"""Dense matrices of masses and force fields, and displaced states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import Contribution
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern

DISPLACEMENT_RATIO = 0.2
"""Largest displacement of a node between compared positions, relative to the scale [-]."""
STATE_DATA = ("position", "velocity", "rest_position")


def columns(product: Callable[[np.ndarray], np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Return the matrix of a linear function of arrays of a shape, column by column."""
    size = shape[0] * shape[1]
    units = np.eye(size).reshape(size, *shape)
    return np.array([product(unit).ravel() for unit in units]).reshape(size, -1).T


def product_matrix(part: Contribution) -> np.ndarray:
    """Return C by `add_product`, shape (n, n) in the degrees of freedom of its state.

    Raises:
        AssertionError: `add_product` does not add, takes no account of its factor, or changes its
            argument or the state.
    """
    state = part.state
    shape = (state.count, state.deriv_size)

    def product(v: np.ndarray, factor: float = 1.0, start: float = 0.0) -> np.ndarray:
        out = np.full(shape, start)
        with check_unchanged(f"{part.getClassName()}.add_product", state, v=v):
            part.add_product(out, v, factor)
        return out

    v = np.random.default_rng(0).normal(size=shape)
    once, again = product(v), product(v, -2.0, start=1.0)
    expected = 1.0 - 2.0 * once
    compare_arrays(again, expected, f"{part.getClassName()}.add_product, out = 1 and factor = -2")
    return columns(product, shape)


def assembled_matrix(part: Contribution) -> np.ndarray:
    """Return C by `pairs` and `add_matrix`, shape (n, n) in the degrees of freedom of its state.

    Raises:
        AssertionError: `add_matrix` does not add, takes no account of its factor, or changes the
            state.
    """
    state, label = part.state, f"{part.getClassName()}.add_matrix"
    rows, cols = part.pairs()
    pattern = BlockPattern.build(state.block_count, rows, cols)
    slots = pattern.slots(rows, cols)

    def values(factor: float, start: float = 0.0) -> np.ndarray:
        out = np.full((len(pattern.indices), 3, 3), start)
        with check_unchanged(label, state, slots=slots):
            part.add_matrix(out, slots, factor)
        return out

    once = values(1.0)
    compare_arrays(
        values(-2.0, start=1.0), 1.0 - 2.0 * once, f"{label}, values = 1 and factor = -2"
    )
    size = state.count * state.deriv_size
    dense: np.ndarray = pattern.to_csr(once).toarray()
    return dense[:size, :size]  # joints: three share a row, some are none


def compare_arrays(
    actual: np.ndarray, expected: np.ndarray, label: str, tolerance: float = 1e-10
) -> None:
    """Compare arrays.

    Raises:
        AssertionError: They differ by more than the tolerance times the largest entry.
    """
    if actual.shape != expected.shape:
        raise AssertionError(f"{label}: expected the shape {expected.shape}, got {actual.shape}.")
    largest = float(np.abs(expected).max(initial=0.0))
    deviation = np.abs(actual - expected)
    if not deviation.max(initial=0.0) <= tolerance * max(largest, 1e-300):
        position = np.unravel_index(np.argmax(np.nan_to_num(deviation, nan=np.inf)), actual.shape)
        coordinates = ", ".join(str(index) for index in position)
        raise AssertionError(
            f"{label}: expected {expected[position]:.9g} at [{coordinates}], got "
            f"{actual[position]:.9g} (largest entry {largest:.3g})."
        )


@contextmanager
def movable(state: MechanicalState) -> Iterator[Callable[[np.ndarray], None]]:
    """Yield a function that displaces a state by u, shape (n, deriv_size); undo it at the end.

    Mapped states do not follow.
    """
    data = state.position
    start = data.get().copy()

    def move(u: np.ndarray) -> None:
        state.kind.advance(start, u, 1.0, data.get())
        data.touch()

    try:
        yield move
    finally:
        np.copyto(data.get(), start)
        data.touch()


@contextmanager
def check_unchanged(label: str, *states: MechanicalState, **arrays: np.ndarray) -> Iterator[None]:
    """Check that a method leaves states and arguments as they are.

    Args:
        label: Name of the method, for the message.
        states: States whose positions, velocities and rest positions must not change.
        arrays: Arguments of the method, by name.

    Raises:
        AssertionError: The method changed one of them.
    """
    for state in states:
        for name in STATE_DATA:
            arrays[f"{name} of {state.getPathName()}"] = state._data[name].get()
    before = {name: array.copy() for name, array in arrays.items()}
    yield
    for name, array in arrays.items():
        if not np.array_equal(array, before[name], equal_nan=True):
            compare_arrays(array, before[name], f"{label} must not change {name}", 0.0)


def displacement(shape: tuple[int, int], scale: float, seed: int) -> np.ndarray:
    """Return random displacements of nodes, by up to a fifth of the scale [length]."""
    random = np.random.default_rng(seed)
    return random.uniform(-DISPLACEMENT_RATIO * scale, DISPLACEMENT_RATIO * scale, shape)
