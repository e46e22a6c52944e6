"""Goals as functions of time."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control import goal

CENTER = np.array([1.0, 2.0, 3.0])


def test_a_point_stays_and_is_a_copy():
    given = CENTER.copy()
    follow = goal.point(given)
    given[:] = 0.0
    assert follow(0.0).tolist() == follow(9.0).tolist() == [1.0, 2.0, 3.0]


def test_a_point_may_be_one_for_each_effector():
    assert goal.point([[0, 0, 0], [1, 1, 1]])(0.0).shape == (2, 3)


def test_a_circle_keeps_its_radius_and_closes_after_its_period():
    follow = goal.circle(CENTER, radius=5.0, period=4.0)
    times = np.linspace(0.0, 4.0, 17)
    points = np.array([follow(time) for time in times]) - CENTER
    assert np.linalg.norm(points, axis=1) == pytest.approx(np.full(17, 5.0), rel=1e-14)
    assert points[0] == pytest.approx([5.0, 0.0, 0.0], abs=1e-14)
    assert points[4] == pytest.approx([0.0, 5.0, 0.0], abs=1e-14)  # counterclockwise
    assert points[16] == pytest.approx(points[0], abs=1e-13)


def test_an_eight_passes_its_middle_twice_a_period():
    follow = goal.figure_eight(CENTER, radius=5.0, period=4.0)
    for time in (0.0, 2.0, 4.0):
        assert follow(time) == pytest.approx(CENTER, abs=1e-14)
    assert follow(1.0) == pytest.approx([6.0, 2.0, 3.0], abs=1e-14)
    assert follow(3.0) == pytest.approx([-4.0, 2.0, 3.0], abs=1e-14)
    x, y, _ = follow(0.3) - CENTER
    assert x**4 == pytest.approx(25.0 * (x**2 - y**2), rel=1e-12)  # Gerono's lemniscate


@pytest.mark.parametrize("shape", [goal.circle, goal.figure_eight])
def test_a_ramp_leads_from_the_start_to_the_path(shape):
    start = np.array([9.0, 9.0, 9.0])
    path = shape(CENTER, 5.0, 4.0)
    ramped = shape(CENTER, 5.0, 4.0, ramp=1.0, start=start)
    assert ramped(0.0).tolist() == start.tolist()
    assert ramped(0.5) == pytest.approx((start + path(0.5)) / 2.0, rel=1e-14)
    for time in (1.0, 1.5, 7.0):
        assert ramped(time) == pytest.approx(path(time), rel=1e-14)
    from_center = shape(CENTER, 5.0, 4.0, ramp=1.0)
    assert from_center(0.0) == pytest.approx(CENTER)


@pytest.mark.parametrize("shape", [goal.circle, goal.figure_eight])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"period": 0.0}, "needs a period greater than 0, got 0"),
        ({"period": -1.0}, "needs a period greater than 0, got -1"),
        ({"period": np.nan}, "needs a period greater than 0, got nan"),
        ({"radius": np.inf}, "needs a finite radius, got inf"),
        ({"ramp": -0.5}, "needs a ramp of 0 or more, got -0.5"),
        ({"center": [0, 0]}, r"needs a center of three finite numbers, got \[0, 0\]"),
        ({"center": [0, 0, np.nan]}, "needs a center of three finite numbers"),
        ({"start": 3.0}, "needs a start of three finite numbers, got 3.0"),
    ],
)
def test_a_path_that_cannot_be_is_refused_when_it_is_made(shape, arguments, message):
    with pytest.raises(SceneError, match=message):
        shape(**{"center": CENTER, "radius": 5.0, "period": 4.0, **arguments})


@pytest.mark.parametrize("position", [[1, 2], [[1, 2, 3, 4]], "x", [1, 2, np.nan]])
def test_a_point_has_three_finite_coordinates(position):
    with pytest.raises(SceneError, match="A goal needs three finite coordinates"):
        goal.point(position)


# -- paths from files ----------------------------------------------------------------------------


@pytest.fixture
def path_file(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "path.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


@pytest.mark.parametrize(
    "text",
    [
        "time,x,y,z\n0,0,0,0\n1,10,20,30\n",
        "0,0,0,0\n1,10,20,30\n",
        "# made by hand\n\ntime, x, y, z\r\n0, 0, 0, 0\r\n # more\n1, 10, 20, 30\n\n",
        '"time","x","y","z"\n"0","0","0","0"\n"1","10","20","30"\n',
        "\ufefftime,x,y,z\n0,0,0,0\n1,10,20,30\n",
    ],
)
def test_a_file_is_a_polyline_that_stays_at_its_ends(path_file, text):
    follow = goal.from_csv(path_file(text))
    assert follow(0.25).tolist() == [2.5, 5.0, 7.5]
    assert follow(-1.0).tolist() == [0.0, 0.0, 0.0]
    assert follow(9.0).tolist() == [10.0, 20.0, 30.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs at least two rows of time, x, y, z; got 0"),
        ("time,x,y,z\n", "needs at least two rows of time, x, y, z; got 0"),
        ("0,1,2,3\n", "needs at least two rows of time, x, y, z; got 1"),
        ("0,0,0\n1,1,1\n", r"path\.csv', line 1: expected time, x, y, z, got '0,0,0'"),
        (
            "time,x,y,z\n0,0,0,0\n1,1,1\n",
            r"path\.csv', line 3: expected time, x, y, z, got '1,1,1'",
        ),
        ("0,0,0,0\n1,a,0,0\n", r"path\.csv', line 2: expected time, x, y, z, got '1,a,0,0'"),
        ("0;0;0;0\n1;0;0;0\n", r"path\.csv', line 1: expected time, x, y, z, got '0;0;0;0'"),
        ("0,0,0,0\n1,nan,0,0\n", r"path\.csv', line 2: every number must be finite"),
        ("0,0,0,0\n0,1,1,1\n", r"path\.csv', line 2: times must increase, got 0 after 0"),
        ("0,0,0,0\n2,1,1,1\n1,1,1,1\n", r"path\.csv', line 3: times must increase, got 1 after 2"),
        ("0,0,0,0\n\0,1,1,1\n", r"path\.csv', line 2"),
    ],
)
def test_a_broken_file_says_where_and_what(path_file, text, message):
    with pytest.raises(SceneError, match=message):
        goal.from_csv(path_file(text))


def test_a_missing_or_foreign_file_is_told(path_file, tmp_path):
    with pytest.raises(
        SceneError, match=r"Cannot read the goal path '.*none\.csv': .*No such file"
    ):
        goal.from_csv(tmp_path / "none.csv")
    with pytest.raises(SceneError, match="Cannot read the goal path"):
        goal.from_csv(path_file("0,0,0,0\n1,ü,0,0\n", encoding="latin-1"))
    with pytest.raises(SceneError, match="Cannot read the goal path"):
        goal.from_csv(tmp_path)
