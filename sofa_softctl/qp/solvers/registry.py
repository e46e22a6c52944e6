"""The QP solvers by name: built-in ones, the ones of qpsolvers, and those that plugins register."""

from __future__ import annotations

from pkgutil import resolve_name

from sofa_softctl._internal.late_names import look_further
from sofa_softctl.errors import PluginError, ProblemError
from sofa_softctl.qp.problem import QPSolver
from sofa_softctl.qp.solvers.qpsolvers_adapter import from_qpsolvers

BUILT_IN = {
    "daqp": "daqp:solve_daqp",
    "proxqp": "proxqp:solve_proxqp",
}
"""The solvers of this folder: name, and file:function."""

qp_solvers: dict[str, QPSolver] = {}
"""The registered solvers. Read it freely; write it with `register`."""

_ADAPTED = "qpsolvers:"


def register(name: str, function: QPSolver) -> None:
    """Make a QP solver available under a name.

    Args:
        name: What users write, as in `solve(problem, solver=name)`.
        function: Takes a QP and an earlier result or None, returns a QPResult. See `qp.QPSolver`.
    """
    if name in qp_solvers or name.startswith(_ADAPTED):
        taken_by = qp_solvers.get(name, from_qpsolvers)
        raise PluginError(
            f"There is already a QP solver '{name}', from {taken_by.__module__}. Register the one "
            f"from {function.__module__} under another name."
        )
    qp_solvers[name] = function


def find(name: str) -> QPSolver:
    """The solver of that name. "qpsolvers:NAME" is any solver that qpsolvers can reach."""
    if name not in qp_solvers and not name.startswith(_ADAPTED):
        look_further()
    if name in qp_solvers:
        return qp_solvers[name]
    if name.startswith(_ADAPTED):
        return from_qpsolvers(name.removeprefix(_ADAPTED))
    raise ProblemError(
        f"There is no QP solver '{name}'. Known: {', '.join(sorted(qp_solvers))}, and "
        f"{_ADAPTED}NAME for any solver of the package qpsolvers."
    )


for _name, _home in BUILT_IN.items():
    register(_name, resolve_name(f"sofa_softctl.qp.solvers.{_home}"))
