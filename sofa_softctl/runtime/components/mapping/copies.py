"""Mappings that copy nodes: all of them, some, or some of several states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse as sparse
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.behavior.mapping import Mapping, Weights
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real, UInt
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain

MISFIT_MAX = 0.1
"""Largest distance of copied nodes from their positions in the scene, over their size [-]."""
NOT_GIVEN = 2**32 - 1
"""SOFA's value of an unset node number."""
_AFFINE_MIN = 8  # points; an affine map does not fit this many by chance


class CopyMapping(Mapping):
    """Each node is a copy of a node of one of the drivers, or of the centre of a body."""

    drives: ClassVar[tuple[tuple[str, str], ...]] = (
        ("Vec3", "Vec3"),
        ("Vec1", "Vec1"),
        ("Rigid3", "Rigid3"),
        ("Rigid3", "Vec3"),
    )

    sources: list[tuple[np.ndarray, np.ndarray]]
    """Nodes of the follower, and the driver's node that each copies, for each driver."""

    def init(self) -> None:
        """Find the driving nodes and place the follower, unless it is visual only."""
        if self.mechanical:
            self.check_templates()
            count = vars(self.child).get("_known")  # see MechanicalState.known_count
            positions = self.child.position.get()[:count].copy()
            self.sources = self.find_sources()
            self._warn_of_other_shape(positions)
            self._jacobians = [self._build(number) for number in range(len(self.drivers))]
            by_nodes = [jacobian[::3, ::3] for jacobian in self._jacobians]
            self._weights = [(matrix.indptr, matrix.indices, matrix.data) for matrix in by_nodes]
            self.place()

    def find_sources(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return `sources`, and resize the follower."""
        raise NotImplementedError

    @override
    def give_nodes(self) -> None:
        if self.mechanical:
            self.check_templates()
            self.find_sources()

    def _warn_of_other_shape(self, positions: np.ndarray) -> None:
        """Warn if no affine map takes the scene's positions to the copied ones."""
        nodes, copied = self.sources[0]
        is_enough = len(positions) == len(nodes) > _AFFINE_MIN and np.ptp(positions, axis=0).any()
        if not is_enough or {self.parent.kind.name, self.child.kind.name} != {"Vec3"}:
            return
        x = self.parent.position.get()[copied, :3]
        rows = np.column_stack([positions[nodes], np.ones(len(nodes))])
        misfit = np.linalg.norm(x - rows @ np.linalg.lstsq(rows, x, rcond=None)[0], axis=1)
        size = float(np.ptp(x, axis=0).max())
        if misfit.max() > MISFIT_MAX * size > 0.0:
            message.warning(
                self,
                f"{describe(self._where)}: {self.describe()} replaces the positions of "
                f"{self.child.describe()} by those of other nodes of {self.parent.describe()}, up "
                f"to {misfit.max():.3g} away from them where the body is {size:.3g} long, however "
                "it is turned and shifted: elements there join other nodes now. Are 'indices' "
                "those of another mesh? Use a BarycentricMapping for points of their own.",
            )

    @override
    def apply(self, x: np.ndarray, out: np.ndarray) -> None:
        self.apply_from([x], out)

    @override
    def apply_j(self, v: np.ndarray, out: np.ndarray) -> None:
        self.apply_from([v], out)

    @override
    def add_jt(self, force: np.ndarray, out: np.ndarray) -> None:
        self.add_jt_to(force, [out])

    @override
    def apply_from(self, xs: Sequence[np.ndarray], out: np.ndarray) -> None:
        for x, (nodes, copied) in zip(xs, self.sources, strict=True):
            out[nodes] = x[copied, : out.shape[1]]

    @override
    def apply_j_from(self, vs: Sequence[np.ndarray], out: np.ndarray) -> None:
        self.apply_from(vs, out)

    @override
    def add_jt_to(self, force: np.ndarray, outs: Sequence[np.ndarray]) -> None:
        for out, (nodes, copied) in zip(outs, self.sources, strict=True):
            np.add.at(out[:, : force.shape[1]], copied, force[nodes])

    @property
    def has_constant_weights(self) -> bool:
        """False for joints: three joints share a row, so their copies are not weights of rows."""
        return self.child.kind.name != "Vec1"

    @override
    def point_weights(self) -> list[Weights] | None:
        return self._weights

    @override
    def weights(self, driver: int = 0) -> Weights:
        return self._weights[driver]

    @override
    def jacobian(self, driver: int = 0) -> sparse.csr_array:
        return self._jacobians[driver]

    def _build(self, driver: int) -> sparse.csr_array:
        nodes, copied = self.sources[driver]
        width, source = self.child.deriv_size, self.drivers[driver]
        axes = np.arange(width)
        rows = (width * nodes[:, None] + axes).ravel()
        cols = (source.deriv_size * copied[:, None] + axes).ravel()
        shape = (3 * self.child.block_count, 3 * source.block_count)
        return sparse.coo_array((np.ones(len(rows)), (rows, cols)), shape=shape).tocsr()


class IdentityMapping(CopyMapping):
    """The follower gets the driver's size and positions; points may follow centres of bodies."""

    def find_sources(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Resize the follower like the driver; warn if it had another size."""
        positions, copied = self.child.position.get(), self.parent.position.get()
        # The mesh of a part of the body omits last points that its elements do not use.
        first = copied[: len(positions), : positions.shape[1]]
        is_part = first.shape == positions.shape and np.allclose(first, positions)
        if 1 < len(positions) != self.parent.count and not is_part:
            message.warning(
                self,
                f"{describe(self._where)}: {self.describe()} replaces the {len(positions)} "
                f"positions of {self.child.describe()} by the {self.parent.count} of "
                f"{self.parent.describe()}, as in SOFA: elements and indices there mean other "
                "nodes now. Use a BarycentricMapping or SubsetMapping for points of their own.",
            )
        self.child.resize(copied)
        numbers = np.arange(self.parent.count)
        return [(numbers, numbers)]


class SubsetMapping(CopyMapping):
    """The follower's nodes are the driver's `indices`, `first` to `last`, or the nearest."""

    drives = (("Vec3", "Vec3"), ("Vec1", "Vec1"), ("Rigid3", "Rigid3"))

    indices = Integers([], "Driving node of each node.", of="driver", follows="start")
    first = UInt(NOT_GIVEN, "First driving node if there are no indices.", follows="start")
    last = UInt(NOT_GIVEN, "Last driving node if there are no indices.", follows="start")
    radius = Real(1e-5, "Largest distance of a driving node.", unit="length")
    handleTopologyChange = Bool(True, "Unused: the mesh does not change.")
    ignoreNotFound = Bool(False, "Ignore nodes without a driving node.")
    resizeToModel = Bool(False, "Unused.")
    topology = LinkType("Unused: the mesh does not change.")

    def find_sources(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Find the driving node of each node.

        Raises:
            SceneError: a node does not exist, or is not near enough.
        """
        parent, child = self.parent, self.child
        numbers = self.indices.get()
        first, last = self.first.get(), self.last.get()
        if not len(numbers) and first != NOT_GIVEN:
            first = first if first < parent.count else 0
            last = min(last, parent.count - 1)
            numbers = np.arange(first, last + 1)
        if not len(numbers):
            numbers = self._find_nearest(parent.position.get(), child.position.get())
        if numbers.min(initial=0) < 0 or numbers.max(initial=-1) >= parent.count:
            raise self.fault(f"names node {numbers.max()}, but the driver has {parent.count}.")
        self.indices.set(numbers)  # to show them
        self.child.resize(parent.position.get()[numbers])
        return [(np.arange(len(numbers)), numbers)]

    def _find_nearest(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        squares = ((targets[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
        nearest = squares.argmin(axis=1)
        is_far = np.sqrt(squares.min(axis=1)) > self.radius.get()
        if is_far.any():
            raise self.fault(
                f"finds no driving node within {self.radius.get():g} of {int(is_far.sum())} nodes, "
                f"first node {int(np.flatnonzero(is_far)[0])}. Give 'indices' or a larger 'radius'."
            )
        return nearest


class SubsetMultiMapping(CopyMapping):
    """Node i of the follower is node b of driver a, with (a, b) pair i of `indexPairs`.

    All drivers must be below one time integrator.
    """

    indexPairs = Integers(
        [], "Number of the driver and of its node, for each node.", follows="start"
    )
    input = LinkType("States that drive, separated by blanks.", kind="state", many=True)

    @cached_property
    @override
    def drivers(self) -> list[MechanicalState]:
        states: list[MechanicalState] = self._links["input"].getLinkedBases()
        if not states:
            raise self.fault(
                "needs 'input', the states that drive it, such as input='@../dofs @/rigid/dofs'."
            )
        return states

    @property
    def parent(self) -> MechanicalState:  # type: ignore[override]
        """The first of its drivers."""
        return self.drivers[0]

    def find_sources(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Read the pairs.

        Raises:
            SceneError: there is no pair, or one names a driver or node that does not exist.
        """
        pairs = self.indexPairs.get()
        if not len(pairs) or len(pairs) % 2:
            problem = self.fault(
                f"has {len(pairs)} numbers in 'indexPairs': give two for each node, the number of "
                "its driver and that of the driver's node."
            )
            if len(pairs) < 2:
                raise problem
            complain(self, problem, " The last one is left out, as in SOFA.")
        pairs = pairs[: len(pairs) // 2 * 2].reshape(-1, 2)
        counts = np.array([driver.count for driver in self.drivers])
        is_invalid = (pairs[:, 0] < 0) | (pairs[:, 0] >= len(counts)) | (pairs[:, 1] < 0)
        is_invalid[~is_invalid] = pairs[~is_invalid, 1] >= counts[pairs[~is_invalid, 0]]
        if is_invalid.any():
            driver, node = pairs[is_invalid][0]
            raise self.fault(
                f"names node {node} of driver {driver} in 'indexPairs'; its drivers have "
                f"{', '.join(map(str, counts))} nodes."
            )
        self.child.resize(np.tile(self.child.kind.identity, (len(pairs), 1)))
        groups = [np.flatnonzero(pairs[:, 0] == number) for number in range(len(counts))]
        return [(nodes, pairs[nodes, 1]) for nodes in groups]
