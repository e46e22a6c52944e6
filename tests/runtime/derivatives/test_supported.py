"""Scenes whose step cannot be differentiated raise SceneError: who stands in the way, and why."""

import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.mechanics import ForceField, Mass
from sofa_softctl.runtime.behavior.solvers import OdeSolver
from sofa_softctl.runtime.components.mass.uniform import UniformMass
from sofa_softctl.runtime.components.solver.euler_implicit import EulerImplicitSolver
from sofa_softctl.runtime.components.spring.rest_shape import RestShapeSpringsForceField
from sofa_softctl.runtime.core import COMPONENTS, factory
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep


class SoftSprings(RestShapeSpringsForceField):
    """A force field that says of itself that its derivative is known."""

    def check_differentiable(self):
        pass


class HardSprings(RestShapeSpringsForceField):
    """One that says nothing."""

    check_differentiable = ForceField.check_differentiable


class Dust(UniformMass):
    """A mass that says nothing."""

    check_differentiable = Mass.check_differentiable


class OtherEuler(EulerImplicitSolver):
    """An integrator that says nothing."""

    check_differentiable = OdeSolver.check_differentiable


@pytest.fixture
def step(Sofa, beam):
    """step(change, ...): that of a beam on a cable after a change of its scene."""

    def made(change, **scene):
        root = Sofa.Core.Node("root")
        node = beam(root, cables=1, **scene)
        change(node)
        Sofa.Simulation.init(root)
        return ImplicitStep(root, [node.cable_0.cable])

    with COMPONENTS.kept():
        for kind in (SoftSprings, HardSprings, Dust, OtherEuler):
            factory.register(kind)
        yield made


def swap(name, kind, **values):
    """A change: another component in the place of one of the beam's."""

    def change(node):
        node.removeObject(node.getObject(name))
        node.addObject(kind, name=name, **values)

    return change


def add(kind, **values):
    return lambda node: node.addObject(kind, **values)


def switch(name, data, value):
    return lambda node: setattr(node.getObject(name).findData(data), "value", value)


def add_mapped_springs(node):
    child = node.addChild("skin")
    child.addObject("MechanicalObject", position=[[5.0, 5.0, 5.0]])
    child.addObject("RestShapeSpringsForceField", name="springs")
    child.addObject("BarycentricMapping")


def constrain_velocities(node):
    root = node.getRoot()
    loop = next(entry for entry in root.objects if "AnimationLoop" in entry.getClassName())
    loop.solveVelocityConstraintFirst.value = True


def add_body(node):
    body = node.addChild("body")
    body.addObject("MechanicalObject", name="dofs", template="Rigid3", position=[[0] * 6 + [1]])
    body.addObject("UniformMass", totalMass=1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            add("HardSprings", name="hard"),
            "HardSprings '/beam/hard' is a force field whose second derivative is not known; it is "
            "known of AssumedStrainFEMForceField, ConstantForceField, "
            "FastTetrahedralCorotationalForceField, "
            "ParallelTetrahedronFEMForceField, RestShapeSpringsForceField, SoftSprings, "
            "TetrahedralCorotationalFEMForceField, TetrahedronFEMForceField and "
            "TetrahedronHyperelasticityFEMForceField.",
        ),
        (
            switch("fem", "method", "svd"),
            "has method 'svd', which is not smooth: use 'large' or 'polar'.",
        ),
        (
            swap("mass", "Dust", totalMass=0.04),
            "Dust '/beam/mass' is a mass whose derivative is not known; it is known of "
            "DiagonalMass, MeshMatrixMass and UniformMass.",
        ),
        (switch("mass", "separateGravity", True), "has separateGravity or a rayleighMass of its"),
        (
            swap("ode", "OtherEuler"),
            "OtherEuler '/beam/ode' is an integrator whose derivative is not known; it is known of "
            "EulerImplicitSolver.",
        ),
        (switch("ode", "vdamping", 0.1), "has 'vdamping' set: derivatives are known of the step"),
        (constrain_velocities, "has solveVelocityConstraintFirst=True: derivatives are known of"),
        (
            swap("linear", "CGLinearSolver"),
            "CGLinearSolver '/beam/linear' is iterative, but derivatives of a step need factors: "
            "use a direct solver, such as SparseLDLSolver.",
        ),
        (add_body, "MechanicalObject '/beam/body/dofs' has bodies or joints: derivatives of a"),
        (
            add_mapped_springs,
            "RestShapeSpringsForceField '/beam/skin/springs' acts on MechanicalObject "
            "'/beam/skin/MechanicalObject', which follows another state: put it on the state",
        ),
        (
            add("PositionConstraint", name="push", useDirections=[1, 0, 0], value=[1.0]),
            "PositionConstraint '/beam/push' is a constraint that is neither a cable nor a cavity",
        ),
    ],
)
def test_what_stands_in_the_way_is_named_with_what_is_known(step, change, message):
    with pytest.raises(SceneError) as error:
        step(change)
    assert message in str(error.value)


def test_a_constraint_that_only_watches_stands_in_no_way(step):
    watching = {"useDirections": [1, 0, 0], "valueType": "force", "value": [0.0]}
    assert step(add("PositionConstraint", **watching)).size == 16


def test_components_of_inverse_control_stand_in_no_way(step):
    def change(node):
        root = node.getRoot()
        root.removeObject(root.constraints)
        root.addObject("QPInverseProblemSolver", name="constraints")
        swap("cable", "CableActuator", indices=[0, 1, 2], pullPoint=[10.0, 10.0, 0.0])(node.cable_0)
        node.addObject("PositionEffector", indices=[15], effectorGoal=[[10.0, 10.0, 90.0]])

    assert step(change).drives.constraints[0].getClassName() == "CableActuator"
