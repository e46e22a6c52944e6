"""Declarations of optimal control problems: what is wrong with them is said, and what tells them
from others."""

import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest

from sofa_softctl.errors import LibraryError, SoftctlError
from sofa_softctl.library.ocp.formulas import formulas, model_of
from sofa_softctl.library.ocp.problem import Mirror, OptimalControlProblem, Parameter, Variable
from sofa_softctl.library.ocp.shooting import Program


def digest(problem):
    return model_of(problem).digest


def cart(**given):
    """A mass of 2 kg on a rail, from rest to rest over p_0 in 3 s, with least mean force^2."""
    arguments = {
        "name": "rail",
        "states": [Variable("s [m]"), Variable("ds [m/s]", -5.0, 5.0)],
        "inputs": [Variable("force [N]", -10.0, 10.0)],
        "parameters": [Parameter("distance [m]", -1.0, 1.0)],
        "dynamics": lambda x, u, z, p: [x[1], u[0] / 2.0],
        "initial": lambda z, p: [0.0, 0.0],
        "cost": lambda x, u, z, p: u[0] ** 2,
        "terminal": lambda x, z, p: [x[0] - p[0], x[1]],
        "horizon": 3.0,
        "intervals": 6,
    }
    return OptimalControlProblem(**arguments | given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"states": []}, "'rail' needs states"),
        ({"horizon": 0.0}, "horizon, intervals and steps must be positive. Got: 0.0, 6, 5"),
        ({"horizon": np.inf}, "horizon, intervals and steps must be positive. Got: inf, 6, 5"),
        ({"inputs": [Variable("force", 1.0, -1.0)]}, "lower of 'force' must be below upper"),
        ({"parameters": [Parameter("d", np.nan, 1.0)]}, "lower of 'd' must be below upper"),
        ({"parameters": [Parameter("d", 0.0, np.inf)]}, "limits of parameter 'd' must be finite"),
        ({"mirror": Mirror((-1,), (-1,), (-1,))}, "for each of the 2 states. Got: [-1]"),
        (
            {"mirror": Mirror((-1, 1), (-1, -1), (-1,))},
            "for each of the 1 parameters. Got: [-1, 1]",
        ),
        ({"mirror": Mirror((-1,), (-1, -1), (-2,))}, "1 or -1 for each of the 1 inputs. Got: [-2]"),
    ],
)
def test_a_bad_declaration_says_what_is_wrong(given, message):
    with pytest.raises(ValueError) as error:
        cart(**given)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"dynamics": lambda x, u, z, p: [x[1]]},
            "'rail': dynamics must give a column of 2 rows, one for each state. Got: shape (1, 1)",
        ),
        (
            {"initial": lambda z, p: [0.0, 0.0, 0.0]},
            "initial must give a column of 2 rows, one for each state. Got: shape (3, 1)",
        ),
        ({"cost": lambda x, u, z, p: x}, "cost must give a column of 1 rows. Got: shape (2, 1)"),
        ({"final_cost": lambda x, z, p: []}, "final_cost must give a column of 1 rows. Got"),
        ({"terminal": lambda x, z, p: x.T}, "terminal must give a column. Got: shape (1, 2)"),
        ({"path": lambda x, u, z, p: x.T}, "path must give a column. Got: shape (1, 2)"),
        (
            {"cost": lambda x, u, p: u[0] ** 2},
            "'rail': cost must be a function of (x, u, z, p). Got: one of (x, u, p).",
        ),
        ({"horizon": -1.0}, "horizon, intervals and steps must be positive. Got: -1.0"),
    ],
)
def test_a_declaration_that_cannot_be_says_which_part(given, message):
    with pytest.raises(LibraryError) as error:
        Program(cart(**given))
    assert message in str(error.value)


def test_a_guess_of_the_wrong_shape_is_an_error():
    program = Program(cart(guess=lambda p, share: np.zeros((6, 2))))
    with pytest.raises(ValueError, match=r"guess must give .*shape \(7, 2\). Got: \(6, 2\)"):
        program.solve(np.array([0.5]))


