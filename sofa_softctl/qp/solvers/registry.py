"""Registry of QP solvers: built-in ones, those of qpsolvers, and those of plugins."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from sofa_softctl._internal.late_names import look_further
from sofa_softctl.errors import PluginError, ProblemError
from sofa_softctl.qp.problem import QPSolver, SparseQPSolver
from sofa_softctl.qp.solvers.qpsolvers_adapter import from_qpsolvers

BUILT_IN = {
    "daqp": "daqp:solve_daqp",
    "proxqp": "proxqp:solve_proxqp",
}
"""Dense solvers of this folder: name, and file:function."""
BUILT_IN_SPARSE = {
    "piqp": "piqp:solve_piqp",
    "osqp": "osqp:solve_osqp",
}
"""Sparse ones."""

qp_solvers: dict[str, QPSolver] = {}
"""Registered solvers of dense QPs, to be changed with `register`."""
sparse_qp_solvers: dict[str, SparseQPSolver] = {}
"""Registered solvers of sparse QPs."""

ADAPTED = "qpsolvers:"
"""Prefix of names of the package qpsolvers."""
_plugins: dict[tuple[str, bool], str] = {}
"""Plugin that brought a solver, by its name and whether it is sparse."""


def register(
    name: str, function: QPSolver | SparseQPSolver, *, sparse: bool = False, plugin: str = ""
) -> None:
    """Register a QP solver.

    Args:
        name: What users write, as in `solve(problem, solver=name)`.
        function: Takes a QP and an earlier result or None, returns a QPResult. See `qp.QPSolver`.
        sparse: Whether it takes a SparseQP; dense and sparse solvers have names of their own.
        plugin: Name of the plugin that brings it, for messages.

    Raises:
        PluginError: The name is taken.
    """
    known = _known(sparse)
    if name in known or name.startswith(ADAPTED):
        taken_by = known.get(name, from_qpsolvers)
        raise PluginError(
            f"There is already a {_kind(sparse)} '{name}', from {taken_by.__module__}. Register "
            f"the one from {function.__module__} under another name."
        )
    known[name] = function
    _plugins.pop((name, sparse), None)
    if plugin:
        _plugins[name, sparse] = plugin


def find(name: str, *, sparse: bool = False) -> Any:
    """The solver of that name, for dense or sparse QPs.

    "qpsolvers:NAME" is any dense solver of the package qpsolvers.

    Raises:
        ProblemError: There is no such solver.
    """
    known, adapted = _known(sparse), name.startswith(ADAPTED) and not sparse
    if name not in known and not adapted:
        look_further()
    if name in known:
        return known[name]
    if adapted:
        return from_qpsolvers(name.removeprefix(ADAPTED))
    further = "" if sparse else f", and {ADAPTED}NAME for any solver of the package qpsolvers"
    raise ProblemError(
        f"There is no {_kind(sparse)} '{name}'. Known: {', '.join(sorted(known))}{further}."
    )


def describe(name: str, *, sparse: bool = False) -> str:
    """For messages: "QP solver 'mine' of plugin 'my_plugin'"."""
    plugin = _plugins.get((name, sparse))
    kind = _kind(sparse)
    return f"{kind[0].upper()}{kind[1:]} '{name}'" + (f" of plugin '{plugin}'" if plugin else "")


def is_built_in(name: str, function: Any) -> bool:
    """Whether a solver is code of this package, adapters to other packages left out."""
    home = str(getattr(function, "__module__", ""))
    return home.startswith("sofa_softctl.") and not name.startswith(ADAPTED)


def _known(sparse: bool) -> dict[str, Any]:
    return sparse_qp_solvers if sparse else qp_solvers


def _kind(sparse: bool) -> str:
    return "sparse QP solver" if sparse else "QP solver"


for _name, _home in BUILT_IN.items():
    register(_name, resolve_name(f"sofa_softctl.qp.solvers.{_home}"))
for _name, _home in BUILT_IN_SPARSE.items():
    register(_name, resolve_name(f"sofa_softctl.qp.solvers.{_home}"), sparse=True)
