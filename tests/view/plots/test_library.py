"""Plots of libraries name their variables with units, from the problem or the library's file."""

import pytest

from sofa_softctl.library.building.build import Builder
from sofa_softctl.library.building.verify import verify
from sofa_softctl.library.motions.storage import LibraryFile, load
from sofa_softctl.library.ocp.problem import OptimalControlProblem, Parameter, Variable
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.view.plots.library import (
    save_answer_plot,
    save_coverage_plot,
    save_verification_plot,
)

pytest.importorskip("casadi", reason="needs the extra [library]")


@pytest.fixture(scope="module")
def cart():
    """Over a distance in a second, with a first speed; a state of another unit than the other."""
    return OptimalControlProblem(
        name="cart",
        states=[Variable("position [m]"), Variable("speed [m/s]")],
        inputs=[Variable("force [N]", -20.0, 20.0)],
        parameters=[Parameter("distance [m]", -1.0, 1.0), Parameter("speed [m/s]", -0.5, 0.5)],
        dynamics=lambda x, u, z, p: [x[1], u[0]],
        initial=lambda z, p: [0.0, p[1]],
        terminal=lambda x, z, p: [x[0] - p[0], x[1]],
        cost=lambda x, u, z, p: u[0] ** 2,
        error=lambda x, z, p: abs(x[0] - p[0]),
        tolerance=0.01,
        terminal_tolerances=[0.01, 0.01],
        error_unit="m",
        cost_unit="N²",
        horizon=1.0,
        intervals=5,
        steps=1,
    )


@pytest.fixture(scope="module")
def program(cart):
    return Program(cart)


@pytest.fixture(scope="module")
def library(program, tmp_path_factory):
    """From its file, so that the names have been written and read."""
    path = tmp_path_factory.mktemp("library") / "cart.library"
    with LibraryFile.create(path, program.model) as file:
        Builder(program, file, failure_rate=0.5, most=4).build()
    return load(path)


def labels(figure):
    return {text for axes in figure.axes for text in (axes.get_xlabel(), axes.get_ylabel())}


@pytest.mark.processes
def test_an_answer_has_a_panel_for_each_unit(library, drawn, check_readable, tmp_path):
    answer, nearest = library.query([0.3, 0.1]), library.query([0.3, 0.1], refine=False)
    save_answer_plot(tmp_path / "answer.png", answer, nearest, library)
    check_readable(drawn[0])
    assert {"force [N]", "position [m]", "speed [m/s]", "time [s]"} <= labels(drawn[0])


def test_coverage_has_the_units_of_the_parameters(library, drawn, check_readable, tmp_path):
    save_coverage_plot(tmp_path / "coverage.png", library)
    check_readable(drawn[0])
    assert labels(drawn[0]) == {"distance [m]", "speed [m/s]"}


@pytest.mark.processes
def test_accuracy_has_the_units_of_error_and_cost(
    library, program, drawn, check_readable, tmp_path
):
    save_verification_plot(tmp_path / "accuracy.png", verify(library, program, 8))
    check_readable(drawn[0])
    assert {"error of the simulated motion [m]", "cost of the answer [N²]"} <= labels(drawn[0])
