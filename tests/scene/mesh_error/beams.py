"""Cantilevers of tetrahedra and hexahedra, 100 x 10 x 10, along x. Units: mm, kg, s."""

import numpy as np

from sofa_softctl.scene.session.session import Session

LENGTH, HEIGHT, YOUNG, DENSITY = 100.0, 10.0, 500.0, 1e-6
SIX = np.array([(0, 1, 3, 7), (0, 1, 7, 5), (0, 2, 7, 3), (0, 2, 6, 7), (0, 4, 5, 7), (0, 4, 7, 6)])
"""Tetrahedra of a cube whose corner k has the coordinates of the bits of k, z first."""
ORDER = [0, 1, 3, 2, 4, 5, 7, 6]
"""Corners of a cube in the order of a hexahedron."""


def beam(across, *, shape="tetrahedra"):
    """Nodes (n, 3) and elements of a beam with that many cubes across its height."""
    counts = np.array([across * 10, across, across]) if across > 1 else np.array([10, 1, 1])
    lines = [np.linspace(0.0, size, n + 1) for size, n in zip((LENGTH, HEIGHT, HEIGHT), counts)]
    x = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(len(x)).reshape(counts + 1)
    corners = [
        number[i : i + counts[0], j : j + counts[1], k : k + counts[2]].ravel()
        for i, j, k in np.ndindex(2, 2, 2)
    ]
    cubes = np.stack(corners, axis=1)[:, [0, 4, 2, 6, 1, 5, 3, 7]]  # bit 0 is along x
    return x, cubes[:, ORDER] if shape == "hexahedra" else cubes[:, SIX].reshape(-1, 4)


def scene_of(x, cells, kind=None, *, ratio=0.45, held=True, gravity=-9810.0, further=None, **data):
    """createScene of a body that its end at x = 0 holds."""
    shape = {4: "Tetrahedron", 8: "Hexahedron"}[cells.shape[1]]
    elements = {"Tetrahedron": "tetrahedra", "Hexahedron": "hexahedra"}[shape]

    def create_scene(root):
        root.dt = 0.01
        root.gravity = [0.0, gravity, 0.0]
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver", rayleighMass=1.0, rayleighStiffness=0.1)
        body.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        body.addObject(f"{shape}SetTopologyContainer", position=x, **{elements: cells})
        body.addObject("MechanicalObject", name="dofs", position=x)
        body.addObject("MeshMatrixMass", totalMass=DENSITY * LENGTH * HEIGHT**2, lumping=True)
        moduli = {"youngModulus": YOUNG, "poissonRatio": ratio, **data}
        body.addObject(kind or f"{shape}FEMForceField", name="fem", **moduli)
        if held:
            clamped = np.flatnonzero(x[:, 0] < 1e-9).tolist()
            body.addObject("FixedProjectiveConstraint", indices=clamped)
        if further is not None:
            further(body)
        return root

    return create_scene


def session_of(*arguments, **options):
    return Session(scene_of(*arguments, **options), backend="embedded")
