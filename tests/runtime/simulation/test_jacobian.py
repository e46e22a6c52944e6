"""Jacobians of mapped states in blocks, against products of the mappings' matrices."""

import numpy as np
import pytest

from sofa_softctl.runtime.kernels.constraint.rows import Entries
from sofa_softctl.runtime.simulation import simulation
from sofa_softctl.runtime.simulation.constraint_system import (
    ConstraintPart,
    RowLayout,
    RowPullback,
)
from sofa_softctl.runtime.simulation.jacobian import SystemJacobians, total_jacobian
from sofa_softctl.runtime.simulation.system_matrix import SystemMatrix

YOUNG = 300.0


@pytest.fixture
def held_body(root, box):
    """The nodes of a mesh, some on a rigid base and some free; points in its elements."""

    def make():
        points, tetrahedra = box(2, 2, 4, (1.0, 1.0, 3.0))
        on_base = points[:, 2] < 0.5
        node = root.addChild("robot")
        node.addObject("EulerImplicitSolver", name="solver")
        node.addObject("SparseLDLSolver", name="linear_solver")
        node.addObject("MechanicalObject", name="dofs", position=points[~on_base].tolist())
        node.addObject("UniformMass", totalMass=1.0)
        base = node.addChild("base")
        base.addObject(
            "MechanicalObject", name="dofs", template="Rigid3", position=[[0, 0, 0, 0, 0, 0, 1]]
        )
        base.addObject("UniformMass", totalMass=1.0)
        plate = base.addChild("plate")
        plate.addObject("MechanicalObject", name="dofs", position=points[on_base].tolist())
        plate.addObject("RigidMapping")
        body = plate.addChild("body")
        body.addObject("MeshTopology", position=points.tolist(), tetrahedra=tetrahedra.tolist())
        body.addObject("MechanicalObject", name="dofs")
        number = np.where(on_base, np.cumsum(on_base), np.cumsum(~on_base)) - 1
        pairs = np.stack([on_base, number], axis=-1).astype(int)
        body.addObject(
            "SubsetMultiMapping",
            name="mapping",
            input=["@/robot/dofs", "@/robot/base/plate/dofs"],
            output="@./dofs",
            indexPairs=pairs.ravel().tolist(),
        )
        body.addObject(
            "TetrahedronFEMForceField",
            name="fem",
            method="small",
            youngModulus=YOUNG,
            poissonRatio=0.3,
        )
        carried = body.addChild("carried")
        inside = np.random.default_rng(1).uniform([0.1, 0.1, 0.1], [0.9, 0.9, 2.9], (4, 3))
        carried.addObject("MechanicalObject", name="dofs", position=inside.tolist())
        carried.addObject("BarycentricMapping")
        simulation.init(root)
        half = np.sqrt(0.5)
        node.base.dofs.position.value = [[0.3, -0.2, 0.1, half, 0.0, 0.0, half]]
        simulation.loop_of(root).propagate()
        return node

    return make


def by_matrices(state, system):
    """J as the product of `Mapping.jacobian` from the state on, dense."""
    start = system.offset.get(id(state))
    if start is not None:
        return np.eye(3 * state.block_count, 3 * system.size, k=3 * start)
    mapping = system.mapping_of[id(state)]
    return sum(
        mapping.jacobian(k).toarray() @ by_matrices(driver, system)
        for k, driver in enumerate(mapping.drivers)
    )


def parts_of(node, root):
    body = node.base.plate.body
    return simulation.loop_of(root).systems[0], body.dofs, body.carried.dofs, body.fem


