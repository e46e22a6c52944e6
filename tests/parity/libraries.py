"""A scene of stlib3 and splib3, whose motion SOFA v25.06 recorded with the same modules.

Remake records/libraries.json with SOFA on the Python path: `python tests/parity/libraries.py`.
"""

import json
import os
import tempfile

import meshio
import numpy as np

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "records", "libraries.json")
PLUGINS = [
    f"Sofa.Component.{name}"
    for name in (
        "AnimationLoop",
        "Constraint.Projective",
        "IO.Mesh",
        "LinearSolver.Direct",
        "LinearSolver.Iterative",
        "Mapping.Linear",
        "Mapping.NonLinear",
        "Mass",
        "ODESolver.Backward",
        "SolidMechanics.FEM.Elastic",
        "StateContainer",
        "Topology.Container.Dynamic",
    )
]
STEPS = 20


def write_beam(path):
    """A beam of 27 points and 48 tetrahedra, shaken by a seed."""
    axis = np.arange(3.0)
    points = np.array([[x, y, 3.0 * z] for x in axis for y in axis for z in axis])
    points += np.random.default_rng(3).uniform(-0.1, 0.1, points.shape)
    cells = []
    for corner in np.ndindex(2, 2, 2):
        first = int(np.dot(corner, (9, 3, 1)))
        for a, b in ((9, 3), (3, 9), (9, 1), (1, 9), (3, 1), (1, 3)):
            path_of = [first, first + a, first + a + b, first + 13]
            p = points[path_of]
            order = [0, 1, 2, 3] if np.linalg.det(p[1:] - p[0]) > 0.0 else [1, 0, 2, 3]
            cells.append([path_of[i] for i in order])
    meshio.Mesh(points, [("tetra", np.array(cells))]).write(path, "vtk42", binary=False)


def build(root, mesh):
    """A beam alone, one that is rigid at its ends, a rigid body, and gravity that swings."""
    from splib3.animation import AnimationManager, animate
    from splib3.numerics import vadd
    from stlib3.physics.deformable import ElasticMaterialObject
    from stlib3.physics.mixedmaterial import Rigidify
    from stlib3.physics.rigid import RigidObject
    from stlib3.solver import DefaultSolver

    def swing(target, factor):
        target.gravity.value = vadd([0.0, -9.81, 0.0], [40.0 * factor, 0.0, 5.0])

    root.dt.value = 0.01
    root.addObject("DefaultAnimationLoop")
    root.addObject(AnimationManager(root))
    animate(swing, {"target": root}, duration=0.05, mode="pingpong")
    given = {"volumeMeshFileName": mesh, "youngModulus": 300.0, "totalMass": 0.2}
    alone = ElasticMaterialObject(
        name="alone", withConstrain=False, translation=[1.0, 2.0, 3.0], rotation=[20.0, 30.0, 40.0],
        scale=[1.0, 0.5, 2.0], **given,
    )  # fmt: skip
    root.addChild(alone)
    alone.addObject("FixedProjectiveConstraint", indices=[0, 3, 6, 9])
    model = root.addChild("Model")
    mixed = ElasticMaterialObject(name="mixed", withConstrain=False, **given)
    model.addChild(mixed)
    ends = [[0, 3, 6, 9, 12, 15, 18, 21, 24], [2, 5, 8, 11, 14, 17, 20, 23, 26]]
    frames = [[0.0, 30.0, 10.0], [1.0, 1.0, 6.0, 0.0, 0.0, 0.0, 1.0]]
    node = Rigidify(model, mixed, groupIndices=ends, frames=frames, name="Rigidified")
    node.RigidParts.addObject("UniformMass", totalMass=0.3)
    node.RigidParts.addObject("FixedProjectiveConstraint", indices=0)
    simulation = root.addChild("Simulation")
    DefaultSolver(simulation, iterative=False)
    simulation.addChild(node)
    body = RigidObject(
        name="body", parent=root, translation=[1.0, 2.0, 3.0], rotation=[10.0, 20.0, 30.0],
        totalMass=0.3, volume=2.0, inertiaMatrix=[1.0, 0.1, 0.0, 0.1, 2.0, 0.0, 0.0, 0.0, 3.0],
    )  # fmt: skip
    return {
        "alone": alone.dofs,
        "mixed": mixed.dofs,
        "ends": node.RigidParts.dofs,
        "body": body.mstate,
    }


def run(Sofa):
    """Positions after the last step, of each state."""
    with tempfile.TemporaryDirectory() as folder:
        mesh = os.path.join(folder, "beam.vtk")
        write_beam(mesh)
        root = Sofa.Core.Node("root")
        for name in PLUGINS:
            root.addObject("RequiredPlugin", name=name)
        states = build(root, mesh)
        Sofa.Simulation.init(root)
    states["body"].velocity.value = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]
    for _ in range(STEPS):
        Sofa.Simulation.animate(root, root.dt.value)
    return {name: np.array(state.position.value).tolist() for name, state in states.items()}


def main():
    import Sofa
    import SofaRuntime  # noqa: F401

    from sofa_softctl.runtime.bindings.modules import is_embedded

    backend = "embedded" if is_embedded(Sofa) else "sofa"
    with open(RECORD, "w") as file:
        json.dump({"backend": backend, "positions": run(Sofa)}, file)
        file.write("\n")


if __name__ == "__main__":
    import sofa_softctl  # noqa: F401 - finds the libraries

    main()
    os._exit(0)  # SOFA's bindings abort when Python cleans up after them
