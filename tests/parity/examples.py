"""Small scenes of what SOFA's own examples ask for, whose motion in SOFA is recorded.

`python tests/parity/examples.py [names]` remakes records/examples.npz with the real SOFA v25.06 on
the Python path.
"""

import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from contacts import detection, floor, skin, turn  # noqa: E402
from contacts import soft as touching_box  # noqa: E402
from mechanics import CG, LDL, PLUGINS, free, grid, moving  # noqa: E402

PLUGINS += """ Collision.Detection.Algorithm Collision.Detection.Intersection
    Collision.Geometry Collision.Response.Contact"""
RECORD = os.path.join(HERE, "records", "examples.npz")
STEPS = 30


def corrected(correction, integrator="EulerImplicitSolver", template="Vec3d", inner=None):
    """Three nodes on springs, two of them joined to others; each state has its own correction.

    An `inner` integrator, below another one, moves nothing, but its factors are those of the
    correction beside it.
    """

    def build(root):
        free(root)
        root.dt = 0.01
        root.gravity = [0.0, -9.81, 1.0]
        node = root.addChild("moving")
        if integrator == "EulerImplicitSolver":
            node.addObject(LDL[0], name="solver", **LDL[1])
        node.addObject(integrator)
        child = moving(node, "points", 3, 3, template)
        child.addObject("RestShapeSpringsForceField", stiffness=[3.0], angularStiffness=[1.0])
        second = moving(node, "others", 3, 7, template)
        if inner is not None:
            child.addObject(inner)
        for state in (child, second):
            state.addObject("UncoupledConstraintCorrection", **correction)
        node.addObject(
            "BilateralLagrangianConstraint",
            object1=child.dofs.getLinkPath(),
            object2=second.dofs.getLinkPath(),
            first_point=[0, 2],
            second_point=[1, 0],
        )
        return child.dofs

    return build


def finds(root, method, free_motion=False, **values):
    """What finds contacts; the response is SOFA's default one, by penalty."""
    root.dt = 0.01
    root.gravity = [0.0, 0.0, -9.81]
    if free_motion:
        free(root)
    else:
        root.addObject("DefaultAnimationLoop")
    root.addObject("CollisionPipeline")
    root.addObject("BruteForceBroadPhase")
    root.addObject("BVHNarrowPhase")
    root.addObject(method, alarmDistance=0.6, contactDistance=0.3, **values)
    root.addObject("CollisionResponse")


def soft(parent, name, models, solver, height, quads=False, **values):
    """A soft box of springs, 1 x 1 x 2, turned, whose nodes, triangles or quadrilaterals touch."""
    node = parent.addChild(name)
    if solver is not None:
        node.addObject(solver[0], name="solver", **solver[1])
        node.addObject("EulerImplicitSolver", rayleighStiffness=0.05, rayleighMass=0.1)
    points, tetrahedra = grid(2, 2, 3, 1.0)
    points = turn(points, (1.0, 0.6, 0.2), 25.0)
    points[:, 2] += height - points[:, 2].min()
    speeds = np.tile([0.3, 0.2, -2.0], (len(points), 1))
    node.addObject(
        "MechanicalObject", name="dofs", position=points.tolist(), velocity=speeds.tolist()
    )
    if quads:
        cells = [[0, 1, 3, 2, 4, 5, 7, 6], [4, 5, 7, 6, 8, 9, 11, 10]]
        node.addObject("MeshTopology", name="mesh", hexahedra=cells)
    else:
        faces = skin(points, tetrahedra)
        node.addObject("MeshTopology", name="mesh", tetrahedra=tetrahedra.tolist(), triangles=faces)
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("MeshSpringForceField", stiffness=100.0, damping=1.0)
    if values.pop("correction", False):
        node.addObject("UncoupledConstraintCorrection", defaultCompliance=1.0)
    for kind in models:
        more = {"radius": 0.2} if kind == "Sphere" else {}
        node.addObject(f"{kind}CollisionModel", name=f"{name}{kind}", **more, **values)
    return node


CONVERGED = ("CGLinearSolver", {"iterations": 300, "tolerance": 1e-13, "threshold": 1e-30})
"""Of contacts on triangles and lines the matrix of SOFA's direct solvers has only a part."""


