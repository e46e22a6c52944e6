"""Measured cases: times, memory, Python's share, and the rate of the factorisation."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.base.kernels.cached import CachedKernel
from sofa_softctl.bench import beam
from sofa_softctl.bench import speed as speed_module
from sofa_softctl.bench.backend_process import BackendProcess
from sofa_softctl.bench.speed import (
    Case,
    CaseResult,
    factorization,
    kernel_clock,
    measure,
    python_share,
)
from sofa_softctl.scene.backend.installation import find_installation
from sofa_softctl.scene.session.session import Session

BEAM = Case("small", Path(beam.__file__), {"cells": 1})


@pytest.fixture(scope="module")
def session():
    session = Session(beam.__file__, parameters={"cells": 2})
    session.step(2)
    return session


@pytest.mark.processes
def test_a_case_is_measured_and_kept_as_a_dict():
    speed = measure(BEAM, steps=4, seconds=0.0)
    ours = speed.embedded
    assert (speed.dofs, speed.rows, ours.steps, speed.sofa) == (72, 4, 4, None)
    assert 0.0 < ours.ms_median <= ours.ms_p99 <= ours.ms_max
    assert ours.phases["free motion"] > 0.0 and ours.memory_mb > 0.0
    assert CaseResult.from_dict(speed.to_dict()) == speed


@pytest.mark.processes
def test_sides_have_equal_numbers_of_steps_in_turn(monkeypatch):
    """Another process of the embedded runtime stands in for SOFA, which tests/sofa runs."""
    sides = []

    def open_side(scene, backend, parameters, prepare):
        sides.append(BackendProcess(scene, "embedded", parameters, prepare))
        return sides[-1]

    monkeypatch.setattr(speed_module, "BackendProcess", open_side)
    speed = measure(BEAM, steps=25, seconds=60.0, with_sofa=True, cpu=True)
    assert len(sides) == 2 and speed.embedded.steps == speed.sofa.steps == 25
    assert speed.ratio == speed.embedded.ms_median / speed.sofa.ms_median > 0.0


@pytest.mark.processes
def test_without_sofa_its_reason_is_a_note(monkeypatch):
    monkeypatch.delenv("SOFA_ROOT", raising=False)
    if find_installation() is not None:
        pytest.skip("SOFA is installed.")
    speed = measure(BEAM, steps=4, seconds=0.0, with_sofa=True)
    assert speed.embedded.steps == 4 and speed.sofa is None
    assert speed.note.startswith("Backend 'sofa': ")


@pytest.mark.processes
def test_a_scene_that_fails_is_a_note(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("def createScene(root):\n    raise ValueError('no mesh')\n")
    speed = measure(Case("broken", path), steps=4, seconds=0.0)
    assert speed.embedded is None and "no mesh" in speed.note
    assert CaseResult.from_dict(speed.to_dict()) == speed


def test_pythons_share_is_a_fraction_and_leaves_kernels_as_they_were(session):
    before = dict(vars(CachedKernel))
    assert 0.0 < python_share(session) < 1.0
    assert dict(vars(CachedKernel)) == before


def test_the_clock_counts_time_in_kernels_only(session):
    with kernel_clock() as seconds:
        session.step()
        inside = seconds()
        sum(range(100_000))
        assert seconds() == inside > 0.0
    session.step()
    assert seconds() == inside


def test_the_share_leaves_the_motion_alone():
    ends = []
    for look in (True, False):
        session = Session(beam.__file__, parameters={"cells": 1})
        with kernel_clock() if look else nullcontext():
            session.step(3)
        ends.append(session.positions()["beam/dofs.position"])
    np.testing.assert_array_equal(*ends)


def test_operations_are_those_of_the_factor_and_steps_go_on(session):
    """A factor has between its own numbers and a dense one's n^3 / 3 operations, to first order."""
    rate = factorization(session)
    n = beam.dof_count(2) - 27  # a side is held
    assert n < rate.numbers < 0.5 * n * (n + 1)
    assert rate.numbers < rate.flops < n * (n + 1) * (2 * n + 1) / 6
    assert rate.fraction == rate.gflops / rate.gemm_gflops > 0.0
    session.step()
    assert np.isfinite(session.positions()["beam/dofs.position"]).all()
