"""Tapes give what CasADi gives, with derivatives, and damaged ones are refused."""

import pickle

import numpy as np
import pytest

from scenes.elastic_arm import tasks
from scenes.problems import flexible_cart
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.ocp.formulas import casadi as imported
from sofa_softctl.library.ocp.formulas import formulas
from sofa_softctl.library.ocp.kernels.formulas import run, run_slopes
from sofa_softctl.library.ocp.native import NONE, OPERATIONS_MAX, native
from sofa_softctl.library.ocp.tape import Tape

casadi = imported()

PROBLEMS = tasks.PROBLEMS | flexible_cart.PROBLEMS

ONE = {  # of a number in (0, 1)
    name: getattr(casadi, name)
    for name in """sin cos sqrt exp log tan asin acos atan fabs sign sinh cosh tanh asinh atanh
    floor ceil log1p expm1""".split()
} | {
    "acosh": lambda a: casadi.acosh(a + 1.5),
    "inverse": lambda a: 1.0 / a,
    "square": lambda a: a * a,
    "twice": lambda a: 2.0 * a,
    "power": lambda a: a**2.5,
    "not": lambda a: casadi.logic_not(a),
    "minus": lambda a: -a,
}
TWO = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "product": lambda a, b: a * b,
    "quotient": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "atan2": casadi.atan2,
    "least": casadi.fmin,
    "largest": casadi.fmax,
    "copysign": casadi.copysign,
    "hypot": casadi.hypot,
    "if_else": lambda a, b: casadi.if_else(a < b, a * a, b),
    "comparisons": lambda a, b: (a <= b) + 2 * (a == b) + 4 * (a != b),
    "logic": lambda a, b: casadi.logic_and(a, b) + 2 * casadi.logic_or(a, b),
}


def compared(function, given):
    """Tape and CasADi at a point: results and derivatives."""
    tape, parts = (
        Tape.from_function(function),
        np.split(given, np.cumsum(function_sizes(function))[:-1]),
    )
    assert tape(given) == pytest.approx(np.array(function(*parts)).ravel(), rel=1e-14, abs=1e-15)
    whole = casadi.vertcat(*(casadi.SX.sym("x", size) for size in function_sizes(function)))
    parts = casadi.vertsplit(whole, [0, *np.cumsum(function_sizes(function)).tolist()])
    slope = casadi.Function("s", [whole], [casadi.jacobian(function(*parts), whole)])
    slopes = tape.slopes(given, 0, len(given))
    assert slopes == pytest.approx(np.array(slope(given)), rel=1e-12, abs=1e-13)
    compared_with_machine_code(tape, given)


def compared_with_machine_code(tape, given):
    """The same results, and derivatives along directions."""
    code, directions = (
        tape.fast_code(len(given), 0, 0),
        np.random.default_rng(0).normal(size=(3, 2)),
    )
    along = np.resize(directions, (len(given), 2))
    (fast, fast_along), (out, out_along) = (
        (np.zeros(code.outputs), np.zeros((code.outputs, 2))) for _ in range(2)
    )
    memory, turns = np.empty(code.memory), np.empty((code.memory, 2))
    run(code, memory, given, fast)
    np.testing.assert_array_equal(fast, tape(given))
    run_slopes(code, memory, turns, given, along, fast, fast_along)
    run_slopes(tape.sort_by_dependence(len(given), 0), memory, turns, given, along, out, out_along)
    np.testing.assert_array_equal(fast, out)
    assert fast_along == pytest.approx(out_along, rel=1e-12, abs=1e-13)


def function_sizes(function):
    return [function.nnz_in(k) for k in range(function.n_in())]


@pytest.mark.parametrize("name", ONE)
def test_operations_of_one_number_are_those_of_casadi(name):
    x = casadi.SX.sym("x")
    function = casadi.Function("f", [x], [casadi.densify(casadi.SX(ONE[name](x)))])
    for value in (0.31, 0.87):
        compared(function, np.array([value]))


@pytest.mark.parametrize("name", TWO)
def test_operations_of_two_numbers_are_those_of_casadi(name):
    x = casadi.SX.sym("x", 2)
    function = casadi.Function("f", [x], [casadi.densify(casadi.SX(TWO[name](x[0], x[1])))])
    for values in ([0.31, 0.87], [1.9, 0.4]):
        compared(function, np.array(values))


@pytest.mark.parametrize("name", ["elastic_arm", "elastic_arm_variable", "flexible_cart"])
def test_formulas_of_the_problems_are_those_of_casadi(name):
    rng = np.random.default_rng(0)
    for function in formulas(PROBLEMS[name]()).values():
        if function.nnz_out(0):
            compared(function, rng.uniform(0.1, 0.6, sum(function_sizes(function))))


def test_results_depend_on_what_they_are_made_of():
    x = casadi.SX.sym("x", 3)
    tape = Tape.from_function(
        casadi.Function("f", [x], [casadi.vertcat(x[0] * x[1], casadi.sin(x[2]), 1.0)])
    )
    assert tape.depends(0, 2).tolist() == [True, False, False]
    assert tape.depends(2, 3).tolist() == [False, True, False]