def pushing(
    method="MinProximityIntersection",
    models=("Triangle", "Line", "Point"),
    others=None,
    solver=CONVERGED,
    above=False,
    free_motion=False,
    quads=False,
    **values,
):
    """A soft box that falls onto a floor, with another one upon it; contacts push by penalty.

    With `above` one integrator moves both.
    """

    def build(root):
        finds(root, method, free_motion, **values)
        still = root.addChild("still")
        corners = [[-9.0, -9.0, 0.0], [19.0, -9.0, 0.0], [-9.0, 19.0, 0.0]]
        still.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2]])
        still.addObject("MechanicalObject", name="dofs")
        for kind in ("Triangle", "Line", "Point"):
            still.addObject(f"{kind}CollisionModel", moving=False, simulated=False)
        parent = root
        if above:
            parent = root.addChild("moving")
            parent.addObject(solver[0], name="solver", **solver[1])
            parent.addObject("EulerImplicitSolver", rayleighStiffness=0.05, rayleighMass=0.1)
        own = None if above else solver
        more = {"contactStiffness": 20.0, "correction": free_motion, "quads": quads}
        first = soft(parent, "one", models, own, 0.35, **more)
        soft(parent, "two", others or models, own, 2.9, **more)
        return first.dofs

    return build


def bodies_driven(kind, integrator="EulerImplicitSolver", **values):
    """Two bodies that fall and turn, of which one is moved."""

    def build(root):
        root.addObject("DefaultAnimationLoop")
        root.dt = 0.01
        root.gravity = [0.0, -9.81, 1.0]
        node = root.addChild("bodies")
        if integrator == "EulerImplicitSolver":
            node.addObject(CG[0], name="solver", **CG[1])
        node.addObject(integrator)
        child = moving(node, "bodies", 2, 5, "Rigid3d")
        child.addObject(kind, **values)
        return child.dofs

    return build


def slid(mu):
    """A soft box that slides down a slope; its contacts are solved in velocities."""

    def build(root):
        detection(root, mu=mu, method="MinProximityIntersection")
        loop = next(entry for entry in root.objects if "AnimationLoop" in entry.getClassName())
        loop.solveVelocityConstraintFirst.value = True
        points, tetrahedra = grid(2, 2, 3, 10.0)
        points = turn(points, (1.0, 0.6, 0.2), 25.0)
        points[:, 2] += 2.0 - points[:, 2].min()
        touching_box(root, points, tetrahedra, velocity=(20.0, 0.0, -100.0))
        floor(root, 20.0)
        return root.body.dofs

    return build


def hung(**values):
    """A chain of points whose lengths are held, in velocities."""

    def build(root):
        free(root)
        loop = next(entry for entry in root.objects if "AnimationLoop" in entry.getClassName())
        loop.solveVelocityConstraintFirst.value = True
        root.dt = 0.01
        root.gravity = [0.0, -9.81, 0.0]
        node = root.addChild("chain")
        node.addObject("EulerImplicitSolver")
        node.addObject("EigenSimplicialLLT", template="CompressedRowSparseMatrixMat3x3d")
        node.addObject("GenericConstraintCorrection")
        points = [[0.1 * k, 0.0, 0.02 * (k % 2)] for k in range(8)]
        node.addObject("MeshTopology", name="mesh", edges=[[k, k + 1] for k in range(7)])
        node.addObject("MechanicalObject", name="dofs", position=points)
        node.addObject("FixedProjectiveConstraint", indices=[0])
        node.addObject("UniformMass", totalMass=0.1)
        lengths = node.addChild("lengths")
        lengths.addObject("MechanicalObject", template="Vec1d")
        lengths.addObject("DistanceMapping", topology="@../mesh")
        lengths.addObject("UniformLagrangianConstraint", template="Vec1d", **values)
        return node.dofs

    return build


TRIANGLES = ("Triangle",)
SPHERES = ("Sphere",)
BY_DISPLACEMENT = {"useOdeSolverIntegrationFactors": False}