def test_jacobians_are_composed_along_the_mappings(held_body, root):
    """Also after the base has turned: `update` computes the blocks that have changed."""
    system, body, carried, _ = parts_of(node := held_body(), root)
    jacobians = SystemJacobians(system)
    for state in (carried, body):
        jacobians.of(state)
    node.base.dofs.position.value = [[0.0, 0.0, 0.0, 0.0, 0.6, 0.0, 0.8]]
    simulation.loop_of(root).propagate()
    jacobians.update()
    for state in (carried, body, node.dofs):
        expected = by_matrices(state, system)
        assert jacobians.to_csr(state).toarray() == pytest.approx(expected, abs=1e-14)
        assert total_jacobian(state, system).toarray() == pytest.approx(expected, abs=1e-14)


def test_the_matrix_of_a_mapped_body_is_its_own_between_jacobians(held_body, root):
    """A = M + J^T K J with a dense J; half of the nodes are copies, half turn with the base."""
    system, body, _, fem = parts_of(held_body(), root)
    J, K = by_matrices(body, system), -fem.assembleKMatrix().toarray()
    matrix = SystemMatrix(system)
    mass, stiffness = (
        matrix.pattern.to_csr(matrix.assemble(*factors)).toarray()
        for factors in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    )
    assert stiffness == pytest.approx(J.T @ K @ J, abs=1e-11 * np.abs(K).max())
    assert np.trace(mass) > 0.0


def test_nodes_that_copy_the_system_s_need_no_product(held_body, root):
    """Elements of copied nodes only have no block between Jacobians."""
    system, body, _, fem = parts_of(held_body(), root)
    jacobians = SystemJacobians(system)
    copied = jacobians.of(body).copied
    assert (copied >= 0).sum() == system.states[0].count
    matrix = SystemMatrix(system)
    behind = len(matrix._storage) - len(matrix.values)
    mixed = (copied[fem.elements] < 0).any(axis=1)
    assert 0 < behind <= 10 * mixed.sum() + body.count


def test_a_node_copied_twice_gets_both_contributions(root):
    """Two masses and a spring between two copies of one node: 2 m, and no stiffness."""
    node = root.addChild("node")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", position=[[0, 0, 0], [1, 0, 0]])
    twins = node.addChild("twins")
    twins.addObject("MechanicalObject", name="dofs")
    twins.addObject("SubsetMapping", indices=[1, 1, 0])
    twins.addObject("UniformMass", vertexMass=3.0)
    simulation.init(root)
    system = simulation.loop_of(root).systems[0]
    matrix = SystemMatrix(system)
    dense = matrix.pattern.to_csr(matrix.assemble(1.0, 1.0, 0.0)).toarray()
    assert dense == pytest.approx(np.diag([3.0, 3.0, 3.0, 6.0, 6.0, 6.0]))


def test_rows_on_mapped_nodes_are_their_product_with_the_jacobian(held_body, root):
    """Rows on points in the elements, on the body and on its independent nodes, in one layout."""
    system, body, carried, _ = parts_of(node := held_body(), root)
    jacobians, random = SystemJacobians(system), np.random.default_rng(0)
    parts, expected = [], []
    for state in (carried, body, node.dofs):
        nodes = np.array([1, 0, 3, 3])
        entries = Entries(np.array([0, 0, 1, 1]), nodes, random.normal(size=(4, 3)))
        pullback = RowPullback(jacobians, state)
        assert not pullback.matches_last_pattern(entries.row, entries.node)
        assert pullback.matches_last_pattern(entries.row, entries.node)
        parts.append(ConstraintPart(2 * len(parts), pullback, entries.direction))
        H = np.zeros((2, state.block_count, 3))
        np.add.at(H, (entries.row, entries.node), entries.direction)
        expected.append(H.reshape(2, -1) @ by_matrices(state, system))
    layout = RowLayout(parts)
    rows, fixed = np.zeros((6, system.size, 3)), np.zeros((system.size, 3), bool)
    fixed[3, 1] = True
    np.add.at(rows, (layout.row, layout.node), layout.expand_directions(parts, jacobians, fixed))
    H = np.where(fixed.ravel(), 0.0, np.concatenate(expected))
    assert rows.reshape(6, -1) == pytest.approx(H, abs=1e-14)
