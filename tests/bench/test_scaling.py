"""The beam that `softctl bench scaling` measures, its cases, and exponents of cost."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.bench import beam
from sofa_softctl.bench.scaling import CONTACTS, DOFS, ROWS, Limits, scaling_cases, slopes
from sofa_softctl.bench.speed import CaseResult, Timing, row_count
from sofa_softctl.scene.session.session import Session

TIMING = Timing("embedded", 10, 1.0, 1.0, 1.0, {}, 1.0)


def speeds(series, sizes, ms):
    return [
        CaseResult(f"{series} {n}", series, n, embedded=replace(TIMING, ms_median=t))
        for n, t in zip(sizes, ms, strict=True)
    ]


@pytest.mark.parametrize("cells", [1, 3])
def test_the_mesh_fills_the_beam_with_positive_tetrahedra(cells):
    x, tetrahedra = beam.mesh(cells)
    assert x.size == beam.dof_count(cells)
    a, b, c, d = np.swapaxes(x[tetrahedra], 0, 1)
    volumes = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0
    np.testing.assert_allclose(volumes, beam.WIDTH**2 * beam.LENGTH / (30 * cells**3), rtol=1e-9)


def test_each_cable_is_a_row_and_each_contact_three():
    session = Session(beam.__file__, parameters={"cells": 2, "rows": 7, "contacts": 5})
    for _ in range(3):
        session.step()
        assert row_count(session) == 7 + 3 * 5
    height = session.positions()["beam/dofs.position"][:, 1]
    assert height.min() > -beam.FLOOR_GAP


def test_further_cables_pull_less_the_more_there_are():
    """Their sum stays, so that the same beam bends alike however many rows there are."""
    tips = []
    for rows in (5, 20):
        session = Session(beam.__file__, parameters={"cells": 2, "rows": rows})
        session.step(5)
        tips.append(session.positions()["beam/dofs.position"][-1])
    assert np.linalg.norm(tips[1] - tips[0]) < 0.05 * beam.WIDTH


def test_cases_end_at_the_limits():
    cases = scaling_cases(Limits(dofs=1600, rows=30, contacts=1000))
    sizes = {
        series: [case.size for case in cases if case.series == series]
        for series in (DOFS, ROWS, CONTACTS)
    }
    assert sizes == {DOFS: [297, 768, 1575], ROWS: [4, 10, 30], CONTACTS: [0, 3, 10, 30, 100]}
    assert len({case.name for case in cases}) == len(cases)
    assert scaling_cases(Limits())[6].size == 98_553


def test_exponents_of_power_laws_are_found():
    n = np.array([768, 4557, 9963, 30927])
    rows = np.array([4, 10, 30, 100, 300, 1000])
    measured = [
        *speeds(DOFS, n, 1e-3 * n**1.4),
        *speeds(ROWS, rows, 20.0 + 0.1 * (rows - 4) ** 1.2),
        *speeds(CONTACTS, [0, 10], [2.0, 1.0]),  # no time beyond the first
    ]
    found = slopes(measured)
    assert [(s.series, s.backend) for s in found] == [(DOFS, "embedded"), (ROWS, "embedded")]
    assert found[0].exponent == pytest.approx(1.4, abs=1e-9)
    assert (found[0].size_min, found[0].size_max) == (4557, 30927)
    assert found[1].exponent == pytest.approx(1.2, abs=1e-9)
    assert slopes(measured[:2]) == []


MEMORY = """
import ctypes, sys
from sofa_softctl.bench import beam
from sofa_softctl.scene.session.session import Session

def resident():
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what was freed is not the scene's
    return int(next(l for l in open("/proc/self/status") if "VmRSS" in l).split()[1]) / 1024

first = Session(beam.__file__, parameters={"cells": 4})
first.step(3)
before = resident()
session = Session(beam.__file__, parameters={"cells": 8})
session.step(3)
solver = session.root.getChild("beam").getObject("ldl")
print(resident() - before - solver._factor._factor.nbytes / 2**20, session.dof_count())
"""
GROWTH = """
import sys, tempfile
from pathlib import Path
import numpy as np
from sofa_softctl.bench import beam
from sofa_softctl.scene.session.session import Session

session = Session(beam.__file__, parameters={"cells": 1, "contacts": 2}, history=0)
sizes = []
with tempfile.TemporaryDirectory() as folder, session.recording(Path(folder) / "run.mcap"):
    for _ in range(20):
        session.step(500)
        sizes.append(int(next(l for l in open("/proc/self/status") if "VmRSS" in l).split()[1]))
print(np.polyfit(500.0 * np.arange(10), sizes[10:], 1)[0])
"""


@pytest.mark.processes
def test_a_degree_of_freedom_takes_2_kb_beside_the_factor(fresh):
    memory, dofs = map(float, fresh(MEMORY).stdout.split())
    assert memory * 2**20 < 2048 * dofs


@pytest.mark.soak
def test_memory_does_not_grow_with_steps_that_are_recorded(fresh):
    """20 bytes a step, 20 MB in a million: the recording's index, and pages that come late."""
    assert 1024 * float(fresh(GROWTH).stdout) < 20.0
