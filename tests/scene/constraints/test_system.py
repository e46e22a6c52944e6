"""The constraint system by rows and owners; contacts, which need SOFA, are in tests/sofa."""

from types import SimpleNamespace

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.scene.session.session import Session


@pytest.fixture
def inside(beam, Sofa):
    """Calls a function with the ComplianceSystem of a beam with two cables, inside a step."""

    def run(look, steps=1, **options):
        found = []

        class Look(Sofa.Core.Controller):
            def onSolveConstraintSystemEndEvent(self, event):
                found.append(look(ComplianceSystem(self.getContext()), self.getContext()))

        def create(root):
            beam(root, cables=2, **options)
            root.addObject(Look(name="look"))

        Session(create, backend="embedded").step(steps)
        return found if steps > 1 else found[0]

    return run


def test_rows_are_found_in_the_order_of_the_components(inside):
    def look(system, root):
        cables = [root.beam.cable_1.cable, root.beam.cable_0.cable]
        return system.rows_of(cables).row_indices(), system.size

    (rows, others), size = inside(look)
    np.testing.assert_array_equal(rows, [1, 0])
    assert len(others) == 0 and size == 2


def test_rows_of_others_are_what_is_left(inside):
    rows, others = inside(
        lambda system, root: system.rows_of([root.beam.cable_1.cable]).row_indices()
    )
    np.testing.assert_array_equal(rows, [1])
    np.testing.assert_array_equal(others, [0])


def test_every_owner_has_its_rows(inside):
    found = inside(lambda system, root: system.owners())
    assert [(owner.getPathName(), rows.tolist()) for owner, rows in found] == [
        ("/beam/cable_0/cable", [0]),
        ("/beam/cable_1/cable", [1]),
    ]


def test_a_component_without_rows_in_this_step_is_named(inside):
    def look(system, root):
        if root.time.value > 0.0:  # from the second step on the cable is off
            with pytest.raises(SceneError, match=r"/beam/cable_1/cable should own row 1 of the c"):
                system.rows_of([root.beam.cable_1.cable]).row_indices()
        root.beam.cable_1.cable.endTime.value = 0.0
        return root.time.value

    assert inside(look, steps=2) == [0.0, 0.01]


class Solver:
    """What a constraint solver of another version of SOFA shows of itself."""

    def __init__(self, kind, **data):
        self._kind, self._data = kind, data

    def getClassName(self):
        return self._kind

    def getPathName(self):
        return "/solver"

    def findData(self, name):
        return SimpleNamespace(value=self._data[name]) if name in self._data else None

    def lambda_force(self):
        return np.zeros(0)


@pytest.mark.parametrize(
    "solver",
    [
        Solver("GenericConstraintSolver", resolutionMethod="ProjectedGaussSeidel"),
        Solver("GenericConstraintSolver", resolutionMethod="NonsmoothNonlinearConjugateGradient"),
        Solver("LCPConstraintSolver", build_lcp=True),
        Solver("BlockGaussSeidelConstraintSolver"),
        Solver("NNCGConstraintSolver"),
        Solver("ImprovedJacobiConstraintSolver"),
    ],
    ids=lambda solver: solver.getClassName(),
)
def test_solvers_that_build_w_are_taken_by_their_names_in_every_version(solver):
    """v25.06: the first three; v25.12 and v26.06: the others."""
    assert ComplianceSystem(SimpleNamespace(objects=[solver])).solver is solver


@pytest.mark.parametrize(
    ("solver", "how"),
    [
        (
            Solver("GenericConstraintSolver", resolutionMethod="UnbuiltGaussSeidel"),
            "GenericConstraintSolver with resolutionMethod='UnbuiltGaussSeidel'",
        ),
        (Solver("UnbuiltGaussSeidelConstraintSolver"), "UnbuiltGaussSeidelConstraintSolver"),
        (Solver("LCPConstraintSolver", build_lcp=False), "LCPConstraintSolver with build_lcp=Fal"),
    ],
)
def test_solvers_without_w_are_refused_with_the_remedy(solver, how):
    with pytest.raises(SceneError) as error:
        ComplianceSystem(SimpleNamespace(objects=[solver]))
    assert f"/solver is a {how}" in str(error.value)
    assert "Use BlockGaussSeidelConstraintSolver or GenericConstraintSolver" in str(error.value)


def test_a_solver_that_does_not_show_its_w_says_what_was_imported_too_late():
    late = SimpleNamespace(
        getClassName=lambda: "GenericConstraintSolver", getPathName=lambda: "/solver"
    )
    with pytest.raises(SceneError, match=r"/solver does not give its W to Python: import sofa_sof"):
        ComplianceSystem(SimpleNamespace(objects=[late]))
