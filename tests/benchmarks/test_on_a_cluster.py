"""Benchmarks on a Dask cluster: the same rows as here."""

import csv
import shutil
from pathlib import Path

import pytest

from tests.cli.test_cluster import dask, project  # noqa: F401

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.study


def test_rows_are_the_same_on_a_cluster(project, dask, run_benchmark, tmp_path):  # noqa: F811
    scenes = project / "scenes"
    shutil.copytree(ROOT / "scenes", scenes, ignore=shutil.ignore_patterns("__pycache__"))
    studies = {
        "success_rates": (
            "--only",
            "fingers",
            "--sample",
            1,
            "--steps",
            3,
            "--scenes",
            scenes,
            "--out",
        ),
        "contact_search": ("--problems", 3, "--most-contacts", 3, "--out"),
        "intervals": ("--repetitions", 2, "--case", "outputs", "--out"),
    }
    times = ("qp ", "step median", "lookahead", "cpu_ms", "reference_cpu_ms")
    for study, options in studies.items():
        tables = []
        for name, given in (("here", ()), ("there", ("--cluster", dask.address))):
            path = tmp_path / f"{study}-{name}.csv"
            status, _, err = run_benchmark(study, *options, path, *given, "--quiet")
            assert status == 0, err
            with path.open(newline="") as file:
                rows = list(csv.DictReader(file))
            tables.append([{k: v for k, v in r.items() if not k.startswith(times)} for r in rows])
        here, there = (sorted(map(str, table)) for table in tables)
        assert here == there and len(here) >= 1 and "FileNotFound" not in str(there)


@pytest.mark.parametrize("name", ["success_rates", "contact_search", "intervals", "causes"])
def test_workers_and_cluster_exclude_each_other(run_benchmark, name):
    status, _, err = run_benchmark(name, "--workers", 1, "--cluster", "tcp://host:1")
    assert status == 2 and "--workers are processes of this computer" in err
