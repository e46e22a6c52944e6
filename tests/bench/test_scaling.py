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
