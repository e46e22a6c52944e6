"""Formulas of an optimal control problem as CasADi functions, their checks and digest."""

from __future__ import annotations

import hashlib
from typing import Any

from sofa_softctl.errors import SoftctlError
from sofa_softctl.library.ocp.problem import OptimalControlProblem


def casadi() -> Any:
    """Import CasADi, an optional dependency.

    Raises:
        SoftctlError: It is not installed.
    """
    try:
        import casadi as module
    except ImportError as error:
        raise SoftctlError(
            "Optimal control problems need CasADi: pip install 'sofa-softctl[library]'. Libraries "
            "that exist are used without it."
        ) from error
    return module


def formulas(problem: OptimalControlProblem) -> dict[str, Any]:
    """CasADi function of each formula of the problem, with a column as result.

    Returns:
        dynamics, cost, path: of (x, u, z, p); initial: of (z, p); terminal, final_cost: of
        (x, z, p). Absent ones give an empty column.

    Raises:
        ValueError: One has the wrong number of rows.
        SoftctlError: CasADi is not installed.
    """
    ca = casadi()
    sizes = (problem.states, problem.inputs, problem.design, problem.parameters)
    x, u, z, p = (ca.SX.sym(name, len(s)) for name, s in zip("xuzp", sizes, strict=True))
    n = len(problem.states)
    return {
        name: _function(problem, name, given, rows)
        for name, given, rows in (
            ("dynamics", [x, u, z, p], n),
            ("initial", [z, p], n),
            ("cost", [x, u, z, p], 1),
            ("terminal", [x, z, p], None),
            ("final_cost", [x, z, p], 1),
            ("path", [x, u, z, p], None),
        )
    }


def _function(problem: OptimalControlProblem, name: str, given: list[Any], rows: int | None) -> Any:
    ca, formula = casadi(), getattr(problem, name)
    terms = [] if formula is None else formula(*given)
    column = ca.densify(ca.SX(ca.vertcat(*terms) if isinstance(terms, list | tuple) else terms))
    if column.is_empty():
        column = ca.SX(0, 1)
    asked = rows if formula is not None else 0
    if column.shape[1] != 1 or (asked is not None and column.shape[0] != asked):
        wanted = "a column" if asked is None else f"a column of {asked} rows"
        why = ", one for each state" if asked == len(problem.states) and asked != 1 else ""
        raise ValueError(
            f"'{problem.name}': {name} must give {wanted}{why}. Got: shape {column.shape}. "
            "Return a list, or a CasADi column."
        )
    return ca.Function(name, given, [column])


def digest(problem: OptimalControlProblem) -> str:
    """Digest of the problem: formulas, limits of variables, sizes and times.

    Without names, guesses and ranges of libraries, which do not change optima. It is the same in
    every process and independent of memory addresses.
    """
    parts = [f"{name} {_digest_of(function)}" for name, function in formulas(problem).items()]
    for name in ("states", "inputs", "design"):
        limits = [(float(v.lower).hex(), float(v.upper).hex()) for v in getattr(problem, name)]
        parts.append(f"{name} {limits}")
    parts.append(f"parameters {len(problem.parameters)}")
    parts.append(f"{float(problem.horizon).hex()} {problem.intervals} {problem.steps} RK4")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _digest_of(function: Any) -> str:
    """Digest of a function of scalar symbols.

    Each operation is hashed with the digests of its arguments (a Merkle tree), so common terms and
    the numbering of intermediate results do not matter. CasADi's text is unsuitable: it rounds
    constants to six digits.
    """
    ca = casadi()
    names = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}
    work: dict[int, str] = {}
    out = []
    for k in range(function.n_instructions()):
        operation, to = function.instruction_id(k), function.instruction_output(k)
        takes = function.instruction_input(k)
        if operation == ca.OP_CONST:
            work[to[0]] = float(function.instruction_constant(k)).hex()
        elif operation == ca.OP_INPUT:
            work[to[0]] = f"input {takes}"
        elif operation == ca.OP_OUTPUT:
            out.append(f"{to} {work[takes[0]]}")
        else:
            term = f"{names[operation]} {[work[i] for i in takes]}"
            work[to[0]] = hashlib.sha256(term.encode()).hexdigest()
    return hashlib.sha256(f"{function.size_out(0)} {out}".encode()).hexdigest()
