"""Speed of a scene in the embedded runtime, and in SOFA in turn, so that both feel one machine.

Python's share is measured in a few further steps in which each call of a compiled kernel from
Python is timed: it is the part of their wall time outside of kernels. NumPy, SciPy and the QP
solvers of other packages count as outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.base.kernels.cached import CachedKernel
from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.bench.backend_process import BackendProcess, peak_memory, time_steps
from sofa_softctl.errors import SoftctlError
from sofa_softctl.runtime.behavior.solvers import DirectLinearSolver
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.scene.session.session import Session

WARM_UP_STEPS = 20
"""Largest number of steps that do not count: compilation, caches."""
TURN_STEPS = 10
"""Largest number of steps of one backend before the turn of the other."""
TURN_SECONDS = 1.0
"""Time after which the embedded runtime's turn is not made longer [s]."""
STEPS_MIN = 5
"""Smallest number of steps that count, if they take longer than the time of a case."""
SHARE_STEPS, SHARE_SECONDS = 40, 2.0
"""Steps in which kernels are timed, and the time after which none starts [s]."""
GEMM_SIZE = 1000
"""Rows of the matrices by which the machine's rate is measured."""
REPETITIONS = 3
"""Factorisations and products of which the fastest counts."""


@dataclass(frozen=True)
class Case:
    """A scene to measure."""

    name: str
    """Name in tables, by which results are compared."""
    scene: Path
    """Scene file."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values of createScene's parameters."""
    series: str = "scenes"
    """Series of cases that differ in `size` only: 'degrees of freedom', 'rows', 'contacts'."""
    size: int = 0
    """Position in the series."""


@dataclass(frozen=True)
class Timing:
    """Times, by the clock of the run, and memory of one backend."""

    backend: str
    """Description of the backend."""
    steps: int
    """Number of measured steps."""
    ms_median: float
    """Median time of a step [ms]."""
    ms_p99: float
    """99th percentile of the time of a step [ms]."""
    ms_max: float
    """Largest time of a step [ms]."""
    phases: dict[str, float]
    """Mean wall time of each phase [ms]."""
    memory_mb: float
    """Growth of the process's largest memory by the scene and its steps [MB]."""


@dataclass(frozen=True)
class Factorization:
    """Rate of the factorisation of the system matrix, beside the machine's."""

    numbers: int
    """Numbers in the factor."""
    flops: float
    """Additions and multiplications of a factorisation."""
    gflops: float
    """Rate of the factorisation [1e9 / s]."""
    gemm_gflops: float
    """Rate of a product of two matrices with the same number of threads [1e9 / s]."""

    @property
    def fraction(self) -> float:
        """Rate of the factorisation divided by the product's [-]."""
        return self.gflops / self.gemm_gflops


@dataclass(frozen=True)
class CaseResult:
    """Result of one case."""

    name: str
    """Name of the case."""
    series: str
    """Series of the case."""
    size: int
    """Position in the series."""
    dofs: int = 0
    """Degrees of freedom of the independent states."""
    rows: int = 0
    """Constraint rows of the last step."""
    embedded: Timing | None = None
    """The embedded runtime, or None if the scene does not run."""
    sofa: Timing | None = None
    """SOFA, or None without it."""
    python_share: float | None = None
    """Part of a step's wall time outside of compiled kernels [-]."""
    factorization: Factorization | None = None
    """The largest factorisation, or None without a direct solver."""
    note: str = ""
    """Reason for what is missing."""

    @property
    def ratio(self) -> float | None:
        """Median time of a step divided by SOFA's [-]."""
        if self.embedded is None or self.sofa is None:
            return None
        return self.embedded.ms_median / self.sofa.ms_median

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CaseResult:
        """Return the result that `to_dict` wrote."""
        parts = {"embedded": Timing, "sofa": Timing, "factorization": Factorization}
        known = {name: kind(**data[name]) for name, kind in parts.items() if data[name] is not None}
        return cls(**{**data, **known})


def measure(
    case: Case,
    *,
    steps: int,
    seconds: float,
    with_sofa: bool = False,
    cpu: bool = False,
    prepare: Callable[[], None] | None = None,
) -> CaseResult:
    """Measure a case; errors of the scene become its `note`.

    Args:
        case: The case.
        steps: Largest number of measured steps.
        seconds: Time after which no further turn starts, once `STEPS_MIN` steps are measured [s].
        with_sofa: Run it in SOFA, too.
        cpu: Count processor time of all threads instead of wall time; phases stay wall times.
        prepare: Called in each process when its backend is chosen; it must be picklable.
    """
    speed = CaseResult(case.name, case.series, case.size)
    with ExitStack() as stack:
        sides, notes = {}, []
        for backend in ("embedded", "sofa") if with_sofa else ("embedded",):
            try:
                side = BackendProcess(case.scene, backend, case.parameters, prepare)
                sides[backend] = stack.enter_context(side)
            except SoftctlError as error:
                notes.append(str(error).splitlines()[0])
        if "embedded" not in sides:
            return replace(speed, note=" ".join(notes))
        about = sides["embedded"].about
        try:
            timings = _time_in_turns(list(sides.values()), steps, seconds, cpu)
            return replace(
                speed,
                dofs=about["dofs"],
                rows=sides["embedded"].call(row_count),
                embedded=timings[0],
                sofa=timings[1] if len(timings) > 1 else None,
                python_share=sides["embedded"].call(python_share),
                factorization=sides["embedded"].call(factorization),
                note=" ".join(notes),
            )
        except SoftctlError as error:
            return replace(speed, dofs=about["dofs"], note=str(error).splitlines()[0])