@pytest.mark.parametrize("name", ["elastic_arm", "flexible_cart"])
def test_a_sorted_tape_can_be_evaluated_from_where_inputs_or_states_come_in(name):
    problem, rng = PROBLEMS[name](), np.random.default_rng(0)
    n, m = len(problem.states), len(problem.inputs)
    for function in (formulas(problem)[key] for key in ("dynamics", "path")):
        tape = Tape.from_function(function)
        code = tape.sort_by_dependence(n, m)
        assert not code.outputs or 0 < code.by_inputs <= code.by_states < len(code.rows)
        given, out = rng.uniform(0.1, 0.6, tape.code.inputs), np.zeros(tape.code.outputs)
        memory = np.full(code.memory, np.nan)
        for first, changed in ((0, 0), (code.by_inputs, n + m), (code.by_states, n)):
            given[:changed] += 0.1
            run(code, memory, given, out, first)
            np.testing.assert_array_equal(out, tape(given))
        fast, other = tape.fast_code(n, m, 0), np.full(code.memory, np.nan)
        assert bool(fast.native) == bool(len(code.rows))
        for first, changed in ((0, 0), (code.by_inputs, n + m), (code.by_states, n)):
            given[:changed] -= 0.07
            run(fast, other, given, out, first)
            np.testing.assert_array_equal(out, tape(given))


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_most_operations_are_machine_code(name):
    """Those of the problems are; the others are evaluated one by one."""
    x, of = casadi.SX.sym("x", 2), ONE.get(name) or TWO[name]
    given = (x[0],) if name in ONE else (x[0], x[1])
    code = Tape.from_function(
        casadi.Function("f", [x], [casadi.densify(casadi.SX(of(*given)))])
    ).sort_by_dependence(2, 0)
    one_by_one = """asin acos sign sinh cosh asinh atanh acosh floor ceil log1p expm1 copysign
    hypot""".split()
    assert (native(code, 2) is NONE) == (name in one_by_one)


def test_long_formulas_are_machine_code_up_to_a_length():
    """Their derivatives, which are longer, up to a smaller one."""

    def code(length):
        x = casadi.SX.sym("x", 3)
        y = x[0]
        for _ in range(length):
            y = casadi.sin(y) * x[1]
        return Tape.from_function(casadi.Function("f", [x], [y])).sort_by_dependence(1, 1)

    few, some, many = (native(code(length), 3) for length in (100, 1000, OPERATIONS_MAX))
    assert few.values and few.slopes
    assert some.values and not some.slopes
    assert many is NONE


def test_no_address_leaves_the_process():
    """A pickled tape is compiled anew where it arrives."""
    tape = Tape.from_function(formulas(flexible_cart.flexible_cart())["dynamics"])
    assert tape.fast_code(4, 1, 0).native
    state = pickle.loads(pickle.dumps(tape)).__dict__  # noqa: S301
    assert state["_fast"] == {} and not state["code"].native


def test_a_tape_is_read_as_it_was_written_and_damage_is_found():
    """Of all single bits: the same tape, or an error that says so."""
    x = casadi.SX.sym("x", 2)
    tape = Tape.from_function(casadi.Function("f", [x], [casadi.sin(x[0]) * 0.3 + x[1]]))
    data = tape.to_bytes()
    assert Tape.from_bytes(data).digest == tape.digest
    refused = 0
    for position in np.random.default_rng(1).integers(0, 8 * len(data), 200):
        spoilt = bytearray(data)
        spoilt[position // 8] ^= 1 << position % 8
        try:
            assert Tape.from_bytes(bytes(spoilt)).digest == tape.digest
        except LibraryError:
            refused += 1
    assert refused > 20


def test_an_operation_without_a_kernel_is_refused_by_name():
    x = casadi.SX.sym("x")
    with pytest.raises(LibraryError, match="'f' has the operation erf, which libraries cannot"):
        Tape.from_function(casadi.Function("f", [x], [casadi.erf(x)]))


def test_a_formula_with_too_few_numbers_is_an_error():
    x = casadi.SX.sym("x", 2)
    with pytest.raises(ValueError, match="takes 2 numbers, got 1"):
        Tape.from_function(casadi.Function("f", [x], [x]))([0.0])


@pytest.mark.parametrize(
    ("formula", "degree"),
    [
        (lambda a, b, p: 3.0 * a - b / p + casadi.sin(p), 1),
        (lambda a, b, p: (a + p) * (b - 1.0) + a**2, 2),
        (lambda a, b, p: 2.0 * (a * p) ** 2 * b, 3),
        (lambda a, b, p: casadi.exp(p) / (1.0 + p**2), 0),
        (lambda a, b, p: casadi.cos(a), np.inf),
        (lambda a, b, p: p / b, np.inf),
        (lambda a, b, p: casadi.fmax(a, p), np.inf),
    ],
)
def test_the_degree_is_that_of_a_polynomial(formula, degree):
    """In a and b; p may occur in any way."""
    a, b, p = (casadi.SX.sym(name) for name in "abp")
    tape = Tape.from_function(casadi.Function("formula", [a, b, p], [formula(a, b, p)]))
    assert tape.degree(0, 2).tolist() == [degree]
