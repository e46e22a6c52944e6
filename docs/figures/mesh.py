"""Makes docs/figures/mesh.png, and prints the sags of SOFA's tetrahedra in it.

A finger in two element sizes, and how far a cantilever of each element size sags under its weight,
relative to beam theory. Needs pytetwild. Run: `python docs/figures/mesh.py`
"""

import re
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

import numpy as np

from sofa_softctl import Sofa

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "how-to" / "make-a-mesh.md"
LENGTH, SIDE = 100.0, 10.0
"""Of the cantilever along x [mm]; it is clamped at x = 0."""
YOUNG, DENSITY, GRAVITY = 15000.0, 1.07e-6, 9810.0
"""[kPa], [kg/mm^3], [mm/s^2]: it sags by a hundredth of its length."""
RATIOS = (0.3, 0.45, 0.49)
"""Poisson's ratios."""
ACROSS = (1, 2, 3, 4, 6, 8)
"""Thickness over the length of edges that is asked for."""
MESHES = 8
"""Of each size, as no two runs of the mesher give the same."""


def beam_theory(poisson):
    """Tip deflection of the cantilever [mm]: bending and shear of Timoshenko's beam.

    Source: Cowper, The shear coefficient in Timoshenko's beam theory, J. Appl. Mech. 33, 1966,
    for a rectangular cross-section.
    """
    area, inertia = SIDE**2, SIDE**4 / 12.0
    weight = DENSITY * GRAVITY * area
    shear = YOUNG / (2.0 * (1.0 + poisson))
    kappa = 10.0 * (1.0 + poisson) / (12.0 + 11.0 * poisson)
    bending = weight * LENGTH**4 / (8.0 * YOUNG * inertia)
    return bending + weight * LENGTH**2 / (2.0 * kappa * shear * area)


def sag(points, tetrahedra, poisson):
    """Tip deflection of a mesh of the cantilever under gravity along -z [mm]."""
    root = Sofa.Core.Node("root", dt=0.01, gravity=[0.0, 0.0, -GRAVITY])
    root.addObject("DefaultAnimationLoop")
    beam = root.addChild("beam")
    beam.addObject("StaticSolver")
    beam.addObject("NewtonRaphsonSolver", maxNbIterationsNewton=30, warnWhenLineSearchFails=False)
    beam.addObject("SparseLDLSolver")
    beam.addObject("MeshTopology", position=points, tetrahedra=tetrahedra)
    beam.addObject("MechanicalObject", name="dofs")
    beam.addObject("MeshMatrixMass", massDensity=DENSITY)
    beam.addObject("TetrahedronFEMForceField", youngModulus=YOUNG, poissonRatio=poisson)
    clamp = np.flatnonzero(points[:, 0] < 1e-6 * LENGTH)
    beam.addObject("FixedProjectiveConstraint", indices=clamp)
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, root.dt.value)
    tip = points[:, 0] > (1.0 - 1e-6) * LENGTH
    return float((points - beam.dofs.position.value)[tip, 2].mean())


def grid(across):
    """Points and tetrahedra of the cantilever in cubes, each cut into six tetrahedra."""
    sys.path.insert(0, str(HERE.parents[1]))
    from tests.conftest import box_of_tetrahedra

    counts = (round(LENGTH / SIDE) * across + 1, across + 1, across + 1)
    return box_of_tetrahedra(*counts, size=(LENGTH, SIDE, SIDE))


def page_code():
    """What the first block of the page defines: `box`, and the surface of the finger."""
    names = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1], names)
    return names


def filled(points, triangles, edge):
    """Points and tetrahedra that fill a surface."""
    import pytetwild

    return pytetwild.tetrahedralize(points, triangles, edge_length_abs=edge, vtk_ordering=True)


def table(box):
    """Rows: how far each mesh of the cantilever sags, of beam theory."""
    surface, rows = box([0, 0, 0], [LENGTH, SIDE, SIDE]), []
    for across in ACROSS:
        meshes = [filled(*surface, SIDE / across) for _ in range(MESHES)]
        shares = [[sag(*mesh, nu) / beam_theory(nu) for nu in RATIOS] for mesh in meshes]
        row = [*np.mean(shares, axis=0), sag(*grid(across), 0.45) / beam_theory(0.45)]
        rows.append(row)
        nodes = np.mean([len(points) for points, _ in meshes])
        print(f"| {across} | {SIDE / across:.3g} | {nodes:.0f} | ", end="")
        print(" | ".join(f"{share:.2f}" for share in row), "|", end=" ")
        print("spread:", *(f"{share:.2f}" for share in np.ptp(shares, axis=0)), flush=True)
    return np.array(rows)


def cut(points, tetrahedra):
    """Picture of a mesh cut open lengthwise."""
    import pyvista as pv

    mesh = pv.UnstructuredGrid({pv.CellType.TETRA: tetrahedra}, points)
    plotter = pv.Plotter(off_screen=True, window_size=(1200, 420))
    plotter.add_mesh(mesh.clip("z", crinkle=True), color="#e8b27a", show_edges=True)
    plotter.view_vector((0.3, 0.25, 1.0), viewup=(0, 1, 0))
    plotter.camera.zoom(2.6)
    return plotter.screenshot(return_img=True)


def main():
    """Print the table, write the picture."""
    import matplotlib.pyplot as plt

    page = page_code()
    rows = table(page["box"])
    figure = plt.figure(figsize=(10, 4), layout="constrained")
    places = figure.subplot_mosaic([["a", "c"], ["b", "c"]], width_ratios=(1.5, 1))
    for place, edge in (("a", 5.0), ("b", 2.0)):
        mesh = filled(page["points"], page["triangles"], edge)
        places[place].imshow(cut(*mesh))
        places[place].set_title(f"edges of {edge:g} mm: {len(mesh[0])} nodes", fontsize=10)
        places[place].axis("off")
    axes = places["c"]
    for column, poisson in enumerate(RATIOS):
        axes.plot(ACROSS, rows[:, column], "o-", label=f"Poisson's ratio {poisson:g}")
    axes.plot(ACROSS, rows[:, 3], "s--", color="gray", label="cubes cut in six, 0.45")
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set(xlabel="thickness over edge length", ylabel="sag, of beam theory", ylim=(0, 1.05))
    axes.legend(fontsize=8)
    figure.savefig(HERE / "mesh.png", dpi=120)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, chdir(folder):  # the page and pytetwild write
        main()
