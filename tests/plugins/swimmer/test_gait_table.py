"""Gaits in CSV files: what is written comes back, and what is no gait is refused."""

import numpy as np
import pytest
from softctl_swimmer.planning.gait_table import GaitTable

from sofa_softctl.errors import SceneError

TIME = 0.1 * np.arange(41)
ANGLES = np.column_stack([np.sin(TIME), np.cos(2.0 * TIME)])


def test_a_gait_comes_back_from_its_file(tmp_path):
    path = tmp_path / "gait.csv"
    GaitTable(TIME, ANGLES, 0.1 * ANGLES).save(path)
    found = GaitTable.load(path, 2)
    np.testing.assert_array_equal(found.time, TIME)
    np.testing.assert_array_equal(found.angles, ANGLES)
    assert path.read_text().splitlines()[0] == (
        "time [s],hinge 1 [rad],hinge 2 [rad],torque 1 [N m],torque 2 [N m]"
    )
    assert [each.name for each in tmp_path.iterdir()] == ["gait.csv"]


def test_between_instants_angles_are_cubic_from_rest_and_outside_they_are_held():
    """A cubic spline is off by dt^4 / 384 of the fourth derivative, 16: 4e-6; more at its end."""
    angles = np.column_stack([np.sin(TIME) ** 2, np.cos(2.0 * TIME)])
    gait = GaitTable(TIME, angles)
    at = np.array([0.55, 1.23, 3.97])
    exact = np.column_stack([np.sin(at) ** 2, np.cos(2.0 * at)])
    np.testing.assert_allclose(gait(at), exact, atol=2e-5)
    assert np.abs(gait(np.array([1e-6]))[0] - angles[0]).max() < 1e-10
    np.testing.assert_allclose(gait(np.array([-1.0, 9.0])), angles[[0, -1]], atol=1e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"lacks \['time \[s\]', 'hinge 1 \[rad\]', 'hinge 2 \[rad\]'\]"),
        ("time [s],hinge 1 [rad]\n0,0\n1,0\n", r"lacks \['hinge 2 \[rad\]'\]"),
        (
            "time [s],hinge 1 [rad],hinge 2 [rad],hinge 3 [rad]\n0,0,0,0\n1,0,0,0\n",
            r"has 'hinge 3 \[rad\]'; expected .* a swimmer with 2 hinges",
        ),
        ("time [s],hinge 1 [rad],hinge 2 [rad]\n0,0,0\n1,no,0\n", "a row that is no numbers"),
        ("time [s],hinge 1 [rad],hinge 2 [rad]\n0,0,0\n1,0\n", r"3 columns. Row 2 of its 2 has 2"),
        ("time [s],hinge 1 [rad],hinge 2 [rad]\n0,0,0\n", "needs two instants or more"),
        (
            "time [s],hinge 1 [rad],hinge 2 [rad]\n1,0,0\n0,0,0\n",
            r"increasing times from 0 on. Row 1 of 2 is \[1.0, 0.0, 0.0\]",
        ),
        (
            "time [s],hinge 1 [rad],hinge 2 [rad]\n0,nan,0\n1,0,0\n",
            r"finite numbers, .* Row 1 of 2 is \[0.0, nan, 0.0\]",
        ),
    ],
)
def test_a_file_that_is_no_gait_is_refused(tmp_path, text, message):
    path = tmp_path / "gait.csv"
    path.write_text(text)
    with pytest.raises(SceneError, match=message):
        GaitTable.load(path, 2)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SceneError, match=r"none\.csv' cannot be read: .*No such file"):
        GaitTable.load(tmp_path / "none.csv", 3)


def test_a_file_of_a_spreadsheet_is_read(tmp_path):
    """With a byte order mark, and empty lines."""
    path = tmp_path / "gait.csv"
    path.write_text("\ufefftime [s],hinge 1 [rad]\n0,0\n\n1,0.5\n\n", encoding="utf-8")
    np.testing.assert_array_equal(GaitTable.load(path, 1).angles[:, 0], [0.0, 0.5])


@pytest.mark.parametrize(
    ("time", "angles"),
    [
        (TIME, np.where(ANGLES > 0.9, np.nan, ANGLES)),
        (TIME[::-1], ANGLES),
        (TIME + 1.0, ANGLES),
        (TIME[:-1], ANGLES),
    ],
)
def test_what_is_no_motion_is_not_written(time, angles):
    with pytest.raises(SceneError, match=r"A gait (needs|must)"):
        GaitTable(time, angles)


def test_where_a_gait_cannot_be_written_nothing_is_left(tmp_path):
    (tmp_path / "gait.csv").mkdir()
    with pytest.raises(SceneError, match=r"'.*gait\.csv' cannot be written"):
        GaitTable(TIME, ANGLES).save(tmp_path / "gait.csv")
    assert [each.name for each in tmp_path.iterdir()] == ["gait.csv"]
