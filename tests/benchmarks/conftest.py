"""What tests of benchmarks share: their commands, and the models of identification."""

import sys

import pytest

from sofa_softctl.cli.app import run_app
from tests.identification.conftest import models  # noqa: F401
from tests.support.benchmark_commands import app_of


@pytest.fixture
def run_benchmark(monkeypatch, capsys):
    """Runs a benchmark in this process: run_benchmark(name, *words) -> (status, out, err)."""

    def call(name, *words):
        monkeypatch.setattr(sys, "argv", [f"python -m benchmarks.{name}", *map(str, words)])
        with pytest.raises(SystemExit) as done:
            run_app(app_of(name))
        said = capsys.readouterr()
        return done.value.code or 0, said.out, said.err

    return call
