"""Finer discretisations of FEM robots: half the time step, tetrahedra split in eight."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError, SceneError
from sofa_softctl.identification.fem.parameter import total_mass, young_modulus
from sofa_softctl.identification.fem.problem import FemProblem
from sofa_softctl.identification.fem.sensing import Drive, Marker
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.uncertainty.discretisation import discretisation_budget
from sofa_softctl.identification.uncertainty.identifiability import identifiability

LOWER, UPPER = [-1.0, -1.0, -1.0, 21.0, 21.0, 40.0], [-1.0, -1.0, 40.0, 21.0, 21.0, 91.0]
TRUTH = np.array([400.0, 500.0])


@pytest.fixture(scope="module")
def mesh_file(box, tmp_path_factory):
    """A beam of 20 x 20 x 90 mm."""
    positions, tetrahedra = box(2, 2, 5)
    path = tmp_path_factory.mktemp("meshes") / "beam.vtk"
    cells = "\n".join(f"4 {a} {b} {c} {d}" for a, b, c, d in tetrahedra)
    points = "\n".join(" ".join(map(str, p)) for p in positions)
    count = len(tetrahedra)
    path.write_text(
        "# vtk DataFile Version 2.0\nbeam\nASCII\nDATASET UNSTRUCTURED_GRID\n"
        f"POINTS {len(positions)} double\n{points}\nCELLS {count} {5 * count}\n{cells}\n"
        f"CELL_TYPES {count}\n" + "10\n" * count
    )
    return path


@pytest.fixture(scope="module")
def scene(box, mesh_file):
    """The foot is held by numbers of nodes, the mesh comes from a file."""
    foot = np.flatnonzero(box(2, 2, 5)[0][:, 2] == 0.0).tolist()

    def createScene(root, springs=False, vertex_mass=0.0, dt=0.01):
        root.dt = dt
        root.gravity = [0.0, -9810.0, 0.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", maxIterations=500, tolerance=1e-10)
        beam = root.addChild("beam")
        beam.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.02)
        beam.addObject("SparseLDLSolver")
        beam.addObject("MeshVTKLoader", name="loader", filename=str(mesh_file))
        beam.addObject("TetrahedronSetTopologyContainer", src="@loader")
        beam.addObject("MechanicalObject", name="dofs")
        mass = {"vertexMass": vertex_mass} if vertex_mass else {"totalMass": 0.04}
        beam.addObject("UniformMass", name="mass", **mass)
        beam.addObject("TetrahedronFEMForceField", name="fem", youngModulus=400.0, poissonRatio=0.4)
        beam.addObject("FixedProjectiveConstraint", name="clamp", indices=foot)
        if springs:
            beam.addObject("RestShapeSpringsForceField", points=[0], stiffness=1.0)
        beam.addObject("LinearSolverConstraintCorrection")
        cable = beam.addChild("cable")
        points = [[4.0, 10.0, z] for z in (5.0, 45.0, 85.0)]
        cable.addObject("MechanicalObject", position=points)
        cable.addObject(
            "CableConstraint",
            name="cable",
            indices=[0, 1, 2],
            pullPoint=[4.0, 10.0, 0.0],
            valueType="force",
            value=[0.0],
        )
        cable.addObject("BarycentricMapping")
        return root

    return createScene


def problem_of(scene, **others):
    return FemProblem(
        name="beam",
        scene=scene,
        parameters=(
            young_modulus("low", 400.0, box=LOWER, lower=10.0),
            young_modulus("high", 500.0, box=UPPER, lower=10.0),
        ),
        drives=(Drive("pull", "/beam/cable/cable"),),
        sensors=(
            Marker("end", at=(10.0, 10.0, 90.0), deviation=0.05),
            Marker("middle", at=(10.0, 10.0, 45.0), deviation=0.05),
        ),
        **others,
    )


def run_of(problem, seed=0):
    """A pull of 0.1 s, measured without error at TRUTH, then with noise."""
    time = np.arange(0.0, 0.101, 0.01)
    pull = 1500.0 * np.sin(np.pi * time / 0.2)[:, None]
    blank = Recording("pull", time, pull, np.full((len(time), 6), np.nan))
    exact = problem.experiment(blank).outputs(TRUTH)
    noise = 0.05 * np.random.default_rng(seed).standard_normal(exact.shape)
    return replace(blank, outputs=exact + noise)


def test_a_split_scene_has_the_same_regions_mass_and_foot(scene):
    """By volume; the foot, given by numbers of corners, holds the points between them, too."""
    whole, parts = problem_of(scene), problem_of(scene, split=1)
    for one, other in zip(whole.derivative.parameters, parts.derivative.parameters, strict=True):
        assert len(other.elements) == 8 * len(one.elements)
        np.testing.assert_array_equal(other.elements // 8, np.repeat(one.elements, 8))
    held = parts.model.step.system.projective[0].fixed_dofs().all(axis=1)
    at_foot = np.isclose(parts.model.step.x0[:, 2], 0.0)
    np.testing.assert_array_equal(held, at_foot)
    assert at_foot.sum() == 9 and parts.model.step.system.masses[0].totalMass.value == 0.04


def test_data_of_a_split_mesh_are_recognised_by_the_budget(scene):
    """The true change of each modulus within a factor of 1.5; noise alone would not hold it."""
    run = run_of(problem_of(scene, split=1))
    one = problem_of(scene).experiment(run)
    found = estimate([one])
    trust = identifiability(found, [one])
    budget = discretisation_budget(found, [one])
    assert budget.left_out == ()
    steps, mesh = budget.shifts
    true = TRUTH - found.rho
    assert (np.abs(true) > 2.0 * (trust.high - found.rho)).all()
    assert (mesh.change / true < 1.5).all() and (mesh.change / true > 1.0 / 1.5).all()
    assert mesh.refinement.text == "with each tetrahedron split in eight"
    assert steps.refinement.text == "with a time step of 5 instead of 10 ms"
    assert np.abs(steps.change).max() < 0.3 * np.abs(mesh.change).max()
    low, high = budget.widened(trust)
    assert ((low <= TRUTH) & (TRUTH <= high)).all()
    assert not ((trust.low <= TRUTH) & (TRUTH <= trust.high)).any()


def test_half_the_step_is_that_of_the_scene_and_of_createScene(scene):
    one = problem_of(scene).experiment(run_of(problem_of(scene)))
    half = one.refinements()[0].make()
    assert half.dt == 0.005 and half.steps == 2 * one.steps
    assert half.refinements()[0].make().dt == 0.0025


def test_what_a_split_mesh_would_change_is_refused_by_name(scene, beam):
    run = run_of(problem_of(scene))
    for given, message in (
        ({"springs": True}, "has springs on single nodes.* Give the problem `finer_mesh`"),
        ({"vertex_mass": 1e-3}, "gives mass to single nodes"),
    ):
        one = problem_of(scene, scene_parameters=given).experiment(run)
        with pytest.raises(IdentificationError, match=message):
            one.refinements()[1].make()

    def inline(root):
        return beam(root, (2, 2, 5), cables=1)

    other = replace(problem_of(inline), drives=(Drive("pull", "/beam/cable_0/cable"),))
    with pytest.raises(IdentificationError, match="not those of a mesh file"):
        other.experiment(run).refinements()[1].make()


def test_a_mass_that_was_estimated_is_not_taken_for_another_mesh(scene):
    """The finer mesh has the scene's mass, and takes the estimate's when it is simulated."""
    base = problem_of(scene)
    one = replace(base, parameters=(*base.parameters, total_mass())).experiment(run_of(base))
    one.outputs(np.append(TRUTH, 0.06))
    assert one.derivative.step.system.masses[0].totalMass.value == 0.06
    finer = one.refinements()[1].make()
    finer.outputs(np.append(TRUTH, 0.05))
    assert finer.derivative.step.system.masses[0].totalMass.value == 0.05
    assert one.refinements()[1].make().steps == one.steps


def test_a_scene_parameter_may_give_the_finer_mesh(beam):
    def createScene(root, along=5):
        return beam(root, (2, 2, along), cables=1)

    problem = replace(
        problem_of(createScene, finer_mesh={"along": 9}),
        drives=(Drive("pull", "/beam/cable_0/cable"),),
    )
    one = problem.experiment(run_of(problem))
    refinement = one.refinements()[1]
    assert refinement.text == "with along = 9"
    assert refinement.make().derivative.step.size > problem.model.step.size
    wrong = replace(problem, finer_mesh={"across": 9})
    with pytest.raises(SceneError, match="across"):
        wrong.experiment(one.recording).refinements()[1].make()
