"""Which scenes the derivatives of a time step know; what does not fit is told."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import Contribution
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.components.constraint.cable_model import CableModel
from sofa_softctl.runtime.components.elasticity.tetrahedron_fem import TetrahedronFEMForceField
from sofa_softctl.runtime.components.mass.consistent import MeshMatrixMass
from sofa_softctl.runtime.components.mass.lumped import LumpedMass
from sofa_softctl.runtime.components.solver.direct import SparseLDLSolver
from sofa_softctl.runtime.components.solver.euler_implicit import EulerImplicitSolver
from sofa_softctl.runtime.components.spring.rest_shape import RestShapeSpringsForceField
from sofa_softctl.runtime.kernels.elasticity.corotational import SVD

ELSEWHERE = "Derivatives of a step are known for robots of tetrahedra on cables."


def check_step(loop: Any, system: MechanicalSystem) -> None:
    """Everything in a scene must be something whose derivative is known.

    Raises:
        SceneError: The integrator is not second-order linearly implicit Euler without extras, the
            linear solver is iterative, a state is not of points, an elasticity is none of
            TetrahedronFEMForceField's, a constraint acts that is no cable, or there are contacts.
    """
    _check_solvers(system)
    for state in system.states:
        if state.kind.name != "Vec3":
            raise state.fault(f"has bodies or joints, not points. {ELSEWHERE}")
    for field in system.force_fields:
        _check_field(field, system)
    for mass in system.masses:
        if not isinstance(mass, LumpedMass | MeshMatrixMass):
            raise mass.fault(f"is a mass whose derivative is not known. {ELSEWHERE}")
        if mass.separateGravity.get() or mass.rayleighMass.get():
            raise mass.fault(
                "has separateGravity or a rayleighMass of its own: leave them out, and give the "
                "damping to the integrator."
            )
        _check_place(mass, system)
    if loop.pipelines:
        raise loop.pipelines[0].fault(f"finds contacts. {ELSEWHERE} Leave collisions out.")
    for node in loop.root.walk():
        for entry in node.of("constraint"):
            if not (isinstance(entry, CableModel) or _only_watches(entry)):
                raise entry.fault(f"is a constraint that is no cable. {ELSEWHERE}")


def _only_watches(entry: Any) -> bool:
    """An effector: one of SoftRobots.Inverse, or a constraint with an imposed force of 0."""
    if type(entry).__module__.startswith("sofa_softctl.runtime.components.softrobots_inverse."):
        return True
    data = entry._data
    imposed = "valueType" in data and data["valueType"].get() == "force"
    return imposed and not np.any(data["value"].get())


def _check_solvers(system: MechanicalSystem) -> None:
    ode = system.solver
    if not isinstance(ode, EulerImplicitSolver):
        raise ode.fault("is no EulerImplicitSolver: derivatives are known of its step alone.")
    for name in ("firstOrder", "trapezoidalScheme", "vdamping"):
        if ode._data[name].get():
            raise ode.fault(f"has '{name}' set: derivatives are known of the step without it.")
    if not isinstance(system.linear_solver, SparseLDLSolver):
        raise system.linear_solver.fault(
            "is iterative, but derivatives of a step need factors: use a SparseLDLSolver."
        )


def _check_field(field: Any, system: MechanicalSystem) -> None:
    known = TetrahedronFEMForceField | RestShapeSpringsForceField
    if not isinstance(field, known):
        raise field.fault(
            "is a force field whose second derivative is not known; TetrahedronFEMForceField, "
            "FastTetrahedralCorotationalForceField and RestShapeSpringsForceField are."
        )
    if getattr(field, "method_number", None) == SVD:
        raise field.fault("has method 'svd', which is not smooth: use 'large' or 'polar'.")
    if field.rayleighStiffness.get():
        raise field.fault("has a rayleighStiffness of its own: give it to the integrator.")
    _check_place(field, system)


def _check_place(entry: Contribution, system: MechanicalSystem) -> None:
    if id(entry.state) not in system.offset:
        raise entry.fault(
            f"acts on {entry.state.describe()}, which follows another state: put it on the state "
            "that drives."
        )
