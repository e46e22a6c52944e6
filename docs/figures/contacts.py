"""Makes docs/figures/contacts.png: a flat block on a floor, by three intersection methods.

A soft block, 40 x 40 x 15 mm (mm, g, s), is set down flat, and slides down a floor at 25 degrees
whose two triangles share an edge that it crosses. Run: `python docs/figures/contacts.py`
"""

import itertools
import math
from pathlib import Path

import numpy as np

from sofa_softctl import Sofa

CONTACT = 1.0
"""contactDistance [mm]"""
ALL = ("Triangle", "Line", "Point")
SIZE, CELLS = np.array([40.0, 40.0, 15.0]), (4, 4, 2)


def block():
    """Nodes, tetrahedra and outer triangles."""
    counts = np.array(CELLS) + 1
    grid = np.array(list(itertools.product(*(range(n) for n in counts))))
    steps = np.array([counts[1] * counts[2], counts[2], 1])
    tetrahedra = [
        steps @ cell + np.cumsum([0, *order])
        for cell in itertools.product(*(range(n) for n in CELLS))
        for order in itertools.permutations(steps)
    ]
    points, faces = grid * SIZE / CELLS, {}
    for corners in tetrahedra:
        for k in range(4):
            inner, face = corners[k], np.delete(corners, k)
            a, b, c, d = points[[*face, inner]]
            outwards = np.dot(np.cross(b - a, c - a), d - a) < 0.0
            faces.setdefault(tuple(sorted(face)), []).append(face if outwards else face[::-1])
    return points, tetrahedra, [found[0].tolist() for found in faces.values() if len(found) == 1]


def scene(method, slope=0.0, lines=True, **values):
    """The block just above the floor."""
    a = math.radians(slope)
    root = Sofa.Core.Node("root", dt=0.01)
    root.gravity = [9810.0 * math.sin(a), 0.0, -9810.0 * math.cos(a)]
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", name="solver", tolerance=1e-9, maxIterations=1000)
    root.addObject("CollisionPipeline")
    root.addObject("BruteForceBroadPhase")
    root.addObject("BVHNarrowPhase")
    root.addObject(method, alarmDistance=5.0, contactDistance=CONTACT, **values)
    root.addObject(
        "CollisionResponse", response="FrictionContactConstraint", responseParams="mu=0.3"
    )
    points, tetrahedra, triangles = block()
    points = points + [-70.0, -20.0, CONTACT + 0.5]
    body = root.addChild("block")
    body.addObject("EulerImplicitSolver", rayleighStiffness=0.02)
    body.addObject("SparseLDLSolver")
    body.addObject("MeshTopology", position=points.tolist(), tetrahedra=tetrahedra)
    body.addObject("MechanicalObject", name="dofs")
    body.addObject("UniformMass", totalMass=24.0)
    body.addObject("TetrahedronFEMForceField", youngModulus=2e5, poissonRatio=0.4)
    body.addObject("LinearSolverConstraintCorrection")
    surface = body.addChild("surface")
    surface.addObject("MeshTopology", position=points.tolist(), triangles=triangles)
    surface.addObject("MechanicalObject")
    for kind in ALL:
        surface.addObject(f"{kind}CollisionModel")
    surface.addObject("IdentityMapping")
    floor = root.addChild("floor")
    corners = [[-900, -500, 0], [900, -500, 0], [900, 500, 0], [-900, 500, 0]]
    floor.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2], [0, 2, 3]])
    floor.addObject("MechanicalObject")
    for kind in ALL if lines else ("Triangle", "Point"):
        floor.addObject(f"{kind}CollisionModel", moving=False, simulated=False)
    return root


def heights(steps, *arguments, **values):
    """Lowest node above the contact distance after each step [mm], and number of contacts."""
    root = scene(*arguments, **values)
    Sofa.Simulation.init(root)
    found, count = [], []
    for _ in range(steps):
        Sofa.Simulation.animate(root, 0.01)
        found.append(root.block.dofs.position.value[:, 2].min() - CONTACT)
        count.append(root.solver.currentNumConstraints.value // 3)
    return np.array(found), count


def pulls(steps, *arguments, **values):
    """Mean acceleration down the slope in each step, in that of Coulomb's law [-]."""
    root = scene(*arguments, slope=25.0, **values)
    Sofa.Simulation.init(root)
    speeds = [0.0]
    for _ in range(steps):
        Sofa.Simulation.animate(root, 0.01)
        speeds.append(root.block.dofs.velocity.value[:, 0].mean())
    a = math.radians(25.0)
    return np.diff(speeds) / 0.01 / (9810.0 * (math.sin(a) - 0.3 * math.cos(a)))


def main():
    """Run the six scenes, print their figures, and draw them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 3.6), layout="constrained")
    time = 0.01 * np.arange(1, 61)
    for name, color, method, values in (
        ("LocalMinDistance", "tab:red", "LocalMinDistance", {}),
        ("LocalMinDistance, angleCone=0.01", "tab:blue", "LocalMinDistance", {"angleCone": 0.01}),
        ("MinProximityIntersection", "k", "MinProximityIntersection", {}),
    ):
        found, count = heights(60, method, **values)
        style = ":" if color == "k" else "-"
        left.plot(time, 1e3 * found, style, color=color, label=f"{name}: {count[-1]} contacts")
        print(f"{name}: {1e3 * found[20:].min():.2f} um at the lowest, {count[-1]} contacts")
    left.set(xlabel="time [s]", ylabel="underside above contactDistance [µm]", ylim=(-25, 25))
    left.set_title("set down flat", loc="left")
    left.legend(frameon=False, fontsize=8, loc="upper right")
    for name, color, method, lines, values in (
        ("MinProximityIntersection", "tab:red", "MinProximityIntersection", True, {}),
        ("LocalMinDistance, angleCone=0.01", "tab:blue", "LocalMinDistance", True,
         {"angleCone": 0.01}),
        ("MinProximityIntersection, floor without lines", "k", "MinProximityIntersection", False,
         {}),
    ):  # fmt: skip
        found = pulls(60, method, lines=lines, **values)
        right.plot(time, found, ":" if color == "k" else "-", color=color, label=name)
        print(f"{name}: {found[30:].min():.3f} to {found[30:].max():.3f} of Coulomb's law")
    right.set(xlabel="time [s]", ylabel="acceleration / g (sin a - µ cos a)")
    right.set_title("sliding over an edge inside the floor", loc="left")
    right.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
