"""Recordings: units, gaps, rates, missing samples, and what is refused."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from scenes.flexible_loop.problem import LoopProblem
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.assemble import assemble
from sofa_softctl.identification.data.files import read_mcap, read_recording
from sofa_softctl.identification.data.signal_checks import suspicious_channels
from sofa_softctl.identification.data.table import read_csv, template
from sofa_softctl.identification.data.units import SIZES, factor, nearest_unit
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.record.writer import RecordWriter

DRIVE = Channel("drive", "V", deviation=0.0)
TIP = Channel("tip", "mm", deviation=0.1)
ANGLE = Channel("b1", "rad", deviation=1e-3)
GOOD = "time [s], drive [V], tip [mm]\n0.0, 1, 10\n0.1, 2, 11\n0.2, 3, 12\n0.3, 4, 13\n"


@pytest.fixture
def read(tmp_path):
    """Reads a text as a CSV file, with one input and one output."""

    def read_text(text, inputs=(DRIVE,), channels=(TIP,), **options):
        path = tmp_path / "data.csv"
        path.write_text(text, encoding="utf-8")
        return assemble(read_csv(path), inputs, channels, **options)

    return read_text


def rows(*lines, header="time [s], drive [V], tip [mm]"):
    return "\n".join([header, *lines]) + "\n"


def test_columns_come_in_the_problems_order_and_comments_are_skipped(read):
    found = read(
        "# a remark, with, commas\n\ntip [mm], time [s], drive [V]\n10, 0, 1\n11, 0.1, 2\n"
    )
    np.testing.assert_array_equal(found.time, [0.0, 0.1])
    np.testing.assert_array_equal(found.inputs, [[1.0], [2.0]])
    np.testing.assert_array_equal(found.outputs, [[10.0], [11.0]])
    assert found.notes == ()


def test_declared_units_are_converted(read):
    found = read(rows("0, 1000, 1.5", "100, 2000, 2.5", header="time [ms], drive [mV], tip [cm]"))
    assert found.time == pytest.approx([0.0, 0.1])
    assert found.inputs[:, 0] == pytest.approx([1.0, 2.0])
    assert found.outputs[:, 0] == pytest.approx([15.0, 25.0])


@pytest.mark.parametrize(
    ("declared", "wanted", "expected"),
    [
        ("deg", "rad", math.pi / 180),
        ("mN m", "N m", 1e-3),
        ("kPa", "Pa", 1e3),
        ("N  m", "N m", 1.0),
        ("furlong", "furlong", 1.0),
    ],
)
def test_units_convert_as_the_standards_say(declared, wanted, expected):
    assert factor(declared, wanted, "x") == pytest.approx(expected)


@pytest.mark.parametrize("dimension", SIZES)
def test_every_unit_converts_there_and_back(dimension):
    for a in SIZES[dimension]:
        for b in SIZES[dimension]:
            assert factor(a, b, "x") * factor(b, a, "x") == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            "time [s], drive [V], tip [kg]",
            r"column 'tip' is in \[kg\], a mass; expected \[mm\]",
        ),
        (
            "time [s], drive [V], tip [yd]",
            r"unit \[yd\], which is not known.*one of: mm, m, cm, um",
        ),
        ("time [s], drive [V], tip", r"column 'tip' has no unit. Write it after the name"),
        ("time [s], drive [V], tipp [mm]", r"no column 'tip \[mm\]'. Did you mean 'tipp'"),
        ("time [s], tip [mm], tip [mm]", "two columns 'tip'"),
        ("time [s]; drive [V], tip [mm], x [m]", "expected commas between cells"),
    ],
)
def test_a_wrong_header_says_what_was_expected(read, header, message):
    with pytest.raises(IdentificationError, match=message):
        read(rows("0, 1, 2", "1, 1, 2", header=header))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0.1, 2, eleven", "line 3, 'tip': expected a number.*Got: 'eleven'"),
        ("0.1, 2", "line 3: expected 3 cells, as in the header. Got 2"),
        ("0.1, 2, inf", "line 3, 'tip': is infinite"),
        (", 2, 11", "line 3: there is no time"),
        ("-0.1, 2, 11", "line 3: the time -0.1 s is not after 0 s"),
        ("0.0, 2, 11", "line 3: the time 0 s is not after 0 s"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(read, line, message):
    with pytest.raises(IdentificationError, match=message):
        read(rows("0.0, 1, 10", line, "0.2, 3, 12"))


def test_a_file_that_is_none_is_said(tmp_path, read):
    with pytest.raises(IdentificationError, match="cannot be read"):
        read_csv(tmp_path / "nowhere.csv")
    with pytest.raises(IdentificationError, match="expected a header such as"):
        read("# nothing\n")
    (tmp_path / "image.csv").write_bytes(b"\xff\xfe\x00\x81")
    text = "expected text in UTF-8. Got: .* Save the table as CSV in UTF-8"
    with pytest.raises(IdentificationError, match=text):
        read_csv(tmp_path / "image.csv")


def test_missing_outputs_stay_missing_and_are_counted(read):
    found = read(rows("0, 1, ", "0.1, 2, nan", "0.2, 3, 12"))
    np.testing.assert_array_equal(np.isnan(found.outputs[:, 0]), [True, True, False])
    assert found.notes == ("tip: 2 of 3 samples missing",)
    with pytest.raises(IdentificationError, match="no output was measured"):
        read(rows("0, 1, ", "0.1, 2, "))


def test_missing_rows_become_missing_samples_and_short_gaps_of_inputs_are_bridged(read):
    found = read(rows("0, 1, 10", "0.1, 2, 11", "0.4, 5, 14", "0.5, 6, 15", "0.6, 7, 16"))
    assert found.time == pytest.approx(np.arange(7) / 10)
    assert found.inputs[:, 0] == pytest.approx(np.arange(1.0, 8.0))
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found.outputs[:, 0])), [2, 3])
    assert "2 rows are missing, from t = 0.1 to 0.4 s" in found.notes
    assert "drive: 2 missing samples interpolated" in found.notes


def test_several_gaps_are_counted(read):
    found = read(rows(*(f"{k / 10}, 1, 1" for k in (0, 1, 2, 4, 5, 6, 8, 9, 10))))
    assert found.notes[0] == "2 rows are missing in 2 gaps, the longest from t = 0.2 to 0.4 s"


def test_long_gaps_of_inputs_are_refused_with_their_limit(read):
    lines = [f"{k / 10}, {'' if 3 <= k < 9 else k}, 1" for k in range(20)]
    with pytest.raises(
        IdentificationError, match="'drive' is missing from t = 0.3 to 0.8 s, 6 .*Up to 5 in a row"
    ):
        read(rows(*lines))
    with pytest.raises(IdentificationError, match="at an end of the recording"):
        read(rows("0, , 1", "0.1, 2, 1", "0.2, 2, 1"))
    with pytest.raises(IdentificationError, match="the input 'drive' has no number at all"):
        read(rows("0, , 1", "0.1, , 1"))


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (100.0, r"is sampled at 10 Hz; the model steps at 100 Hz. Resample it"),
        (1e4, r"is sampled at 10 Hz.*Is its time in ms\?"),
    ],
)
def test_a_wrong_rate_is_refused_with_a_guess(read, rate, message):
    with pytest.raises(IdentificationError, match=message):
        read(GOOD, rate=rate)


@pytest.mark.parametrize(("unit", "doubted"), [("s", True), ("ms", False), ("us", True)])
def test_an_unusual_unit_of_time_is_asked_about_where_the_model_has_no_rate(read, unit, doubted):
    """Samples 10 ms apart, with the unit of the column right or not."""
    times = np.array([0.0, 10.0, 20.0, 30.0]) * (0.1 if unit == "us" else 1.0)
    lines = [f"{t:g}, {k}, {k + 10}" for k, t in enumerate(times)]
    notes = read(rows(*lines, header=f"time [{unit}], drive [V], tip [mm]")).notes
    assert ("is the unit of the time column right?" in " ".join(notes)) == doubted


def test_uneven_samples_are_refused_only_by_models_that_step(read):
    lines = ["0, 1, 1", "0.1, 1, 1", "0.2, 1, 1", "0.35, 1, 1", "0.45, 1, 1", "0.55, 1, 1"]
    with pytest.raises(IdentificationError, match=r"uneven: 0.15 s after t = 0.2 s, 0.1 s else"):
        read(rows(*lines), rate=10.0)
    found = read(rows(*lines))
    assert found.time[3] == 0.35 and "samples are uneven" in found.notes[0]


def test_times_that_jitter_are_moved_to_the_models_steps_and_told(read):
    found = read(rows("0, 1, 1", "0.101, 1, 1", "0.2, 1, 1", "0.302, 1, 1", "0.4, 1, 1"), rate=10.0)
    assert found.time == pytest.approx(np.arange(5) / 10, abs=1e-12)
    assert found.notes == ("times moved by up to 0.002 s (2 % of a step), to the model's steps",)
    found = read(rows("0, 1, 1", "0.101, 1, 1", "0.2, 1, 1", "0.302, 1, 1", "0.4, 1, 1"))
    assert found.time[1] == pytest.approx(0.101)
    (note,) = found.notes
    assert note == "samples come up to 2 % of 0.1 s early or late; the times of the file are kept"


def test_numbers_that_cannot_be_are_refused_with_the_unit_that_would_fit(read):
    """180 'rad' are 29 turns, of which joints make ten at most; in degrees they are half a turn."""
    text = rows("0, 1, 10", "0.1, 2, 180", header="time [s], drive [V], b1 [rad]")
    with pytest.raises(IdentificationError, match=r"'b1' reaches 180 rad; .*Are they in deg\?"):
        read(text, channels=(ANGLE,))
    with pytest.raises(IdentificationError, match=r"'tip' reaches 13 mm; at most 5 .*in um\?"):
        read(GOOD, channels=(Channel("tip", "mm", largest=5.0),))


def test_a_size_that_is_proposed_is_enough(read):
    text = rows("0, 1, 10", "0.1, 2, 160.1", header="time [s], drive [V], b1 [rad]")
    with pytest.raises(IdentificationError, match=r"largest=170\)"):
        read(text, channels=(ANGLE,))
    read(text, channels=(replace(ANGLE, largest=170.0),))


def test_outputs_that_vary_a_thousand_times_too_much_are_suspicious():
    """Millimetres declared as metres; noise alone, and data as predicted, are not suspicious."""
    model = np.sin(np.linspace(0.0, 6.0, 50))[:, None]
    channels = (Channel("x", "m", deviation=1e-3),)
    (told,) = suspicious_channels(1000.0 * model, model, channels)
    assert told == (
        "'x' varies by 716 m, the model at the start by 0.716 m, as if numbers in mm had been "
        "declared in m"
    )
    assert suspicious_channels(1.5 * model, model, channels) == []
    assert suspicious_channels(np.zeros((50, 1)), 1e-6 * model, channels) == []
    assert suspicious_channels(1e-3 * model, 1e-9 * model, channels) == []
    assert suspicious_channels(np.full((50, 1), np.nan), model, channels) == []
    assert nearest_unit(15.0, "m") is None


def test_columns_that_are_not_used_need_no_unit_and_are_told(read):
    found = read(rows("0, 1, 2, 3", "0.1, 1, 2, 3", header="time [s], drive [V], tip [mm], mood"))
    assert found.notes == ("columns that are not used: mood",)


def test_planned_motions_need_no_outputs(read):
    text = rows("0, 1", "0.1, 1", header="time [s], drive [V]")
    assert np.isnan(read(text, planned=True).outputs).all()
    with pytest.raises(IdentificationError, match="no column 'tip"):
        read(text)


def test_a_template_can_be_read_once_its_outputs_are_filled(read):
    text = template("robot", (DRIVE, ANGLE), (TIP, ANGLE), 0.1)
    assert "# tip: is compared with it; noise 0.1 mm; units: mm, m, cm, um" in text
    filled = text.replace("0.0, \n", "0.0, 7.0\n")
    found = read(filled, inputs=(DRIVE, ANGLE), channels=(TIP, ANGLE))
    np.testing.assert_array_equal(found.outputs, [[7.0, 0.0], [7.0, 0.0]])


def test_records_of_runs_are_read_by_the_names_of_their_numbers(tmp_path, models):
    path = tmp_path / "run.mcap"
    with RecordWriter(path, {}) as writer:
        writer.add_channel("drive", unit="mV", shape=(1,))
        writer.add_channel("dofs.position", shape=(2, 3))
        for k in range(4):
            place = np.arange(6.0).reshape(2, 3) + k
            writer.write(k / 50, {"drive": np.array([1000.0 * k]), "dofs.position": place})
    tip = Channel("dofs.position[1].x", "mm", deviation=0.1)
    found = read_recording(path, models.LagProblem(channels=(tip,)))
    assert found.inputs[:, 0] == pytest.approx([0.0, 1.0, 2.0, 3.0])
    assert found.outputs[:, 0] == pytest.approx([3.0, 4.0, 5.0, 6.0])
    assert "dofs.position[1].x has no unit in the record: taken as mm" in found.notes
    with pytest.raises(IdentificationError, match=r"in .mcap, or a table \(.csv"):
        read_recording(tmp_path / "run.xlsx", models.LagProblem())


def test_records_of_the_loops_scene_are_read_by_the_names_that_it_knows(tmp_path):
    """`recorded` of a problem: the channel of seven torques, and that of seven angles."""
    path, problem = tmp_path / "loop.mcap", LoopProblem()
    with RecordWriter(path, {}) as writer:
        writer.add_channel("robot.torque", unit="N m", shape=(7,))
        writer.add_channel("robot.angle", unit="rad", shape=(7,))
        for k in range(4):
            values = {"robot.torque": np.arange(7.0) + k, "robot.angle": -0.1 * np.arange(7.0)}
            writer.write(k / 100, values)
    found = read_recording(path, problem)
    np.testing.assert_allclose(found.inputs[2], [*range(2, 9), *(-0.1 * np.arange(7.0))])
    assert [one.name for one in problem.inputs][:1] == ["torque_s0"]
    assert found.outputs.shape == (4, 0) and found.notes == ()


def test_a_record_that_was_cut_off_is_told_and_what_is_not_used_of_it(tmp_path, models):
    """Also where the problem makes the recording itself: it drops what came before 0.04 s."""
    with pytest.raises(KeyboardInterrupt), RecordWriter(tmp_path / "run.mcap", {}) as writer:
        writer.add_channel("drive", unit="V", shape=())
        writer.add_channel("tip", unit="mm", shape=())
        for k in range(6):
            writer.write(k / 50, {"drive": np.array(1.0), "tip": np.array(0.0)})
        raise KeyboardInterrupt
    path = tmp_path / "cut.mcap"
    writer.path_partial.rename(path)

    class OfRecords(models.LagProblem):
        def from_record(self, path):
            table = read_mcap(path, self)
            inputs = table.columns["drive"][2:, None]
            return Recording(str(path), table.columns["time"][2:], inputs, 0.0 * inputs)

    cut = "the record is not complete (failed: KeyboardInterrupt: ): it has 6 samples, up to t = "
    assert f"{cut}0.1" in read_recording(path, models.LagProblem()).notes
    told = read_recording(path, OfRecords()).notes
    assert told == (f"{cut}0.1", "4 of 6 samples are used, from t = 0.04 to 0.1 s")


def test_degrees_for_radians_are_suspicious_and_so_are_hundredths():
    """Angles from 20 times on; other units only where the mean is off as well."""
    wave = np.sin(np.linspace(0.0, 6.0, 50))[:, None]
    angle = (Channel("a", "rad", deviation=1e-3),)
    (told,) = suspicious_channels(np.degrees(0.5 * wave), wave, angle)
    assert told.endswith("as if numbers in deg had been declared in rad")
    (told,) = suspicious_channels(np.radians(1.3 * wave), wave, angle)
    assert told.endswith("as if numbers in rad had been declared in deg")
    (told,) = suspicious_channels(25.0 * wave, wave, angle)
    assert "declared in rad" in told
    place = (Channel("x", "mm", deviation=1e-3),)
    (told,) = suspicious_channels(12.0 * wave, wave, place)
    assert told.endswith("as if numbers in mm had been declared in cm")
    (told,) = suspicious_channels(1e-3 * wave, wave, place)
    assert told.endswith("numbers in m had been declared in mm or in mm had been declared in um")
    assert (
        suspicious_channels(12.0 * wave + 90.0, wave + 90.0, place) == []
    )  # a marker's place: it moves more
    (told,) = suspicious_channels(wave, 0.0 * wave, place)
    assert told.endswith("check unit, sensor and start")


def test_a_number_that_nothing_measures_is_named_by_line_and_column(read):
    with pytest.raises(IdentificationError, match=r"line 3, 'tip': 1e\+300 cannot have been meas"):
        read(rows("0, 1, 10", "0.1, 2, 1e300", "0.2, 3, 12"))


def test_of_many_columns_the_closest_are_listed(read):
    header = ", ".join(["time [s]", "drive [V]", *(f"x{k} [mm]" for k in range(50)), "tipp [mm]"])
    text = rows(", ".join(["0"] * 53), ", ".join(["1"] * 53), header=header)
    with pytest.raises(IdentificationError, match=r"'tipp'\? It has: tipp, .*x4 and 45 more\."):
        read(text)
    channels = (Channel("x1", "mm"),)
    assert read(text, channels=channels).notes == ()  # of a whole scene's record nothing is told
    few = rows(*(", ".join([t] * 13) for t in "01"), header=", ".join(header.split(", ")[:13]))
    assert read(few, channels=channels).notes == (
        "columns that are not used: x0, x2, x3, x4, x5, x6, x7, x8 and 2 more",
    )


@pytest.mark.parametrize("name", ["inverse.effort.right", "inverse.effort[1]"])
@pytest.mark.parametrize("point", ["tip.position.x", "tip.position[0].x"])
def test_columns_of_a_record_are_found_by_name_or_index(tmp_path, name, point):
    path = tmp_path / "run.mcap"
    with RecordWriter(path, {"inverse.actuators": '["left", "right"]'}) as writer:
        writer.add_channel("inverse.effort", shape=(2,), unit="V")
        writer.add_channel("tip.position", shape=(1, 3), unit="mm")
        for k in range(1, 5):
            values = {"inverse.effort": [0.0, 1.0 * k], "tip.position": [[2.0 * k, 0.0, 0.0]]}
            writer.write(0.1 * k, {n: np.array(v) for n, v in values.items()})

    inputs, channels = (replace(DRIVE, name=name),), (replace(TIP, name=point),)
    problem = SimpleNamespace(inputs=inputs, channels=channels, recorded={})
    found = assemble(read_mcap(path, problem), inputs, channels)
    assert found.inputs[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert found.outputs[:, 0].tolist() == [2.0, 4.0, 6.0, 8.0]