def _time_in_turns(
    sides: Sequence[BackendProcess], steps: int, seconds: float, cpu: bool
) -> list[Timing]:
    """Return the times of both sides, whose steps alternate in turns."""
    first = [side.call(_time_steps, 1, False)[0] for side in sides]
    turn = max(1, min(TURN_STEPS, int(TURN_SECONDS / first[0])))
    start = perf_counter()
    for _ in range(WARM_UP_STEPS // TURN_STEPS):
        for side in sides:
            side.call(_time_steps, turn, False)
        if perf_counter() - start > 0.25 * seconds:
            break
    before = [side.phases() for side in sides]
    times: list[list[float]] = [[] for _ in sides]
    start = perf_counter()
    while len(times[0]) < steps:
        count = min(turn, steps - len(times[0]))
        for side, measured in zip(sides, times, strict=True):
            measured += side.call(_time_steps, count, cpu)
        if perf_counter() - start > seconds and len(times[0]) >= STEPS_MIN:
            break
    return [_timing(*parts) for parts in zip(sides, times, before, strict=True)]


def _time_steps(session: Session, count: int, cpu: bool) -> list[float]:
    return list(time_steps(session, count, cpu))


def _timing(side: BackendProcess, times: list[float], before: dict[str, float]) -> Timing:
    ms = 1e3 * np.array(times)
    phases = {
        name: 1e3 * (value - before.get(name, 0.0)) / len(ms)
        for name, value in side.phases().items()
    }
    return Timing(
        backend=side.about["backend"],
        steps=len(ms),
        ms_median=float(np.median(ms)),
        ms_p99=float(np.percentile(ms, 99)),
        ms_max=float(ms.max()),
        phases=phases,
        memory_mb=side.call(_peak_memory) - side.about["memory"],
    )


def _peak_memory(session: Session) -> float:
    return peak_memory()


def row_count(session: Session) -> int:
    """Return the number of constraint rows of the last step; 0 without a constraint solver."""
    try:
        return ComplianceSystem(session.root).size
    except SoftctlError:
        return 0


def python_share(session: Session) -> float:
    """Return the part of a step's wall time outside of compiled kernels [-].

    The median of the next `SHARE_STEPS` steps, or of those that start within `SHARE_SECONDS`.
    """
    shares: list[float] = []
    start = perf_counter()
    with kernel_clock() as seconds:
        while len(shares) < SHARE_STEPS and perf_counter() - start < SHARE_SECONDS:
            before = seconds()
            (total,) = time_steps(session, 1)
            shares.append(1.0 - (seconds() - before) / total)
    return float(np.median(shares))


@contextmanager
def kernel_clock() -> Iterator[Callable[[], float]]:
    """Time the calls of kernels from Python inside the block; yield a function that returns [s].

    Calls of several threads at the same time count once. A timed call takes about 0.4 us longer.
    """
    total, running, begin = 0.0, 0, 0.0

    def call(kernel: CachedKernel, *arguments: Any) -> Any:
        nonlocal total, running, begin
        if not running:
            begin = perf_counter()
        running += 1
        try:
            return super(CachedKernel, kernel).__call__(*arguments)
        finally:
            running -= 1
            if not running:
                total += perf_counter() - begin

    kernels: Any = CachedKernel
    kernels.__call__ = call
    try:
        yield lambda: total
    finally:
        del kernels.__call__


def factorization(session: Session) -> Factorization | None:
    """Return the rate of the largest factorisation; None without a direct solver, or in SOFA."""
    solvers = [
        component
        for node in session.nodes()
        for component in node.objects
        if isinstance(component, DirectLinearSolver) and hasattr(component, "_factor")
    ]
    if not solvers:
        return None
    solver: Any = max(solvers, key=lambda solver: solver._factor.flops)
    factor, values = solver._factor, solver.matrix.values
    a = np.random.default_rng(0).normal(size=(GEMM_SIZE, GEMM_SIZE))
    product = np.empty_like(a)
    seconds: tuple[list[float], list[float]] = [], []
    for _ in range(REPETITIONS):
        with one_blas_thread():  # as in a step: the factorisation has its own threads
            seconds[0].append(_seconds_of(lambda: factor.factorize(values)))
        seconds[1].append(_seconds_of(lambda: np.matmul(a, a, out=product)))
    gemm = 2e-9 * GEMM_SIZE**3 / min(seconds[1])
    return Factorization(factor.nnz, factor.flops, 1e-9 * factor.flops / min(seconds[0]), gemm)


def _seconds_of(function: Callable[[], object]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start
