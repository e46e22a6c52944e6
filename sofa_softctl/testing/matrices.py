"""Dense matrices of masses and force fields, and displaced states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import Contribution
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern

DISPLACED = 0.2
"""Largest displacement of a node between the positions that are compared, relative to the scale."""
STATE_DATA = ("position", "velocity", "rest_position")


def columns(product: Callable[[np.ndarray], np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """The matrix of a linear function of arrays of a shape, one unit vector after the other."""
    size = shape[0] * shape[1]
    units = np.eye(size).reshape(size, *shape)
    return np.array([product(unit).ravel() for unit in units]).reshape(size, -1).T


def product_matrix(part: Contribution) -> np.ndarray:
    """C by `add_product`, shape (n, n) in the degrees of freedom of its state.

    Raises:
        AssertionError: `add_product` does not add, takes no account of its factor, or changes its
            argument or the state.
    """
    state = part.state
    shape = (state.count, state.deriv_size)

    def product(v: np.ndarray, factor: float = 1.0, start: float = 0.0) -> np.ndarray:
        out = np.full(shape, start)
        with unchanged(f"{part.getClassName()}.add_product", state, v=v):
            part.add_product(out, v, factor)
        return out

    v = np.random.default_rng(0).normal(size=shape)
    once, again = product(v), product(v, -2.0, start=1.0)
    wanted = 1.0 - 2.0 * once
    same(again, wanted, f"{part.getClassName()}.add_product, out = 1 and factor = -2")
    return columns(product, shape)


def assembled_matrix(part: Contribution) -> np.ndarray:
    """C by `pairs` and `add_matrix`, shape (n, n) in the degrees of freedom of its state.

    Raises:
        AssertionError: `add_matrix` does not add, takes no account of its factor, or changes the
            state.
    """
    state, what = part.state, f"{part.getClassName()}.add_matrix"
    rows, cols = part.pairs()
    pattern = BlockPattern.build(state.block_count, rows, cols)
    slots = pattern.slots(rows, cols)

    def values(factor: float, start: float = 0.0) -> np.ndarray:
        out = np.full((len(pattern.indices), 3, 3), start)
        with unchanged(what, state, slots=slots):
            part.add_matrix(out, slots, factor)
        return out

    once = values(1.0)
    same(values(-2.0, start=1.0), 1.0 - 2.0 * once, f"{what}, values = 1 and factor = -2")
    size = state.count * state.deriv_size
    dense: np.ndarray = pattern.to_csr(once).toarray()
    return dense[:size, :size]  # joints: three share a row, some are none


def same(found: np.ndarray, expected: np.ndarray, what: str, tolerance: float = 1e-10) -> None:
    """Compare arrays.

    Raises:
        AssertionError: They differ by more than a share of the largest entry.
    """
    if found.shape != expected.shape:
        raise AssertionError(f"{what}: expected the shape {expected.shape}, got {found.shape}.")
    largest = float(np.abs(expected).max(initial=0.0))
    deviation = np.abs(found - expected)
    if not deviation.max(initial=0.0) <= tolerance * max(largest, 1e-300):
        place = np.unravel_index(np.argmax(np.nan_to_num(deviation, nan=np.inf)), found.shape)
        where = ", ".join(str(index) for index in place)
        raise AssertionError(
            f"{what}: expected {expected[place]:.9g} at [{where}], got {found[place]:.9g} (largest "
            f"entry {largest:.3g})."
        )


@contextmanager
def moving(state: MechanicalState) -> Iterator[Callable[[np.ndarray], None]]:
    """A function that moves a state from where it is by u (n, deriv_size); in the end it is back.

    Mapped states stay where they are.
    """
    data = state._data["position"]
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
def unchanged(what: str, *states: MechanicalState, **arrays: np.ndarray) -> Iterator[None]:
    """Check that a method leaves states and arguments as they are.

    Args:
        what: The method, for the message.
        states: Whose positions, velocities and rest positions it must not change.
        arrays: Its arguments, by name.

    Raises:
        AssertionError: It changed one of them.
    """
    for state in states:
        for name in STATE_DATA:
            arrays[f"{name} of {state.getPathName()}"] = state._data[name].get()
    before = {name: array.copy() for name, array in arrays.items()}
    yield
    for name, array in arrays.items():
        if not np.array_equal(array, before[name], equal_nan=True):
            same(array, before[name], f"{what} must not change {name}", 0.0)


def displacement(shape: tuple[int, int], scale: float, seed: int) -> np.ndarray:
    """Random displacement of nodes, by up to a fifth of the scale [length]."""
    random = np.random.default_rng(seed)
    return random.uniform(-DISPLACED * scale, DISPLACED * scale, shape)
