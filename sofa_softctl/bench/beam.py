"""The scene that `softctl bench scaling` measures, in SOFA too: a soft beam, cables and contacts.

A beam of silicone, 20 x 20 x 100 mm, is held at z = 0 and pulled sideways by two of four cables
along its edges. `cells` sets its mesh: cells x cells x 5 cells, six tetrahedra each. Further
cables, with forces that grow, make more constraint rows; points of its lower side that lie on a
floor with friction make contacts, three rows each. The number of rows is constant in both.
Units: mm, kg, s, so forces in mN and stresses in kPa.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl import add_constraint_solver

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Collision.Detection.Algorithm
Sofa.Component.Collision.Detection.Intersection Sofa.Component.Collision.Geometry
Sofa.Component.Collision.Response.Contact Sofa.Component.Constraint.Lagrangian.Correction
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.Constraint.Projective
Sofa.Component.LinearSolver.Direct Sofa.Component.Mapping.Linear Sofa.Component.Mass
Sofa.Component.ODESolver.Backward Sofa.Component.SolidMechanics.FEM.Elastic
Sofa.Component.StateContainer Sofa.Component.Topology.Container.Constant
Sofa.Component.Topology.Container.Dynamic SoftRobots
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "mm, kg, s"
WIDTH, LENGTH = 20.0, 100.0
EDGE_INSET = 2.0
"""Distance of the cables from the sides of the beam [mm]."""
POINT_COUNT = 5
"""Number of points of a cable."""
CABLE_COUNT = 4
"""Number of cables along the edges, which impose displacements or are held."""
PULLS = (6.0, 3.0, 0.0, 0.0)
"""Displacement of each of them after `RAMP` [mm]."""
RAMP = 0.4
"""Time in which displacements and forces grow [s]."""
FURTHER_FORCE = 40.0
"""Sum of the forces of further cables after `RAMP` [mN]."""
FLOOR_GAP = 0.4
"""Distance of the floor from the beam; contacts hold from `CONTACT_DISTANCE` on [mm]."""
CONTACT_DISTANCE, ALARM_DISTANCE = 0.5, 3.0


def dof_count(cells: int) -> int:
    """Return the degrees of freedom of the beam's mesh."""
    return 3 * (cells + 1) ** 2 * (5 * cells + 1)


def contact_count_max(cells: int) -> int:
    """Return the number of nodes of the lower side that are not held."""
    return (cells + 1) * 5 * cells


