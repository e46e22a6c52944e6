"""The arm that moves a loop learns how stiff it is; with fewer links and fits, for speed."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl import Session
from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.control.report import History
from sofa_softctl.view.plots.run import save_run_plot

SCENE = Path(__file__).parents[2] / "scenes" / "loop_manipulation.py"
TRUTH = np.array([4.4, 1.0])


@pytest.fixture(scope="module")
def done():
    """The whole motion with six links in loop and model, and a fit every 2 s."""
    given = {"links": 6, "model_links": 6}
    session = Session(SCENE, backend="embedded", parameters=given)
    session.step(2000)
    return session


@pytest.mark.soak
def test_both_stiffnesses_are_found_while_the_arm_moves(done):
    """From 5 and 5 N m/rad. Stretching shows kappa_theta at once, twisting kappa_psi. 1.5 times a
    half-width are three deviations."""
    refiner = done.controllers[1]
    assert refiner.updates.value == [10.0]
    widths = np.array([found.half_width for found in refiner.history])
    errors = np.array([found.rho for found in refiner.history]) - TRUTH
    assert (np.abs(errors[:, 0]) < 1.5 * widths[:, 0]).all()
    assert widths[0, 1] > 1.0
    assert (np.abs(errors[-1]) < 1.5 * widths[-1]).all()
    assert (widths[-1] < [0.4, 0.3]).all()
    assert refiner.misfit.value[0] == pytest.approx(1.0, abs=0.3)


@pytest.mark.soak
def test_the_arm_follows_its_motion(done):
    """At the end it is at rest; the loop's weight, 1.3 N at 0.7 m, turns motors of 900 N m/rad by
    1e-3 rad at most."""
    plant = done.controllers[0]
    assert np.abs(plant.true_angle.value - plant.wanted.value).max() < 1e-3
    assert plant.findData("angle").value != pytest.approx(plant.true_angle.value, abs=1e-4)


@pytest.mark.soak
def test_a_run_tells_what_was_found(done, tmp_path):
    refiner = done.controllers[1]
    nothing = History(np.zeros(0), {})
    (table,) = refiner.summary(nothing).report({}).tables
    assert "10 fits accepted" in table.caption
    assert [row[0] for row in table.rows] == ["kappa_theta [N m/rad]", "kappa_psi [N m/rad]"]
    save_run_plot(tmp_path / "found.png", [(refiner, nothing)])
    assert (tmp_path / "found.png").stat().st_size > 10_000


def test_without_a_fit_there_is_nothing_to_plot(tmp_path):
    session = Session(SCENE, backend="embedded", parameters={"links": 6})
    with pytest.raises(SoftctlError, match="/identification has no accepted fit"):
        save_run_plot(tmp_path / "found.png", [(session.controllers[1], History(np.zeros(0), {}))])
