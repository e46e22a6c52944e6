"""RigidMapping: points and bodies carried by rigid bodies; its geometric stiffness."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from typing_extensions import override

from sofa_softctl.runtime.behavior.mapping import Mapping, NodeBlocks
from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.core.data.types import Bool, Choice, Integers, Text, UInt, Vectors
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.mapping import rigid


class RigidMapping(Mapping):
    """Nodes at fixed positions p in the axes of bodies: x = c + R p, v = v_c + omega x R p.

    The nodes' positions at init are measured in the body's axes, or with globalToLocalCoords in the
    world's.
    """

    follows_otherwise = {"applyRestPosition": "reinit"}

    drives = (("Rigid3", "Vec3"), ("Rigid3", "Rigid3"))

    initialPoints = Vectors(
        3, [], "Positions of nodes in the axes of their bodies.", unit="length", follows="reinit"
    )
    index = UInt(0, "Body that carries all nodes.", follows="reinit")
    indexFromEnd = Bool(False, "Count `index` from the last body.", follows="reinit")
    rigidIndexPerPoint = Integers(
        [], "Body that carries each node.", per="node", shared=False, follows="reinit"
    )
    globalToLocalCoords = Bool(
        False, "The nodes' initial positions are in the world's axes.", follows="start"
    )
    useX0 = Bool(False, "Read p from the follower's rest position.", follows="reinit")
    geometricStiffness = Choice(
        "None",
        "Stiffness from forces on nodes that rotate with the body; Exact is not symmetric.",
        choices=("None", "Exact", "Stabilized"),
        follows="start",
    )
    filename = Text("", "Not supported.", aliases=("fileRigidMapping",), follows="start")

    def init(self) -> None:
        """Find p of the nodes, unless the follower is visual only.

        Raises:
            SceneError: a body does not exist, or initialPoints do not fit the nodes.
        """
        if not self.mechanical:
            return
        self.check_templates()
        if self.filename.get():
            raise self.fault("does not support 'filename': give the follower its positions.")
        if self.geometricStiffness.get() == "Exact":
            raise self.fault(
                "does not support geometricStiffness 'Exact', whose matrix is not symmetric: take "
                "'Stabilized' or 'None'."
            )
        child = self.child
        self.body = self._bodies(child.count)
        self._find_places()
        self.arm = np.zeros((child.count, 3))
        if self.geometricStiffness.get() == "Stabilized":
            self.geometric = GeometricStiffness(self)
        self.place()

    @override
    def give_nodes(self) -> None:
        if len(self.initialPoints.get()):
            self.init()

    @override
    def count_of(self, per: str) -> tuple[int, str] | None:
        return (self.child.count, "nodes") if self.mechanical else None

    def _bodies(self, count: int) -> np.ndarray:
        bodies, indices = self.parent.count, self.rigidIndexPerPoint.get()
        number = self.index.get()
        number = bodies - 1 - number if self.indexFromEnd.get() else number
        if self.useX0.get() and 0 < len(indices) != len(self.initialPoints.get()):
            problem = f"reads no rigidIndexPerPoint with useX0: all nodes are on body {number}."
            complain(self, self.fault(problem), " Leave one of the two out.")
            indices = indices[:0]
        body = indices if len(indices) == count else np.full(count, number)
        if len(body) and (body.min() < 0 or body.max() >= bodies):
            wrong = body.min() if body.min() < 0 else body.max()
            raise self.fault(f"names body {wrong}, but {self.parent.describe()} has {bodies}.")
        return np.ascontiguousarray(body, dtype=np.int64)

    def _find_places(self) -> None:
        child = self.child
        x = child._data["rest_position" if self.useX0.get() else "position"].get()
        self.turn = np.tile([0.0, 0.0, 0.0, 1.0], (len(x), 1))  # of followers that are bodies
        if len(self.initialPoints.get()) and not self.useX0.get():
            places = self.initialPoints.get().copy()
            if len(places) != len(x) and self._initialised:
                raise self.fault(
                    f"has {len(places)} 'initialPoints', but {child.describe()} has {len(x)} "
                    "nodes, which it keeps in a run."
                )
            if len(places) != len(x):
                child.resize(child.kind.at_points(places))
                self.body = self._bodies(len(places))
                self.turn = np.tile([0.0, 0.0, 0.0, 1.0], (len(places), 1))
        elif self.globalToLocalCoords.get() and not self.useX0.get():
            frame = self.parent.position.get()[self.body]
            places = rigid.rotate_vectors(rigid.conjugate(frame[:, 3:]), x[:, :3] - frame[:, :3])
        else:
            places = x[:, :3].copy()
            if child.kind.name == "Rigid3":
                self.turn = x[:, 3:].copy()
        self.places = np.ascontiguousarray(places)
        if not self.useX0.get():
            self.initialPoints.set(self.places.copy())

    def reinit(self) -> None:
        """Find p again."""
        self.init()

    @override
    def snapshot(self) -> dict[str, np.ndarray]:
        return {"arm": self.arm.copy()} if self.mechanical else {}

    @override
    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        self.arm = snapshot["arm"].copy()

    def apply(self, x: np.ndarray, out: np.ndarray) -> None:
        """Compute the positions, and J at these positions."""
        rigid.place(x, self.body, self.places, self.arm)
        np.add(x[self.body, :3], self.arm, out=out[:, :3])
        if out.shape[1] == 7:
            out[:, 3:] = rigid.product(x[self.body, 3:], self.turn)

    @override
    def apply_j(self, v: np.ndarray, out: np.ndarray) -> None:
        rigid.velocities(v, self.body, self.arm, out)
        if out.shape[1] == 6:
            out[:, 3:] = v[self.body, 3:]

    @override
    def add_jt(self, force: np.ndarray, out: np.ndarray) -> None:
        rigid.add_wrenches(force, self.body, self.arm, out)
        if force.shape[1] == 6:
            np.add.at(out[:, 3:], self.body, force[:, 3:])

    @property
    def has_constant_weights(self) -> bool:
        """False, since J rotates with the body."""
        return False

    @override
    def jacobian_blocks(self, driver: int = 0) -> NodeBlocks:
        """Return J: v + omega x arm of the rows of each node, then omega if it turns."""
        count, turns = len(self.body), self.child.kind.name == "Rigid3"
        centre = 2 * self.body
        columns = [centre, centre + 1, centre + 1] if turns else [centre, centre + 1]
        blocks = np.tile(np.eye(3), (count, len(columns), 1, 1))
        rigid.cross_matrices(self.arm, blocks[:, 1])
        starts = np.cumsum([0, *([2, 1] * count)]) if turns else 2 * np.arange(count + 1)
        return starts, np.stack(columns, axis=1).ravel(), blocks.reshape(-1, 3, 3)

    @override
    def jacobian(self, driver: int = 0) -> sparse.csr_array:
        starts, nodes, blocks = self.jacobian_blocks(driver)
        shape = (3 * self.child.block_count, 3 * self.parent.block_count)
        return sparse.csr_array(sparse.bsr_array((blocks, nodes, starts), shape=shape).tocsr())


class GeometricStiffness(ForceField):
    """K = -d(J^T f)/dx of a RigidMapping for constant forces f on its nodes.

    A force f at the arm r from the centre has the moment r x f, which a rotation w changes by
    (w x r) x f = [f] [r] w, [.] the matrix of the cross product. The sum over a body's nodes is
    symmetrised and reduced to its definite part, as SOFA's 'Stabilized'. The forces are read by
    `update`, with the multipliers of the last step.

    Departure from SOFA: its right-hand side uses another stiffness, from forces that damping and
    stiffness add.
    """

    def __init__(self, mapping: RigidMapping) -> None:
        super().__init__()
        self.mapping = mapping
        self.state = mapping.parent
        self.blocks = np.zeros((self.state.count, 3, 3))

    def update(self, lambda_factor: float) -> None:
        """Read the present forces; lambda_factor is the force per multiplier."""
        child, body = self.mapping.child, self.mapping.body
        force = child.force.get()[:, :3] + lambda_factor * child.lam[:, :3]
        arm = self.mapping.arm
        products = np.einsum("ni,nj->nij", arm, force)  # [f] [r] = r f^T - (f . r) 1
        products -= np.einsum("ni,ni->n", force, arm)[:, None, None] * np.eye(3)
        blocks = np.zeros_like(self.blocks)
        np.add.at(blocks, body, products)
        values, axes = np.linalg.eigh((blocks + blocks.transpose(0, 2, 1)) / 2.0)
        self.blocks = np.einsum("nij,nj,nkj->nik", axes, np.maximum(-values, 0.0), axes)

    def add_force(self, force: np.ndarray) -> None:
        """Add nothing: the mapping passes the forces on."""

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        out[:, 3:] += factor * np.einsum("nij,nj->ni", self.blocks, v[:, 3:])

    @override
    def pairs(self) -> Pairs:
        turns = 2 * np.arange(self.state.count) + 1
        return turns, turns

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        values[slots] += factor * self.blocks