@pytest.mark.parametrize(
    ("p", "start", "message"),
    [
        ([0.5, 0.5], None, r"parameters must have shape \(1,\). Got: \(2,\)"),
        ([np.nan], None, "parameters must be finite"),
        ([0.5], np.zeros(3), r"start must have shape \(20,\). Got: \(3,\)"),
    ],
)
def test_arguments_of_a_solution_are_checked(p, start, message):
    with pytest.raises(ValueError, match=message):
        Program(cart()).solve(np.array(p), start)


def test_without_casadi_the_message_says_what_to_install(monkeypatch):
    problem = cart()
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(SoftctlError, match=r"need CasADi: pip install .*\[library\]"):
        Program(problem)


CHANGES = {
    "dynamics": lambda x, u, z, p: [x[1], u[0] / 2.0000001],
    "initial": lambda z, p: [0.0, 1e-9],
    "cost": lambda x, u, z, p: u[0] ** 2 + x[1],
    "terminal": lambda x, z, p: [x[0] + p[0], x[1]],
    "final_cost": lambda x, z, p: x[1],
    "path": lambda x, u, z, p: x[1],
    "horizon": 3.1,
    "intervals": 7,
    "steps": 4,
    "margin": 0.02,
    "states": [Variable("s [m]"), Variable("ds [m/s]", -5.0, 5.0000000001)],
    "inputs": [Variable("force [N]", -np.inf, 10.0)],
    "design": [Variable("stiffness")],
    "parameters": [Parameter("distance [m]", -1.0, 1.0), Parameter("more", 0.0, 1.0)],
}
SAME = {
    "name": "other",
    "guess": lambda p, share: np.zeros((7, 2)),
    "error": lambda x, z, p: 0.0,
    "tolerance": 1.0,
    "cost_tolerance": 0.2,
    "terminal_tolerances": [1.0, 2.0],
    "plant": {"mass": 2.0},
    "error_unit": "mm",
    "cost_unit": "N²",
    "mirror": Mirror((-1,), (-1, -1), (-1,)),
    "draw": lambda rng, kept, end: (np.zeros(1), None),
}


def test_every_field_is_in_the_digest_or_left_out_on_purpose():
    """final_cost and path have the same formula: which one it is counts."""
    assert {each.name for each in fields(OptimalControlProblem)} == CHANGES.keys() | SAME.keys()
    digests = [digest(replace(cart(), **{name: value})) for name, value in CHANGES.items()]
    assert len({digest(cart()), *digests}) == 1 + len(CHANGES)


@pytest.mark.parametrize("name", SAME)
def test_names_and_what_does_not_change_optima_are_not_in_the_digest(name):
    assert digest(replace(cart(), **{name: SAME[name]})) == digest(cart())


def test_names_of_variables_and_the_box_of_parameters_are_not_in_the_digest():
    states = [Variable("a"), Variable("b", -5.0, 5.0, guess=1.0)]
    box = [Parameter("c", -3.0, 3.0)]
    assert digest(cart(states=states, parameters=box)) == digest(cart())


def test_which_symbol_and_which_row_are_in_the_digest():
    """Also where a row has nothing in it, CasADi's structural zero."""
    from casadi import SX

    rows = [
        lambda x, u, z, p: [x[1], u[0]],
        lambda x, u, z, p: [x[0], u[0]],
        lambda x, u, z, p: [x[1], p[0]],
        lambda x, u, z, p: [u[0], x[1]],
        lambda x, u, z, p: [x[1], SX(1, 1)],
        lambda x, u, z, p: [SX(1, 1), x[1]],
    ]
    assert len({digest(cart(dynamics=each)) for each in rows}) == len(rows)


def test_two_processes_give_the_same_digest():
    from scenes.problems.flexible_cart import flexible_cart

    asked = (
        "from scenes.problems.flexible_cart import flexible_cart as cart;"
        "from sofa_softctl.library.ocp.formulas import model_of;"
        "print(model_of(cart(tuned=True)).digest)"
    )
    command = [sys.executable, "-c", asked]
    other = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert other.stdout.strip() == digest(flexible_cart(tuned=True))


def test_formulas_that_are_not_asked_for_give_nothing():
    given = formulas(cart(terminal=lambda x, z, p: []))
    assert [given[name].size_out(0) for name in ("terminal", "final_cost", "path")] == 3 * [(0, 1)]
