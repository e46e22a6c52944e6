import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation


@pytest.fixture
def sprung(root):
    """Two nodes on springs, one of them held; the solver has systems for the whole and for M."""
    root.addObject("EulerImplicitSolver", rayleighMass=0.5)
    systems = root.addChild("systems")
    systems.addObject("MatrixLinearSystem", name="whole")
    systems.addObject(
        "MatrixLinearSystem",
        name="M",
        assembleStiffness=False,
        applyProjectiveConstraints=False,
    )
    root.addObject(
        "CompositeLinearSystem",
        name="both",
        linearSystems="@systems/whole @systems/M",
        solverLinearSystem="@systems/whole",
    )
    root.addObject("NaturalOrderingMethod", name="ordering")
    solver = root.addObject(
        "SparseLDLSolver", linearSystem="@both", orderingMethod="@ordering", name="solver"
    )
    node = root.addChild("body")
    node.addObject("MechanicalObject", position=[[0, 0, 0], [1, 0, 0]])
    node.addObject("UniformMass", vertexMass=2.0)
    node.addObject("RestShapeSpringsForceField", stiffness=[30.0])
    node.addObject("FixedProjectiveConstraint", indices=[0])
    simulation.init(root)
    simulation.animate(root, 0.1)
    return solver, systems


def test_a_system_shows_what_its_solver_solved(sprung):
    """A = (1 + h alpha) M + h^2 K, identity where held."""
    solver, systems = sprung
    expected = np.diag([1.0] * 3 + [1.05 * 2.0 + 0.01 * 30.0] * 3)
    assert systems.whole.A().toarray() == pytest.approx(expected, rel=1e-14)
    assert systems.whole.get_rhs_vector().tolist() == solver.b().tolist()
    assert systems.whole.get_solution_vector().tolist() == solver.x().tolist()


def test_a_system_beside_the_solvers_has_its_part_alone(sprung):
    _, systems = sprung
    expected = 1.05 * 2.0 * np.eye(6)
    assert systems.M.get_system_matrix().toarray() == pytest.approx(expected, rel=1e-14)


def test_a_full_matrix_is_an_array(root):
    root.addObject("EulerImplicitSolver")
    system = root.addObject("MatrixLinearSystem", template="FullMatrix")
    root.addObject("CGLinearSolver")
    root.addObject("MechanicalObject", position=[[0, 0, 0]])
    root.addObject("UniformMass", totalMass=2.0)
    simulation.init(root)
    simulation.animate(root, 0.1)
    assert isinstance(system.A(), np.ndarray)
    assert system.A().tolist() == (2.0 * np.eye(3)).tolist()


def test_a_system_of_no_solver_says_so(root):
    system = root.addObject("MatrixLinearSystem")
    with pytest.raises(SceneError, match="belongs to no linear solver"):
        system.A()
