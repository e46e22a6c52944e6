"""Check of mappings: Jacobian and transpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.testing.jacobian import check_jacobian
from sofa_softctl.testing.matrices import (
    check_unchanged,
    columns,
    compare_arrays,
    displacement,
    movable,
)

Moves = Callable[[list[np.ndarray]], np.ndarray]


def check_mapping(mapping: Mapping, *, scale: float = 1.0, tolerance: float = 1e-6) -> None:
    """Compare the Jacobian of a mapping with its positions and with its transpose.

    This is done at the present state, and again with nodes displaced by up to a fifth of `scale`.

    Args:
        mapping: Mapping in an initialised scene.
        scale: Distance over which the positions bend [length].
        tolerance: Largest deviation of J, relative to the largest entry of its column [-].

    Raises:
        AssertionError: `apply_j` is not the derivative of `apply`, `add_jt` not its transpose or
            does not add; `jacobian`, or `weights` of a weighted mapping, is another matrix or
            missing; or one of them changes its argument or the states.
    """
    shapes = _shapes(mapping)
    with _positions(mapping) as positions:
        for us in (
            [np.zeros(shape) for shape in shapes],
            [displacement(shape, scale, seed) for seed, shape in enumerate(shapes)],
        ):
            positions(us)
            with _positions(mapping) as from_here:
                for driver in range(len(shapes)):
                    _check_driver(mapping, driver, from_here, scale, tolerance)


def _check_driver(
    mapping: Mapping, driver: int, positions: Moves, scale: float, tolerance: float
) -> None:
    """Check J of one driver at the present state."""
    name, child, shapes = mapping.getClassName(), mapping.child, _shapes(mapping)
    states, size = (*mapping.drivers, child), shapes[driver]
    shape = (child.count, child.deriv_size)
    suffix = f" of driver {driver}" if len(shapes) > 1 else ""

    def only(u: np.ndarray) -> list[np.ndarray]:
        return [
            u if k == driver else np.zeros(driver_shape) for k, driver_shape in enumerate(shapes)
        ]

    def apply_j(v: np.ndarray) -> np.ndarray:
        out = np.empty(shape)
        with check_unchanged(f"{name}.apply_j", *states, v=v):
            mapping.apply_j_from(only(v), out)
        return out

    def add_jt(force: np.ndarray, start: float = 0.0) -> np.ndarray:
        outs = [np.full(driver_shape, start) for driver_shape in shapes]
        with check_unchanged(f"{name}.add_jt", *states, force=force):
            mapping.add_jt_to(force, outs)
        return outs[driver]

    start = positions(only(np.zeros(size)))  # J belongs to the last `apply`
    J = columns(apply_j, size)
    compare_arrays(
        columns(add_jt, shape), J.T, f"{name}: J^T{suffix} by add_jt, against J by apply_j"
    )
    expected = 1.0 + J.T.sum(axis=1).reshape(size)
    compare_arrays(
        add_jt(np.ones(shape), start=1.0), expected, f"{name}.add_jt{suffix}, out = 1 before"
    )
    _check_matrix(mapping, "jacobian", driver, suffix, J)
    if mapping.has_constant_weights:
        _check_matrix(mapping, "weights", driver, suffix, J)
    check_jacobian(
        lambda u: child.kind.difference(positions(only(u)), start),
        J,
        np.zeros(size),
        scale=scale,
        tolerance=tolerance,
        name=f"{name}: J{suffix} by apply_j",
    )


def _check_matrix(mapping: Mapping, by: str, driver: int, which: str, J: np.ndarray) -> None:
    name = f"{mapping.getClassName()}: J{which} by {by}"
    try:  # the jacobian of the base class is that of `weights`
        matrix = mapping.jacobian(driver) if by == "jacobian" else Mapping.jacobian(mapping, driver)
    except NotImplementedError as error:
        constant = mapping.has_constant_weights
        raise AssertionError(
            f"{name}: expected {'weights()' if constant else 'jacobian()'}, as "
            f"has_constant_weights is {constant}; got NotImplementedError."
        ) from error
    compare_arrays(matrix.toarray()[: J.shape[0], : J.shape[1]], J, f"{name}, against apply_j")


def _shapes(mapping: Mapping) -> list[tuple[int, int]]:
    return [(driver.count, driver.deriv_size) for driver in mapping.drivers]


@contextmanager
def _positions(mapping: Mapping) -> Iterator[Moves]:
    """Yield a function of the drivers' displacements that returns the child's positions."""
    child, drivers = mapping.child, mapping.drivers
    with ExitStack() as stack:
        moves = [stack.enter_context(movable(driver)) for driver in drivers]

        def positions(us: list[np.ndarray]) -> np.ndarray:
            for move, u in zip(moves, us, strict=True):
                move(u)
            out = np.empty((child.count, child.coord_size))
            with check_unchanged(f"{mapping.getClassName()}.apply", *drivers):
                mapping.apply_from([driver.position.get() for driver in drivers], out)
            return out

        try:
            yield positions
        finally:
            positions([np.zeros(shape) for shape in _shapes(mapping)])
