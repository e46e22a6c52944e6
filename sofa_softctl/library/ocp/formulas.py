"""Formulas of an optimal control problem as CasADi functions, and the model made of them.

The Runge-Kutta step works on numbers, arrays and symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import numpy as np

from sofa_softctl.errors import LibraryError, SoftctlError
from sofa_softctl.library.ocp.model import FORMULAS, Model
from sofa_softctl.library.ocp.problem import (
    Mirror,
    OptimalControlProblem,
    Parameter,
    Symbol,
    Variable,
)
from sofa_softctl.library.ocp.tape import Tape


def casadi() -> Any:
    """Import CasADi, an optional dependency.

    Raises:
        SoftctlError: It is not installed.
    """
    try:
        import casadi as module
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise SoftctlError(
            f"Optimal control problems need CasADi: {install_command('library')}. Libraries that "
            "exist are used without it."
        ) from error
    return module


def formulas(problem: OptimalControlProblem) -> dict[str, Any]:
    """Return a CasADi function of each formula of the problem, with a column as result.

    Returns:
        dynamics, cost, path take (x, u, z, p); initial takes (z, p); terminal, final_cost and error
        take (x, z, p). Missing formulas return an empty column.

    Raises:
        LibraryError: A formula has the wrong number of rows.
        SoftctlError: CasADi is not installed.
    """
    ca = casadi()
    sizes = (problem.states, problem.inputs, problem.design, problem.parameters)
    x, u, z, p = (ca.SX.sym(name, len(s)) for name, s in zip("xuzp", sizes, strict=True))
    n = len(problem.states)
    return {
        name: _function(problem, name, arguments, rows)
        for name, arguments, rows in (
            ("dynamics", {"x": x, "u": u, "z": z, "p": p}, n),
            ("initial", {"z": z, "p": p}, n),
            ("cost", {"x": x, "u": u, "z": z, "p": p}, 1),
            ("terminal", {"x": x, "z": z, "p": p}, None),
            ("final_cost", {"x": x, "z": z, "p": p}, 1),
            ("path", {"x": x, "u": u, "z": z, "p": p}, None),
            ("error", {"x": x, "z": z, "p": p}, 1),
        )
    }


def _function(
    problem: OptimalControlProblem, name: str, arguments: dict[str, Any], rows: int | None
) -> Any:
    ca, formula = casadi(), getattr(problem, name)
    if formula is not None:
        _check_arguments(problem.name, name, formula, list(arguments))
    try:
        terms = [] if formula is None else formula(*arguments.values())
        column = ca.densify(ca.SX(ca.vertcat(*terms) if isinstance(terms, list | tuple) else terms))
    except (TypeError, RuntimeError) as error:
        raise LibraryError(
            f"'{problem.name}': {name} cannot be written with CasADi's symbols: {error}. Use "
            "operators and CasADi's functions, such as casadi.sqrt, and no float()."
        ) from error
    if column.is_empty():
        column = ca.SX(0, 1)
    row_count = rows if formula is not None else 0
    if column.shape[1] != 1 or (row_count is not None and column.shape[0] != row_count):
        expected = "a column" if row_count is None else f"a column of {row_count} rows"
        note = ", one for each state" if row_count == len(problem.states) and row_count != 1 else ""
        raise LibraryError(
            f"'{problem.name}': {name} must give {expected}{note}. Got: shape {column.shape}. "
            "Return a list, or a CasADi column."
        )
    return ca.Function(name, list(arguments.values()), [column])


def _check_arguments(problem: str, name: str, formula: Any, names: list[str]) -> None:
    try:
        parameters = signature(formula)
    except ValueError:
        return  # written in C: its arguments are not known
    try:
        parameters.bind(*names)
    except TypeError as reason:
        raise LibraryError(
            f"'{problem}': {name} must be a function of ({', '.join(names)}). Got: one of "
            f"{parameters}."
        ) from reason


def model_of(problem: OptimalControlProblem, functions: dict[str, Any] | None = None) -> Model:
    """Return the model of a problem; `functions` are its `formulas`, if they exist already.

    Raises:
        LibraryError: terminal_tolerances do not fit, or the mirror does not map the limits to
            themselves.
    """
    functions = formulas(problem) if functions is None else functions
    tapes = {name: Tape.from_function(functions[name]) for name in FORMULAS}
    rows, declared = tapes["terminal"].code.outputs, problem.terminal_tolerances
    tolerances = (
        rows * (np.inf,) if declared is None else tuple(float(tolerance) for tolerance in declared)
    )
    if len(tolerances) != rows or not all(tolerance > 0.0 for tolerance in tolerances):
        raise LibraryError(
            f"'{problem.name}': terminal_tolerances needs a positive number for each of the {rows} "
            f"final conditions. Got: {list(tolerances)}"
        )
    signs = problem.mirror
    if signs is not None:
        _check_mirror(problem, signs)
    return Model(
        name=problem.name,
        states=tuple(problem.states),
        inputs=tuple(problem.inputs),
        design=tuple(problem.design),
        parameters=tuple(problem.parameters),
        horizon=float(problem.horizon),
        intervals=problem.intervals,
        steps=problem.steps,
        tolerance=float(problem.tolerance),
        terminal_tolerances=tolerances,
        cost_tolerance=problem.cost_tolerance,
        margin=problem.margin,
        path_scale=_path_scale(problem, tapes["path"]),
        mirror=None
        if signs is None
        else (tuple(signs.parameters), tuple(signs.states), tuple(signs.inputs)),
        plant={name: float(value) for name, value in problem.plant.items()},
        tapes=tapes,
        error_unit=problem.error_unit,
        cost_unit=problem.cost_unit,
    )


def _check_mirror(problem: OptimalControlProblem, mirror: Mirror) -> None:
    pairs: tuple[tuple[Sequence[int], Sequence[Parameter | Variable]], ...] = (
        (mirror.parameters, problem.parameters),
        (mirror.states, problem.states),
        (mirror.inputs, problem.inputs),
    )
    for signs, variables in pairs:
        for sign, variable in zip(signs, variables, strict=True):
            if sign < 0 and variable.lower != -variable.upper:
                raise LibraryError(
                    f"'{problem.name}': the mirror does not fit the limits: "
                    f"'{variable.name}' changes its sign, so its limits must be each other's "
                    f"negative. Got: {variable.lower} and {variable.upper}"
                )


def _path_scale(problem: OptimalControlProblem, tape: Tape) -> tuple[float, ...]:
    """Return the largest absolute value of each inequality on the guess, at mean parameters.

    A value of 0 is replaced by 1.
    """
    p, fraction = (
        0.5 * (problem.lower + problem.upper),
        np.linspace(0.0, 1.0, problem.intervals + 1),
    )
    x = np.tile([state.guess for state in problem.states], (len(fraction), 1))
    if problem.guess is not None and tape.code.outputs:
        x = np.asarray(problem.guess(p, fraction), float).reshape(
            len(fraction), len(problem.states)
        )
    u, z = (
        [variable.guess for variable in variables] for variables in (problem.inputs, problem.design)
    )
    rows = np.array([np.abs(tape(state, u, z, p)) for state in x])
    return tuple(float(value) or 1.0 for value in rows.max(axis=0))


Slope = Callable[[list[Symbol], float], Sequence[Symbol]]
"""(states, fraction of the step from 0 to 1) -> rates of the states."""


def rk4(slope: Slope, x: Sequence[Symbol], h: float) -> list[Symbol]:
    """Return the states after a time step, by the explicit Runge-Kutta method of order four.

    Args:
        slope: Rates of the states; the fraction is for inputs that change during the step.
        x: States: numbers, symbols, or arrays of one shape, each a state of many systems.
        h: Duration of the step [time].
    """
    k1 = slope(list(x), 0.0)
    k2 = slope([a + 0.5 * h * b for a, b in zip(x, k1, strict=True)], 0.5)
    k3 = slope([a + 0.5 * h * b for a, b in zip(x, k2, strict=True)], 0.5)
    k4 = slope([a + h * b for a, b in zip(x, k3, strict=True)], 1.0)
    ends = zip(x, k1, k2, k3, k4, strict=True)
    return [a + h / 6.0 * (b + 2.0 * c + 2.0 * d + e) for a, b, c, d, e in ends]
