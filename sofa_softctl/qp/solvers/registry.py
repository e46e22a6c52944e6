"""QP solvers by name: built in, of the package qpsolvers, and of plugins."""

from __future__ import annotations

from typing import Any

from sofa_softctl.base.registry import Registry
from sofa_softctl.errors import ProblemError
from sofa_softctl.qp.problem import QPSolver, SparseQPSolver

ADAPTED = "qpsolvers:"
"""Prefix of names of the package qpsolvers."""

DENSE: Registry[QPSolver] = Registry(
    "QP solver",
    {
        "active-set": "qp.active_set:solve_active_set",
        "daqp": "qp.solvers.daqp:solve_daqp",
        "proxqp": "qp.solvers.proxqp:solve_proxqp",
    },
    error=ProblemError,
    reserved=(ADAPTED,),
    unknown="There is no QP solver '{name}'.{hint} Known: {known}, and "
    f"{ADAPTED}NAME for any solver of the package qpsolvers.",
)
"""Solvers of dense QPs."""
SPARSE: Registry[SparseQPSolver] = Registry(
    "sparse QP solver",
    {
        "piqp": "qp.solvers.piqp:solve_piqp",
        "osqp": "qp.solvers.osqp:solve_osqp",
    },
    error=ProblemError,
    reserved=(ADAPTED,),
)
"""Solvers of sparse QPs."""


def register(name: str, function: QPSolver | SparseQPSolver, *, sparse: bool = False) -> None:
    """Register a QP solver.

    Args:
        name: Name that users write, as in `solve(problem, solver=name)`.
        function: Takes a QP and an earlier result or None, returns a QPResult. See `qp.QPSolver`.
        sparse: Register a solver of SparseQPs; dense and sparse solvers may share a name.

    Raises:
        PluginError: The name is taken.
    """
    _registry(sparse).add(name, function)


def find(name: str, *, sparse: bool = False) -> Any:
    """Return the solver of that name, for dense or sparse QPs.

    "qpsolvers:NAME" is any dense solver of the package qpsolvers.

    Raises:
        ProblemError: The name is unknown.
    """
    if name.startswith(ADAPTED) and not sparse:
        from sofa_softctl.qp.solvers.qpsolvers_adapter import from_qpsolvers

        return from_qpsolvers(name.removeprefix(ADAPTED))
    return _registry(sparse).find(name)


def describe(name: str, *, sparse: bool = False) -> str:
    """Return the solver's name for messages: "QP solver 'mine' of plugin 'my_plugin'"."""
    registry = _registry(sparse)
    kind = registry.kind
    return f"{kind[0].upper()}{kind[1:]} '{name}'{registry.origin(name)}"


def is_built_in(name: str, function: Any) -> bool:
    """Return True if a solver is code of this package and not an adapter to another one."""
    home = str(getattr(function, "__module__", ""))
    return home.startswith("sofa_softctl.") and not name.startswith(ADAPTED)


def _registry(sparse: bool) -> Registry[Any]:
    return SPARSE if sparse else DENSE
