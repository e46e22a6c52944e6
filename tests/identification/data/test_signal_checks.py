"""Sensors that failed, as their columns show: and none that did not."""

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.assemble import assemble
from sofa_softctl.identification.data.signal_checks import sensor_notes
from sofa_softctl.identification.data.table import read_csv
from sofa_softctl.identification.model.channel import Channel

TIME = np.arange(201) / 50.0
INPUTS = (Channel("drive", "V"),)
CHANNELS = (Channel("x", "mm", 0.5), Channel("y", "mm", 0.5))


def columns(seed=0, noise=0.5):
    """A marker that swings and one that rests, with noise."""
    rng = np.random.default_rng(seed)
    wave = 30.0 + 20.0 * np.sin(3.0 * TIME)
    noises = noise * rng.standard_normal((2, len(TIME)))
    return {"drive": np.sin(TIME), "x": wave + noises[0], "y": 12.0 + noises[1]}


@pytest.fixture
def notes(tmp_path):
    def read(values):
        path = tmp_path / "run.csv"
        table = np.column_stack([TIME, *values.values()])
        header = "time [s], drive [V], x [mm], y [mm]"
        np.savetxt(path, table, fmt="%.6g", delimiter=", ", header=header, comments="")
        return assemble(read_csv(path), INPUTS, CHANNELS).notes

    return read


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_said_of_sensors_that_work(notes, seed):
    assert notes(columns(seed)) == ()


def test_nothing_is_said_of_simulated_columns_that_rest(notes):
    """Without noise, at exact zeros and constants."""
    quiet = columns(noise=0.0)
    quiet["x"] = np.maximum(quiet["x"] - 30.0, 0.0)
    assert notes(quiet) == ()


def test_a_sensor_that_froze_is_named_with_its_times(notes):
    frozen = columns()
    frozen["x"][60:120] = frozen["x"][60]
    (told,) = notes(frozen)
    assert told.startswith("'x' is exactly ") and "from t = 1.2 to 2.38 s (60 samples)" in told
    assert "a frozen sensor?" in told


def test_samples_lost_as_zeros_are_named(notes):
    lost = columns()
    lost["x"][[7, 8, 90]] = lost["y"][[7, 8, 90]] = 0.0
    (told,) = notes(lost)
    assert told.startswith("'x', 'y' are exactly 0 in 3 samples, the first at t = 0.14 s")


def test_an_input_that_does_not_change_is_named(notes):
    still = columns()
    still["drive"] = np.full(len(TIME), 2.5)
    (told,) = notes(still)
    assert told.startswith("the input 'drive' is 2.5 V in all samples")


def test_a_sensor_that_shows_one_number_is_named(notes):
    stuck = columns()
    stuck["y"] = np.full(len(TIME), 12.0)
    (told,) = notes(stuck)
    assert told.startswith("'y' is 12 mm in all samples, without noise")


def test_a_column_without_a_number_is_named(notes):
    empty = columns()
    empty["y"] = np.full(len(TIME), np.nan)
    (told,) = notes(empty)
    assert told == "'y' has no number at all: it is not compared"


def test_a_file_without_a_header_is_refused(tmp_path):
    path = tmp_path / "bare.csv"
    np.savetxt(path, np.column_stack([TIME, TIME]), delimiter=", ")
    with pytest.raises(IdentificationError, match="line 1: expected a header, the name and unit"):
        read_csv(path)


@pytest.mark.parametrize("unit, turn", [("rad", 2.0 * np.pi), ("deg", 360.0)])
def test_an_angle_within_one_turn_is_named(unit, turn):
    """Of a joint that turns five times in 4 s; the same joint with its turns is not named."""
    angle = turn * (1.2 * TIME + 0.3 * np.sin(3.0 * TIME))
    channels = (Channel("a", unit, 0.001 * turn),)
    wrapped = (angle + 0.5 * turn) % turn - 0.5 * turn
    (told,) = sensor_notes(TIME, wrapped[:, None], channels)
    assert told.startswith("'a' jumps by a turn at t = 0.") and "4 times more" in told
    assert sensor_notes(TIME, angle[:, None], channels) == []
    assert sensor_notes(TIME, wrapped[:, None], (Channel("a", "m", 0.001),)) == []
