"""Files of benchmark results, and the change from one to another."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.base.versions import blas_kernels, blas_libraries, one_blas_thread
from sofa_softctl.bench.scaling import Slope, slopes
from sofa_softctl.bench.speed import CaseResult
from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.session.provenance import environment

FORMAT = "softctl bench 1"
"""Name and version of the file format."""
GEMM_SIZE = 2000
"""Rows of the matrices by which the machine's rate is measured."""


@dataclass(frozen=True)
class Results:
    """Speeds of some cases in one run, and the machine that they were measured on."""

    machine: dict[str, Any]
    """Processor, cores, BLAS and its rate of products, operating system, versions."""
    speeds: list[CaseResult]
    """The cases."""

    @property
    def slopes(self) -> list[Slope]:
        """Exponents of the series."""
        return slopes(self.speeds)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "format": FORMAT,
            "machine": self.machine,
            "slopes": [asdict(slope) for slope in self.slopes],
            "cases": [speed.to_dict() for speed in self.speeds],
        }


def describe_machine(cpu: bool = False) -> dict[str, Any]:
    """Return the machine for JSON; takes about a second, in which products are timed.

    Args:
        cpu: Processor time is counted, not wall time.
    """
    libraries = [f"{library.internal_api} {library.version}" for library in blas_libraries()]
    with one_blas_thread():
        rate_of_one_core = _gemm_rate()
    return {
        **environment(),
        "clock": "processor" if cpu else "wall",
        "cores": len(os.sched_getaffinity(0)),
        "blas": ", ".join(sorted(set(libraries))),
        "blas_kernels": blas_kernels(),
        "blas_threads": max((lib.get_num_threads() for lib in blas_libraries()), default=1),
        "gemm_gflops_one_core": rate_of_one_core,
        "gemm_gflops": _gemm_rate(),
    }


def _gemm_rate() -> float:
    """Return the rate of a matrix product [1e9 / s], the best of three."""
    a = np.random.default_rng(0).normal(size=(GEMM_SIZE, GEMM_SIZE))
    seconds = []
    for _ in range(3):
        start = perf_counter()
        a @ a
        seconds.append(perf_counter() - start)
    return 2e-9 * GEMM_SIZE**3 / min(seconds)


def save_results(path: Path, results: Results) -> None:
    """Write results as JSON.

    Raises:
        SoftctlError: The file cannot be written.
    """
    with replace_atomically(path) as name:
        name.write_text(json.dumps(results.to_dict(), indent=1) + "\n")


def read_results(path: Path) -> Results:
    """Return the results of a file.

    Raises:
        SoftctlError: The file is missing, or it is not one of `save_results`.
    """
    try:
        data = json.loads(path.read_text())
    except OSError as error:
        raise SoftctlError(f"Cannot read '{path}': {error.strerror}.") from error
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SoftctlError(
            f"'{path}' does not hold results of a benchmark: expected a JSON file that "
            "'softctl bench scaling' or 'softctl bench scenes' wrote with --out."
        )
    try:
        results = Results(data["machine"], [CaseResult.from_dict(case) for case in data["cases"]])
        _check_results(results)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SoftctlError(
            f"'{path}' was written by another version of softctl bench, or is damaged ({error}): "
            "measure again."
        ) from error
    return results


def _check_results(results: Results) -> None:
    """Raise a ValueError for numbers that are none, and for two cases of one name."""
    if not isinstance(results.machine, dict):
        raise ValueError(f"the machine is {results.machine!r}")
    names = [speed.name for speed in results.speeds]
    for speed in results.speeds:
        if names.count(speed.name) > 1:
            raise ValueError(f"two cases are called '{speed.name}'")
        for timing in (speed.embedded, speed.sofa):
            numbers = [] if timing is None else [timing.ms_median, timing.ms_p99]
            if not all(isinstance(ms, float | int) and 0.0 < ms < math.inf for ms in numbers):
                raise ValueError(f"'{speed.name}' has the times {numbers} ms")
            numbers = [] if timing is None else [timing.memory_mb, speed.python_share or 0.0]
            if not all(isinstance(number, float | int) for number in numbers):
                raise ValueError(f"'{speed.name}' has {numbers} for memory and Python's share")


@dataclass(frozen=True)
class Change:
    """A case in two files."""

    name: str
    """Name of the case."""
    old: CaseResult
    """Result of the case in the earlier file."""
    new: CaseResult
    """Result of the case in the later file."""

    @property
    def ratio(self) -> float:
        """New median time of a step divided by the old one [-]."""
        assert self.old.embedded is not None and self.new.embedded is not None
        return self.new.embedded.ms_median / self.old.embedded.ms_median

    @property
    def ratio_beside_sofa(self) -> float | None:
        """The same by the ratios to SOFA of each run, which cancel the machine's mood [-]."""
        if self.old.ratio is None or self.new.ratio is None:
            return None
        return self.new.ratio / self.old.ratio


def changes(old: Results, new: Results) -> list[Change]:
    """Return the cases that were measured in both.

    Raises:
        SoftctlError: There is none.
    """
    earlier = {speed.name: speed for speed in old.speeds if speed.embedded is not None}
    pairs = [
        Change(speed.name, earlier[speed.name], speed)
        for speed in new.speeds
        if speed.name in earlier and speed.embedded is not None
    ]
    if not pairs:
        names = [", ".join(speed.name for speed in r.speeds) or "no case" for r in (old, new)]
        raise SoftctlError(
            f"The files have no case in common: the first has {names[0]}, the second {names[1]}."
        )
    return pairs


def lost_cases(old: Results, new: Results) -> list[str]:
    """Return a sentence for each case of the earlier file that the later one has no time of."""
    later = {speed.name: speed for speed in new.speeds}
    lines = []
    for speed in old.speeds:
        case = later.get(speed.name)
        if speed.embedded is not None and (case is None or case.embedded is None):
            reason = "is not in the second file" if case is None else f"failed: {case.note}"
            lines.append(f"{speed.name} {reason}")
    return lines


def new_cases(old: Results, new: Results) -> list[str]:
    """Return the names of cases of which only the later file has a time."""
    earlier = {speed.name for speed in old.speeds if speed.embedded is not None}
    return [s.name for s in new.speeds if s.embedded is not None and s.name not in earlier]


def machine_differences(old: Results, new: Results) -> list[str]:
    """Return a line for each property of the machine or its software that differs.

    Rates of products count if they differ by more than a fifth: another load of one machine.
    """
    lines = []
    for name in dict.fromkeys([*old.machine, *new.machine]):
        first, second = old.machine.get(name), new.machine.get(name)
        if name == "versions":
            first, second = first or {}, second or {}
            for package in dict.fromkeys([*first, *second]):
                if first.get(package) != second.get(package):
                    lines.append(f"{package}: {first.get(package)}, now {second.get(package)}")
        elif isinstance(first, float) and isinstance(second, float):
            if not 0.8 < second / first < 1.25:
                lines.append(f"{name}: {first:.1f}, now {second:.1f}")
        elif first != second:
            lines.append(f"{name}: {first}, now {second}")
    return lines