CASES = {
    "corrected_by_displacement": corrected({"defaultCompliance": 1e-4, **BY_DISPLACEMENT}),
    "corrected_by_displacement_in_part": corrected(
        {
            "compliance": [1e-4, 2e-4, 3e-4],
            "correctionPositionFactor": 0.7,
            "correctionVelocityFactor": 0.5,
            **BY_DISPLACEMENT,
        }
    ),
    "corrected_bodies_by_displacement": corrected(BY_DISPLACEMENT, template="Rigid3d"),
    "corrected_explicit": corrected({"defaultCompliance": 0.3}, "EulerExplicitSolver"),
    "corrected_explicit_bodies": corrected({}, "EulerExplicitSolver", template="Rigid3d"),
    "corrected_explicit_bodies_by_displacement": corrected(
        BY_DISPLACEMENT, "EulerExplicitSolver", template="Rigid3d"
    ),
    "corrected_below_two_integrators": corrected(
        {"defaultCompliance": 0.3}, inner="EulerExplicitSolver"
    ),
    "bodies_driven": bodies_driven(
        "LinearVelocityProjectiveConstraint",
        indices=[1],
        keyTimes=[0, 0.1, 0.2],
        velocities=[[0] * 6, [1, 2, 3, 3, 2, 1], [0, 1, 0, 0, 9, 0]],
    ),
    "bodies_driven_on": bodies_driven(
        "LinearVelocityProjectiveConstraint",
        indices=[0],
        keyTimes=[0, 0.1],
        velocities=[[0] * 6, [1, 2, 3, 3, 2, 1]],
        continueAfterEnd=True,
    ),
    "bodies_driven_in_part": bodies_driven(
        "LinearVelocityProjectiveConstraint",
        indices=[1],
        coordinates=[0, 2],
        keyTimes=[0, 1],
        velocities=[[0] * 6, [1, 2, 3, 3, 2, 1]],
    ),
    "bodies_oscillate": bodies_driven(
        "OscillatorProjectiveConstraint",
        oscillators="1  1 2 0 0.1 0.2 0.3 0.92736  0 1 1 0.3 0.7 0.5  9 0.5",
    ),
    "bodies_oscillate_explicitly": bodies_driven(
        "OscillatorProjectiveConstraint",
        integrator="EulerExplicitSolver",
        oscillators="0  1 2 0 0 0 0 1  0 1 1 0.3 0.7 0.5  9 0.5",
    ),
    "contacts_by_velocity": slid(0.0),
    "contacts_by_velocity_with_friction": slid(0.3),
    "lengths_by_velocity_at_once": hung(iterative=False),
    "penalty": pushing(),
    "penalty_by_products": pushing(solver=CG),
    "penalty_by_cones": pushing("LocalMinDistance", angleCone=0.1),
    "penalty_of_triangles": pushing("NewProximityIntersection", TRIANGLES),
    "penalty_of_spheres": pushing(models=SPHERES),
    "penalty_of_spheres_by_factors": pushing(models=SPHERES, solver=LDL),
    "penalty_of_spheres_on_a_mesh": pushing(others=SPHERES),
    "penalty_of_spheres_on_quads": pushing(others=SPHERES, quads=True),
    "penalty_below_one_integrator": pushing(above=True),
    "penalty_of_spheres_below_one_integrator_by_factors": pushing(
        models=SPHERES, above=True, solver=LDL
    ),
    "penalty_in_a_free_motion": pushing(free_motion=True),
    "corrected_central": corrected({"defaultCompliance": 0.3}, "CentralDifferenceSolver"),
}


def run(Sofa, name, steps=STEPS):
    """Positions of the watched state after each step, shape (steps, n, width)."""
    root = Sofa.Core.Node("root")
    root.addObject(
        "RequiredPlugin", pluginName=[f"Sofa.Component.{plugin}" for plugin in PLUGINS.split()]
    )
    state = CASES[name](root)
    Sofa.Simulation.init(root)
    positions = []
    for _ in range(steps):
        Sofa.Simulation.animate(root, root.dt.value)
        positions.append(np.array(state.position.value))
    return np.array(positions)


def main():
    import Sofa
    import SofaRuntime  # noqa: F401

    records = dict(np.load(RECORD)) if os.path.exists(RECORD) else {}
    for name in sys.argv[1:] or CASES:
        records[name] = run(Sofa, name)
        print(name, records[name].shape, np.abs(records[name][-1] - records[name][0]).max())
    np.savez_compressed(RECORD, **{name: records[name] for name in CASES if name in records})


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # SOFA's bindings abort when Python cleans up after them
