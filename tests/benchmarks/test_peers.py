"""The same bodies in other simulators; here as far as it goes without them."""

import sys

import numpy as np
import pytest

from benchmarks import peers


def small_beam():
    return peers.beam(1)


def test_bodies_are_held_at_an_end_and_have_their_mass():
    beam, finger, block = (make() for make in peers.BODIES.values())
    assert beam.nodes.size == 1575 and beam.mass == pytest.approx(0.04)
    assert len(beam.held) == 25 and len(block.held) == 0 < len(finger.held)
    assert block.mass == pytest.approx(0.027) and block.nodes[:, 1].min() == 0.0
    for body in (beam, finger, block):
        assert body.tip.sum() == pytest.approx(1.0)
        assert body.motion(body.nodes + 0.002 * body.direction) == pytest.approx(0.002)


def test_a_finer_body_is_held_and_measured_at_the_same_places():
    coarse = small_beam()
    fine = peers.refine(coarse)
    assert fine.mass == pytest.approx(coarse.mass)
    assert len(fine.tetrahedra) == 8 * len(coarse.tetrahedra) and len(fine.held) == 9
    assert fine.nodes[fine.held][:, 2].max() == 0.0
    np.testing.assert_array_equal(fine.nodes[np.flatnonzero(fine.tip)][:, 2], np.full(4, 0.1))


def test_a_block_of_ours_slides_as_a_rigid_one():
    """It lies in contact from the first step; 5 % for its elasticity and for steps of 5 ms."""
    body = peers.block()
    (row,) = peers.measure(body, peers.reference_of(body), 0.0, ["softctl, SOFA's elements"])
    assert abs(row.error) < 0.05 and row.ms > 0.0 and row.note == ""


def test_the_sag_of_a_slender_beam_nears_theory(monkeypatch):
    """10-node tetrahedra on one cell across: 6 %, of which 4 % by the clamp."""
    monkeypatch.setattr(peers, "REFERENCE_SECONDS", 1.0)
    body = small_beam()
    theory = peers.theory(body)
    assert peers.reference_of(body) * 1e3 == pytest.approx(theory.motion, rel=0.06)
    assert peers.theory(peers.block()) is None


def test_simulators_that_are_missing_or_cannot_have_a_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    body = peers.block()
    names = ["MuJoCo flex, discrete", "PyElastica rod, 40 elements"]
    monkeypatch.setitem(sys.modules, "elastica", sys.modules[__name__])
    rows = peers.measure(body, 1.0, 0.0, names)
    assert [row.note for row in rows] == ["not installed: mujoco", "not possible: rods only"]
    assert rows[0].cells()[2:6] == [""] * 4


def test_the_table_is_written_as_markdown(tmp_path, capsys):
    rows = [peers.Row("beam", "reference", motion=12.25, error=0.0)]
    peers.show(rows, tmp_path / "peers.md")
    text = (tmp_path / "peers.md").read_text()
    assert text.splitlines()[2] == "| beam | reference |  |  | 12.25 | +0.0% |  |"
    assert "12.25" in capsys.readouterr().out
