"""Makes docs/figures/elements.png: error over milliseconds a step for all elements.

A cantilever of 100 x 10 x 10 mm under its weight, Poisson's ratio 0.45, of 1 to 8 cells across.
Run with one thread: `OPENBLAS_NUM_THREADS=1 python -m benchmarks.elements_figure`
"""

import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl import Sofa
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split

ROOT = Path(__file__).resolve().parents[1]
LENGTH, SIDE = 100.0, 10.0
"""Of the cantilever along x [mm]; it is clamped at x = 0."""
YOUNG, POISSON, MASS, GRAVITY = 15000.0, 0.45, 0.0107, 9810.0
"""[kPa], [-], [kg], [mm/s^2]: it sags by a hundredth of its length."""
ACROSS = {
    "SOFA's tetrahedra": (1, 2, 3, 4, 6, 8),
    "SOFA's hexahedra": (1, 2, 3, 4, 6, 8),
    "smoothed tetrahedra": (1, 2, 3, 4, 6),
    "10-node tetrahedra": (1, 2, 3),
    "hexahedra, enhanced": (1, 2, 3, 4, 6),
}
"""Cells across of each element."""
STEPS = 20
"""Steps of which the fastest counts."""


def grid(across: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes (n, 3) of the cantilever in cubes, the cubes (m, 8), and six tetrahedra of each."""
    from tests.conftest import box_of_tetrahedra

    counts = (round(LENGTH / SIDE) * across + 1, across + 1, across + 1)
    points, tetrahedra = box_of_tetrahedra(*counts, size=(LENGTH, SIDE, SIDE))
    strides = np.array([counts[1] * counts[2], counts[2], 1])
    corners = np.array(list(itertools.product(*(range(count - 1) for count in counts)))) @ strides
    face = np.array([0, strides[0], strides[0] + strides[1], strides[1]])
    return points, corners[:, None] + np.concatenate([face, face + 1]), tetrahedra


def body(element: str, across: int, solver: str) -> tuple[Any, Any, np.ndarray]:
    """Root and node of a cantilever of an element, with this ODE solver."""
    points, hexahedra, tetrahedra = grid(across)
    cells = {"hexahedra": hexahedra} if "hexahedra" in element else {"tetrahedra": tetrahedra}
    quadratic = element.startswith("10-node")
    if quadratic:
        mesh = split(Mesh(points, tetrahedra=tetrahedra))
        points, cells = mesh.positions, {"tetrahedra": mesh.tetrahedra}
    root = Sofa.Core.Node("root", dt=0.01, gravity=[0.0, 0.0, -GRAVITY])
    root.addObject("DefaultAnimationLoop")
    node = root.addChild("beam")
    node.addObject(solver)
    if solver == "StaticSolver":
        node.addObject("NewtonRaphsonSolver", warnWhenLineSearchFails=False)
    node.addObject("SparseLDLSolver")
    node.addObject("MeshTopology", position=points, **cells)
    node.addObject("MechanicalObject", name="dofs", position=points)
    node.addObject("MeshMatrixMass", totalMass=MASS, lumping=True)
    moduli = {"youngModulus": YOUNG, "poissonRatio": POISSON}
    if element == "SOFA's tetrahedra":
        node.addObject("TetrahedronFEMForceField", **moduli)
    elif element == "SOFA's hexahedra":
        node.addObject("HexahedronFEMForceField", **moduli)
    else:
        node.addObject("AssumedStrainFEMForceField", quadratic=quadratic, **moduli)
    clamp = np.flatnonzero(points[:, 0] < 1e-6 * LENGTH)
    node.addObject("FixedProjectiveConstraint", indices=clamp)
    Sofa.Simulation.init(root)
    return root, node, points


def sag(element: str, across: int) -> float:
    """Tip deflection [mm]."""
    root, node, points = body(element, across, "StaticSolver")
    Sofa.Simulation.animate(root, root.dt.value)
    tip = points[:, 0] > (1.0 - 1e-6) * LENGTH
    return float((points - node.dofs.position.value)[tip, 2].mean())


def step_time(element: str, across: int) -> float:
    """Least CPU time of an implicit Euler step, its factorisation included [ms]."""
    root, _, _ = body(element, across, "EulerImplicitSolver")
    times = []
    for _ in range(STEPS):
        start = time.thread_time()
        Sofa.Simulation.animate(root, root.dt.value)
        times.append(time.thread_time() - start)
    return 1e3 * min(times)


def main() -> None:
    """Print the table, write the picture."""
    import matplotlib.pyplot as plt

    coarse, fine = sag("10-node tetrahedra", 2), sag("10-node tetrahedra", 4)
    converged = fine + (fine - coarse) / 3.0  # of order 2
    figure, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    for element, marker in zip(ACROSS, "osD^v", strict=True):
        errors = [abs(sag(element, n) / converged - 1.0) for n in ACROSS[element]]
        times = [step_time(element, n) for n in ACROSS[element]]
        style = "--" if element.startswith("SOFA") else "-"
        axes.loglog(times, 100.0 * np.array(errors), marker + style, label=element)
        for n, t, error in zip(ACROSS[element], times, errors, strict=True):
            axes.annotate(f"{n}", (t, 100.0 * error), (4, 4), textcoords="offset points", size=7)
            print(f"{element}, {n} across: {t:.2f} ms, {100.0 * error:.1f} %", flush=True)
    axes.set(xlabel="ms a step", ylabel="error of the tip's sag [%]")
    axes.set_title("A cantilever under its weight, ratio 0.45; numbers: cells across", fontsize=10)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8)
    figure.savefig(ROOT / "docs" / "figures" / "elements.png", dpi=120)


if __name__ == "__main__":
    main()
