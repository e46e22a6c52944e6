"""Large strains with closed forms."""

import numpy as np
import pytest

import sofa_softctl  # noqa: F401  (brings Sofa)
from sofa_softctl.runtime.bindings.force_field import ForceFieldVec3d

YOUNG, POISSON = 300.0, 0.4
LAM = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON))
MU = YOUNG / (2.0 * (1.0 + POISSON))


class Dead(ForceFieldVec3d):
    """Forces on the nodes that do not change, shape (n, 3)."""

    def __init__(self, loads, **values):
        super().__init__(**values)
        self.loads = loads

    def addForce(self, parameters, force, position, velocity):
        with force.writeableArray() as f:
            f += self.loads

    def addKToMatrix(self, parameters, n_nodes, n_dofs):
        return np.empty((0, 3))


def end_loads(points, tetrahedra, x, traction):
    """A traction along x on the face at this x: each triangle gives its corners a third."""
    loads = np.zeros_like(points)
    inside = np.abs(points[:, 0] - x) < 1e-9
    for element in tetrahedra:
        corners = element[inside[element]]
        if len(corners) == 3:
            a, b, c = points[corners]
            area = np.linalg.norm(np.cross(b - a, c - a)) / 2.0
            loads[corners, 0] += traction * area / 3.0
    return loads


def pulled_bar(root, box, traction, material, parameters):
    """A bar of length 5 from x = 0, where it is held along x, as along y and z on the faces of
    their origin: it contracts freely."""
    points, tetrahedra = box((4, 2, 2), (5.0, 1.0, 1.5), shake=0.2)
    node = root.addChild("bar")
    node.addObject(
        "NewtonRaphsonSolver",
        name="newton",
        maxNbIterationsNewton=50,
        maxNbIterationsLineSearch=10,
        relativeSuccessiveStoppingThreshold=0.0,
        relativeInitialStoppingThreshold=1e-12,
        absoluteResidualStoppingThreshold=0.0,
    )
    node.addObject("StaticSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("MeshTopology", position=points.tolist(), tetrahedra=tetrahedra.tolist())
    node.addObject("MechanicalObject", name="dofs")
    node.addObject(
        "TetrahedronHyperelasticityFEMForceField",
        name="elasticity",
        materialName=material,
        ParameterSet=parameters,
    )
    node.addObject(Dead(end_loads(points, tetrahedra, 5.0, traction), name="load"))
    for axis in range(3):
        node.addObject(
            "PartialFixedProjectiveConstraint",
            indices=np.flatnonzero(points[:, axis] < 1e-9).tolist(),
            fixedDirections=np.eye(3, dtype=int)[axis].tolist(),
        )
    return node, points


@pytest.mark.parametrize("strain", [-0.15, 0.02, 0.5])
def test_a_st_venant_kirchhoff_bar_under_traction(strain, root, box, run):
    """E = (s^2 - 1) / 2 along the bar. Nothing acts across it, S_22 = lambda tr E + 2 mu E_22 = 0,
    so E_22 = -nu E and S_11 = Y E: with the dead traction t = P_11 = s Y (s^2 - 1) / 2, the bar is
    s long and sqrt(1 - nu (s^2 - 1)) wide, the same everywhere, which linear elements represent
    exactly. Its energy is V Y E^2 / 2. Tolerance: Newton's residual times the compliance."""
    s = 1.0 + strain
    E = (s * s - 1.0) / 2.0
    node, points = pulled_bar(root, box, s * YOUNG * E, "StVenantKirchhoff", [MU, LAM])
    run(root, 1)
    assert node.newton.status.value == "ConvergedResidualInitialRatio"
    width = np.sqrt(1.0 - 2.0 * POISSON * E)
    expected = points * [s, width, width]
    assert node.dofs.position.array() == pytest.approx(expected, abs=1e-9)
    assert node.elasticity.energy() == pytest.approx(7.5 * YOUNG * E * E / 2.0, rel=1e-9)


def test_a_neo_hookean_bar_under_traction(root, box, run):
    """P = mu (F - F^-T) + lambda ln J F^-T. With the width w chosen and P_22 = 0, ln J =
    mu (1 - w^2) / lambda gives the stretch s = J / w^2, and t = mu (s - 1/s) + lambda ln J / s."""
    width = 0.85
    log_J = MU * (1.0 - width**2) / LAM
    s = np.exp(log_J) / width**2
    traction = MU * (s - 1.0 / s) + LAM * log_J / s
    node, points = pulled_bar(root, box, traction, "NeoHookean", [MU, LAM])
    run(root, 1)
    expected = points * [s, width, width]
    assert node.dofs.position.array() == pytest.approx(expected, abs=1e-9)
    energy = MU / 2.0 * (s**2 + 2.0 * width**2 - 3.0) - MU * log_J + LAM / 2.0 * log_J**2
    assert node.elasticity.energy() == pytest.approx(7.5 * energy, rel=1e-9)