def mesh(cells: int, width: float = WIDTH, length: float = LENGTH) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes [mm], shape (n, 3), and positively oriented tetrahedra, shape (m, 4).

    Each cell is cut into six tetrahedra along its diagonal from the lowest to the highest corner.
    """
    across, along = np.linspace(0.0, width, cells + 1), np.linspace(0.0, length, 5 * cells + 1)
    z, y, x = np.meshgrid(along, across, across, indexing="ij")
    nodes = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    steps = np.array([1, cells + 1, (cells + 1) ** 2])  # to the next node along x, y, z
    i, j, k = np.meshgrid(range(cells), range(cells), range(5 * cells), indexing="ij")
    corner = (np.stack([i, j, k], axis=-1).reshape(-1, 3) @ steps)[:, None]
    paths = [(0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0)]
    parts = []
    for number, path in enumerate(paths):
        offsets = np.concatenate([[0], np.cumsum(steps[list(path)])])
        if number >= 3:  # odd permutations turn the tetrahedron inside out
            offsets = offsets[[0, 2, 1, 3]]
        parts.append(corner + offsets)
    return nodes, np.concatenate(parts)


def createScene(root: Any, cells: int = 4, rows: int = CABLE_COUNT, contacts: int = 0) -> Any:
    """Create the beam.

    Args:
        root: Root of the scene.
        cells: Number of cells across the beam.
        rows: Number of cables, a constraint row each, at least `CABLE_COUNT`.
        contacts: Number of points on the floor, at most `contact_count_max`.
    """
    import Sofa.Core

    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=1000, tolerance=1e-8)
    nodes, tetrahedra = mesh(cells)
    beam = root.addChild("beam")
    beam.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.1)
    template = "CompressedRowSparseMatrixMat3x3d"
    beam.addObject("SparseLDLSolver", name="ldl", template=template)
    beam.addObject(
        "TetrahedronSetTopologyContainer",
        name="topology",
        position=nodes.tolist(),
        tetrahedra=tetrahedra.tolist(),
    )
    beam.addObject("MechanicalObject", name="dofs", template="Vec3d")
    beam.addObject("UniformMass", totalMass=0.04)
    beam.addObject(
        "TetrahedronFEMForceField", name="fem", method="large", youngModulus=300.0, poissonRatio=0.4
    )
    beam.addObject("FixedProjectiveConstraint", indices=np.flatnonzero(nodes[:, 2] == 0.0).tolist())
    beam.addObject("LinearSolverConstraintCorrection")
    cables = _add_cables(beam, rows)
    if contacts:
        _add_contacts(root, beam, nodes, contacts)

    class Pull(Sofa.Core.Controller):  # type: ignore[name-defined,misc]
        def onAnimateBeginEvent(self, event: Any) -> None:
            ramp = min((root.time.value + root.dt.value) / RAMP, 1.0)
            for cable, value in cables:
                cable.value.value = [ramp * value]

    root.addObject(Pull(name="pull"))
    return root


def _add_cables(beam: Any, rows: int) -> list[tuple[Any, float]]:
    """Add cables in one mapped node, and return each with its value after `RAMP`."""
    low, high = EDGE_INSET, WIDTH - EDGE_INSET
    sides = [(low, low), (high, low), (high, high), (low, high)]
    random = np.random.default_rng(0)
    places = [*sides, *random.uniform(low, high, (rows - CABLE_COUNT, 2)).tolist()]
    starts = [*([10.0] * CABLE_COUNT), *random.uniform(5.0, 45.0, rows - CABLE_COUNT)]
    depths = [np.linspace(start, LENGTH - 10.0, POINT_COUNT) for start in starts]
    node = beam.addChild("cables")
    points = [[x, y, z] for (x, y), zs in zip(places, depths, strict=True) for z in zs]
    node.addObject("MechanicalObject", name="dofs", position=points)
    cables = []
    for number, (x, y) in enumerate(places):
        is_edge = number < CABLE_COUNT
        cable = node.addObject(
            "CableConstraint",
            name=f"cable{number}",
            indices=list(range(POINT_COUNT * number, POINT_COUNT * (number + 1))),
            valueType="displacement" if is_edge else "force",
            value=[0.0],
            hasPullPoint=True,
            pullPoint=[x, y, starts[number] - 10.0],
        )
        cables.append((cable, PULLS[number] if is_edge else FURTHER_FORCE / (rows - CABLE_COUNT)))
    node.addObject("BarycentricMapping", name="mapping")
    return cables


def _add_contacts(root: Any, beam: Any, nodes: np.ndarray, count: int) -> None:
    """Add a floor, and points of the lower side spread over it."""
    root.addObject("CollisionPipeline")
    root.addObject("BruteForceBroadPhase")
    root.addObject("BVHNarrowPhase")
    root.addObject(
        "LocalMinDistance",
        alarmDistance=ALARM_DISTANCE,
        contactDistance=CONTACT_DISTANCE,
        angleCone=0.0,
    )
    root.addObject(
        "CollisionResponse", response="FrictionContactConstraint", responseParams="mu=0.5"
    )
    lower = np.flatnonzero((nodes[:, 1] == 0.0) & (nodes[:, 2] > 0.0))
    chosen = lower[np.linspace(0, len(lower) - 1, count).round().astype(int)]
    skin = beam.addChild("skin")
    skin.addObject("MechanicalObject", name="dofs", position=nodes[chosen].tolist())
    skin.addObject("PointCollisionModel")
    skin.addObject("BarycentricMapping", name="mapping")
    floor = root.addChild("floor")
    size, height = 3.0 * LENGTH, -FLOOR_GAP
    corners = [[-size, height, -size], [-size, height, size], [size, height, size]]
    corners.append([size, height, -size])
    floor.addObject(
        "MeshTopology", name="topology", position=corners, triangles=[[0, 1, 2], [0, 2, 3]]
    )
    floor.addObject("MechanicalObject", name="dofs")
    floor.addObject("TriangleCollisionModel", moving=False, simulated=False)
