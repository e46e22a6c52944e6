"""Projected dynamics beside those of the whole robot, on a coarse arm and over a short time."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.planning import tables as paper_tables
from benchmarks.planning.cases import FINE, mesh_of
from benchmarks.planning.plot import save_projection_plot
from benchmarks.planning.projection import measure_projection
from sofa_softctl.scene.session.session import Session

pytestmark = pytest.mark.study

SCENES = Path(__file__).parents[3] / "scenes"


@pytest.fixture(scope="module")
def measured():
    """0.3 s of an arm of 81 nodes: its tip goes through its rest four times."""
    with mesh_of(SCENES, (3, 3, 9)) as mesh:
        return measure_projection(SCENES, instants=30, parameters={"mesh": mesh})


def test_interpolation_errs_far_less_than_the_projection(measured):
    """The grid's error is that of its finest spacing, 1e-5; the projection's that of the model."""
    for compared in (measured.release, measured.ramp):
        worst = compared.to_dict()["error"]
        assert worst["interpolation"] < 1e-4 < 0.05 < worst["modelling"] < 1.0
        assert worst["total"] <= sum(worst[k] for k in ("linearisation", "modelling")) + 1e-4


def test_all_motions_start_alike(measured):
    for compared in (measured.release, measured.ramp):
        ends = [motion.tip[0] for motion in compared.motions.values()]
        assert np.ptp(ends, axis=0) == pytest.approx(0.0, abs=1e-4 * compared.size)


def test_energy_does_not_grow_when_nothing_pulls(measured):
    """Implicit Euler takes energy away, whole or projected, once its steps are in balance; with a
    step that is linearised at its start the arm springs away from the line's pull."""
    release = measured.release
    for motion in (release.balanced, release.projected, release.grid):
        assert motion.growth <= 0.0
    assert release.full.growth > 0.1


def test_steps_of_half_the_length_fade_half_as_fast_at_the_same_natural_frequency(measured):
    """Of second order in dt: 3 % for w dt = 0.5. Fading is not quite halved: with w dt it goes as
    log(1 + (w dt)^2) / arctan(w dt), which makes 0.57 for the projection; other waves fade too."""
    for name, halved in measured.halved.items():
        whole, half = measured.release.motions[name].swing(), halved.swing()
        assert half.natural == pytest.approx(whole.natural, rel=0.03)
        assert 0.45 < half.decay / whole.decay < 0.65


def test_the_arm_swings_too_fast_on_its_shapes_of_rest(measured):
    """An arc is stiffer than the shape in which a beam swings: 1.272 for a thin one, see
    tests/scenes/test_laser_arm.py, here coarse and short."""
    swings = {name: motion.swing() for name, motion in measured.release.motions.items()}
    assert swings["grid"].natural / swings["balanced"].natural == pytest.approx(1.27, rel=0.04)
    assert swings["grid"].natural == pytest.approx(swings["projected"].natural, rel=1e-3)
    assert swings["full"].natural == pytest.approx(swings["balanced"].natural, rel=0.02)


def test_a_finer_mesh_is_the_same_arm():
    """5,082 nodes instead of 525 in the same bar; the file is gone afterwards."""
    with mesh_of(SCENES, FINE) as mesh:
        fine = Session(SCENES / "laser_arm.py", parameters={"mesh": mesh}).root.arm
    x = fine.dofs.position.value
    assert x.shape == (5082, 3) and not Path(mesh).exists()
    corners = [[-10.0, -10.0, -100.0], [10.0, 10.0, 0.0]]
    assert [x.min(axis=0), x.max(axis=0)] == pytest.approx(np.array(corners))
    assert fine.beam.dofs.position.value[:, 2] == pytest.approx([-100.0, -140.0])


def test_it_is_shown_and_plotted(measured, tmp_path, capsys, drawn, check_readable):
    paper_tables.show_projection(measured)
    shown = capsys.readouterr().out
    assert "modelling" in shown and "natural" in shown
    save_projection_plot(tmp_path / "projection.png", measured)
    check_readable(drawn[0])
    assert (tmp_path / "projection.png").stat().st_size > 10_000
