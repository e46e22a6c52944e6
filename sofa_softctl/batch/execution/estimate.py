"""Estimate of a study's cost, from a few of its runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from sofa_softctl.batch.execution.check import check_study
from sofa_softctl.batch.execution.driver import missing_runs, row_of
from sofa_softctl.batch.execution.run_one import Task, has_failed, is_filmed, run_one
from sofa_softctl.batch.study.study import Study

TRIAL_COUNT = 4
"""Number of runs, in addition to a first one, which compiles."""
ELSEWHERE = "none"
"""Token that no folder has, so that recordings come with their rows."""
ROW_BYTES = 120.0
"""Size of a row in Parquet files of many rows, with about ten parameters and measures [bytes]."""


@dataclass(frozen=True)
class Estimate:
    """Cost of the runs that have no row yet."""

    runs: int
    """Runs of the study."""
    missing: int
    """Number of runs without a row."""
    seconds: float
    """Mean computing time of the trial runs [s]."""
    total: float
    """Time of all missing runs, with all workers busy, and then of the movies [s]."""
    disk: float
    """Disk space of the missing runs and movies [bytes]."""
    movies: int
    """Number of movies of failures that are expected."""
    movie_seconds: float
    """Time of a movie, which repeats its run [s]."""
    failed: int
    """Number of trial runs that failed."""
    tried: int
    """Number of trial runs."""


def estimate(
    study: Study,
    status_by_run: Mapping[str, str],
    executor: Executor,
    *,
    check: bool = True,
    film: Callable[[Task, Path], object] | None = None,
    movies_max: int = 0,
) -> Estimate:
    """Check a study, and try a few of the missing runs, evenly among them; no row is written.

    If movies are made of failures, one of the tried failures is filmed.

    Args:
        study: The study.
        status_by_run: Status of each run that has a row.
        executor: Executes `executor.count` runs simultaneously, by default one.
        check: Whether to check the study first.
        film: Makes the movie of a failed run, or None for no movies.
        movies_max: Largest number of movies.

    Raises:
        StudyError: No run can succeed, see `check_study`.
    """
    runs = sum(1 for _ in study.runs())
    missing = sum(1 for _ in missing_runs(study, status_by_run))
    if missing and check:
        check_study(study, executor)
    indices = {k * missing // TRIAL_COUNT for k in range(TRIAL_COUNT)}
    picked = [
        run for index, run in enumerate(missing_runs(study, status_by_run)) if index in indices
    ]
    seconds, space, wrong = [], [], 0
    movie_seconds = movie_bytes = 0.0
    filmed: list[bool] = []
    with tempfile.TemporaryDirectory() as name:
        for number, run in enumerate(picked[:1] + picked):
            record = Path(name) / f"{run.id}.mcap"
            record_path = "" if study.record == "none" else str(record)
            task = Task(study.scenario, run, record_path, study.record == "failures", ELSEWHERE)
            row = row_of(executor.submit(run_one, task), task)
            if number:
                seconds.append(row.get("seconds") or study.limits.seconds or 0.0)
                space.append(float(record.stat().st_size if record.exists() else 0))
                wrong += has_failed(row)
                filmed.append(is_filmed(row) and film is not None)
                if film is not None and filmed[-1] and sum(filmed) == 1:
                    movie, begin = Path(name) / f"{run.id}.gif", perf_counter()
                    film(Task(study.scenario, run), movie)
                    movie_seconds = perf_counter() - begin
                    movie_bytes = float(movie.stat().st_size if movie.exists() else 0)
    mean_seconds = sum(seconds) / max(len(seconds), 1)
    movies = 0
    if movie_bytes:
        movies = min(movies_max, round(missing * sum(filmed) / len(filmed)))
    return Estimate(
        runs=runs,
        missing=missing,
        seconds=mean_seconds,
        total=mean_seconds * missing / max(getattr(executor, "count", 1), 1)
        + movies * movie_seconds,
        disk=missing * (ROW_BYTES + sum(space) / max(len(space), 1)) + movies * movie_bytes,
        movies=movies,
        movie_seconds=movie_seconds,
        failed=wrong,
        tried=len(picked),
    )
