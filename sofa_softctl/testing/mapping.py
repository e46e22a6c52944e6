"""Check of mappings: Jacobian and transpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.testing.jacobian import check_jacobian
from sofa_softctl.testing.matrices import columns, moving, same


def check_mapping(mapping: Mapping, *, scale: float = 1.0, tolerance: float = 1e-6) -> None:
    """Compare the Jacobian of a mapping with its positions and with its transpose.

    Args:
        mapping: In a scene that is initialised.
        scale: Distance over which the positions bend [length].
        tolerance: Largest deviation of J, relative to its largest entry [-].

    Raises:
        AssertionError: `apply_j` is not the derivative of `apply`, `add_jt` not its transpose or
            does not add, or `jacobian` another matrix.
    """
    name, child = mapping.getClassName(), mapping.child
    shapes = [(driver.count, driver.deriv_size) for driver in mapping.drivers]
    shape = (child.count, child.deriv_size)

    def follow(v: np.ndarray, driver: int) -> np.ndarray:
        vs, out = [np.zeros(each) for each in shapes], np.empty(shape)
        vs[driver] = v
        mapping.apply_j_from(vs, out)
        return out

    def pull(force: np.ndarray, driver: int, start: float = 0.0) -> np.ndarray:
        outs = [np.full(each, start) for each in shapes]
        mapping.add_jt_to(force, outs)
        return outs[driver]

    with _positions(mapping) as positions:
        start = positions([np.zeros(each) for each in shapes])

        def moved(u: np.ndarray, driver: int) -> np.ndarray:
            us = [np.zeros(each) for each in shapes]
            us[driver] = u
            return child.kind.difference(positions(us), start)

        for driver, size in enumerate(shapes):
            which = f" of driver {driver}" if len(shapes) > 1 else ""
            positions([np.zeros(each) for each in shapes])  # J belongs to the last `apply`
            J = columns(lambda v, k=driver: follow(v, k), size)  # type: ignore[misc]
            J_transposed = columns(lambda f, k=driver: pull(f, k), shape)  # type: ignore[misc]
            same(J_transposed, J.T, f"{name}: J^T{which} by add_jt, against J by apply_j")
            ones = pull(np.ones(shape), driver, start=1.0)
            expected = 1.0 + J.T.sum(axis=1).reshape(size)
            same(ones, expected, f"{name}.add_jt{which}, out = 1 before")
            rows, entries = shape[0] * shape[1], size[0] * size[1]
            matrix = mapping.jacobian(driver).toarray()[:rows, :entries]
            same(matrix, J, f"{name}: J{which} by jacobian, against apply_j")
            check_jacobian(
                lambda u, k=driver: moved(u, k),  # type: ignore[misc]
                J,
                np.zeros(size),
                scale=scale,
                tolerance=tolerance,
                name=f"{name}: J{which} by apply_j",
            )


@contextmanager
def _positions(mapping: Mapping) -> Iterator[Callable[[list[np.ndarray]], np.ndarray]]:
    """A function of the drivers' motions that returns the positions of the follower."""
    child, drivers = mapping.child, mapping.drivers
    with ExitStack() as stack:
        moves = [stack.enter_context(moving(driver)) for driver in drivers]

        def positions(us: list[np.ndarray]) -> np.ndarray:
            for move, u in zip(moves, us, strict=True):
                move(u)
            out = np.empty((child.count, child.coord_size))
            mapping.apply_from([driver._data["position"].get() for driver in drivers], out)
            return out

        try:
            yield positions
        finally:
            positions([np.zeros((driver.count, driver.deriv_size)) for driver in drivers])
