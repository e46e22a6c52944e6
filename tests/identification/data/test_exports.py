"""Tables that other programs write are read, or the error says what they look like."""

import contextlib

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.assemble import assemble
from sofa_softctl.identification.data.sampling import place_regularly
from sofa_softctl.identification.data.signal_checks import suspicious_channels
from sofa_softctl.identification.data.table import read_csv
from sofa_softctl.identification.data.units import factor
from sofa_softctl.identification.model.channel import Channel

TIME = np.arange(6) / 50.0
X = 1.5 + 10.0 * TIME
PAIRS = list(zip(TIME.tolist(), X.tolist(), strict=True))


@pytest.fixture
def read(tmp_path):
    def read_text(text, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return read_csv(path)

    return read_text


def joined(rows, delimiter=","):
    return "\n".join(delimiter.join(map(str, row)) for row in rows) + "\n"


def assert_has(table, name, unit, values):
    assert table.units[name] == unit
    np.testing.assert_allclose(table.columns[name], values, atol=1e-9)


# -- programs -------------------------------------------------------------------------------------

MOTIVE = [
    ["Format Version", 1.23, "Take Name", "Take 7", "Capture Frame Rate", "50.000000",
     "Export Frame Rate", "50.000000", "Rotation Type", "Quaternion", "Length Units",
     "Millimeters", "Coordinate Space", "Global"],
    [],
    ["", "", *["Rigid Body"] * 8, *["Marker"] * 3],
    ["", "", *["base"] * 8, *["tip"] * 3],
    ["", "", *["1A"] * 8, *["2B"] * 3],
    ["", "", *["Rotation"] * 4, *["Position"] * 3, "Mean Marker Error", *["Position"] * 3],
    ["Frame", "Time (Seconds)", "X", "Y", "Z", "W", "X", "Y", "Z", "", "X", "Y", "Z"],
]  # fmt: skip


def test_motive(read):
    rows = [[k, t, 0, 0, 0, 1, 5, 6, 7, 0.1, x, 2, ""] for k, (t, x) in enumerate(PAIRS)]
    table = read(joined([*MOTIVE, *rows]))
    assert_has(table, "time", "s", TIME)
    assert_has(table, "tip.x", "mm", X)
    assert_has(table, "base.qw", "-", np.ones(6))
    assert np.isnan(table.columns["tip.z"]).all()  # not seen
    assert table.units["base.mean_marker_error"] == "mm"
    assert "export of OptiTrack Motive, lengths in mm" in table.notes[0]


def test_motive_in_metres_with_euler_angles(read):
    head = [list(row) for row in MOTIVE]
    head[0][11] = "Meters"
    head[6][5] = ""
    rows = [[k, t, 0.5, 0, 0, 1, 5, 6, 7, 0.1, x, 2, 3] for k, (t, x) in enumerate(PAIRS)]
    table = read(joined([*head, *rows]))
    assert (table.units["tip.x"], table.units["base.rx"]) == ("m", "deg")


def test_motive_without_its_header_says_what_it_looks_like(read):
    with pytest.raises(IdentificationError, match="looks like an export of OptiTrack Motive"):
        read(joined([MOTIVE[0], [], ["0", "0.0", "1.0"]]))


QTM = """NO_OF_FRAMES\t6
NO_OF_CAMERAS\t8
NO_OF_MARKERS\t2
FREQUENCY\t50
NO_OF_ANALOG\t0
ANALOG_FREQUENCY\t0
DESCRIPTION\t--
TIME_STAMP\t2025-03-04, 11:12:13.123\t9823.1
DATA_INCLUDED\t3D
MARKER_NAMES\tbase\ttip
"""


@pytest.mark.parametrize("with_times", [True, False])
def test_qualisys(read, with_times):
    rows = [[0.1, 0.2, 0.3, x, 2, 3] for x in X]
    rows[2][3:] = ["0.000"] * 3  # QTM saw no tip
    head = ""
    if with_times:
        rows = [
            [k + 1, t, *row] for k, (t, row) in enumerate(zip(TIME.tolist(), rows, strict=True))
        ]
        head = "Frame\tTime\tbase X\tbase Y\tbase Z\ttip X\ttip Y\ttip Z\n"
    table = read(QTM + head + joined(rows, "\t"), "take.tsv")
    assert_has(table, "time", "s", TIME)
    assert_has(table, "tip.x", "mm", np.where(np.arange(6) == 2, np.nan, X))
    assert any("1 positions that are exactly 0, 0, 0" in note for note in table.notes)


def test_qualisys_6d_says_what_it_looks_like(read):
    text = QTM.replace("INCLUDED\t3D", "INCLUDED\t6D") + "1\t2\t3\n"
    with pytest.raises(IdentificationError, match="looks like a 6D export of Qualisys QTM"):
        read(text)


@pytest.mark.parametrize("analogue", [True, False])
def test_vicon(read, analogue):
    devices = "Devices\n1000\n,,Force - Force\nFrame,Sub Frame,Fx\n,,N\n1,0,3\n1,1,4\n\n"
    rows = [[k + 1, 0, 1, 2, 3, x, "", 6] for k, x in enumerate(X)]
    head = (
        "Trajectories\n50\n,,Finger:base,,,Finger:tip,,\nFrame,Sub Frame,X,Y,Z,X,Y,Z\n"
        ",,mm,mm,mm,mm,mm,mm\n"
    )
    table = read(devices * analogue + head + joined(rows))
    assert_has(table, "time", "s", TIME)
    assert_has(table, "tip.x", "mm", X)
    assert np.isnan(table.columns["tip.y"]).all()
    assert ("its other parts are not read: Devices" in table.notes) == analogue


LVM = """LabVIEW Measurement\t
Writer_Version\t2
Reader_Version\t2
Separator\tTab
Decimal_Separator\t,
Multi_Headings\tNo
X_Columns\tCOLUMNS
Time_Pref\tRelative
Date\t2025/03/04
***End_of_Header***\t
\t
Channels\t2\t\t
Samples\t6\t6\t
Y_Unit_Label\tPascal\tDegrees\t
X_Dimension\tTime\tTime\t
X0\t0,0000000000000000E+0\t0,0000000000000000E+0\t
Delta_X\t0,020000\t0,020000\t
***End_of_Header***\t\t\t
X_Value\tpressure\tbend\tComment
"""


@pytest.mark.parametrize("columns", ["One", "No"])
def test_labview(read, columns):
    def comma(value):
        return f"{value:.6f}".replace(".", ",")

    rows = [[comma(t) if columns == "One" else "", "20000,5", comma(x)] for t, x in PAIRS]
    table = read(LVM.replace("COLUMNS", columns) + joined(rows, "\t"), "run.lvm")
    assert_has(table, "time", "s", TIME)
    assert_has(table, "pressure", "Pa", np.full(6, 20000.5))
    assert_has(table, "bend", "deg", X)


def test_dynamixel_wizard(read):
    """Positions are counts: the error says how many a turn."""
    text = "Time [ms],Present Position [pulse],Present Current [mA],Moving Status\n0,2048,3,ok\n"
    table = read(text + "20,2050,4,ok\n")
    assert_has(table, "time", "ms", [0, 20])
    assert "Moving Status" in table.faults
    with pytest.raises(IdentificationError, match=r"\[pulse\] of an encoder.*4096 a turn"):
        factor(table.units["Present Position"], "deg", "data.csv: column 'Present Position'")


@pytest.mark.parametrize(
    ("head", "stamps"),
    [
        ("header.stamp.sec,header.stamp.nanosec", lambda t: (1_700_000_000, round(1e9 * t))),
        ("%time,seq", lambda t: (1_700_000_000_000_000_000 + round(1e9 * t), 1)),
        ("__time,seq", lambda t: (repr(1_700_000_000.0 + t), 1)),
        ("timestamp,seq", lambda t: (1_700_000_000_000 + round(1e3 * t), 1)),
    ],
)
def test_rosbag_times_since_1970_begin_at_0(read, head, stamps):
    rows = [[*stamps(t), x, "joint_1"] for t, x in PAIRS]
    table = read(f"{head},position[0] [rad],name[0]\n{joined(rows)}")
    seconds = table.columns["time"] * {"s": 1, "ms": 1e-3, "ns": 1e-9}[table.units["time"]]
    np.testing.assert_allclose(seconds, TIME, atol=1e-6)
    assert_has(table, "position[0]", "rad", X)
    assert "name[0]" in table.faults and table.notes


WHOLE = {
    "Motive": joined([*MOTIVE, *[[k, t, *[0] * 8, x, 2, 3] for k, (t, x) in enumerate(PAIRS)]]),
    "QTM": QTM + joined([[0.1, 0.2, 0.3, x, 2, 3] for x in X], "\t"),
    "Nexus": "Trajectories\n50\n,,Finger:tip,,\nFrame,Sub Frame,X,Y,Z\n,,mm,mm,mm\n1,0,1,2,3\n",
    "LabVIEW": LVM.replace("COLUMNS", "No") + "\t20000,5\t1,5\n\t20000,5\t1,6\n",
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_damaged_exports_are_errors_in_words(read, text):
    """Cut short, without a line, with a line of nonsense, with cells left out."""
    lines = text.splitlines(keepends=True)
    for k in range(1, len(lines)):
        before, after = lines[:k], lines[k + 1 :]
        for middle in ([], ["x\n"], [lines[k][:4], "\n"]):
            for case in (before, [*before, *middle, *after]):
                with contextlib.suppress(IdentificationError):
                    read("".join(case))


# -- spreadsheets ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("time [s];x [mm]\n0,00;1,5\n0,02;1,7\n", "utf-8"),
        ("sep=;\ntime [s];x [mm]\n0,00;1,5\n0,02;1,7\n", "utf-8-sig"),
        ("time [s]\tx [mm]\n0,00\t1,5\n0,02\t1,7\n", "utf-16"),
        ("Time (s),x (Millimeters)\n0.00,1.5\n0.02,1.7\n", "utf-8"),
        ("time,x\ns,mm\n0.00,1.5\n0.02,1.7\n", "utf-8"),
        ("Logger 3.1\nStarted,2025-03-04\n\ntime [s],x [mm],ok\n0.00,1.5,1\n0.02,1.7,1\n", "utf-8"),
        ("# Größe\ntime [s],x [mm]\n0.00,1.5\n0.02,1.7\n", "latin-1"),
        ('"time [s]","x [mm]"\r\n"0.00","1.5"\r\n"0.02","1.7"\r\n', "utf-8"),
    ],
)
def test_spreadsheets(read, text, encoding):
    table = read(text, encoding=encoding)
    assert_has(table, "time", "s", [0.0, 0.02])
    assert_has(table, "x", "mm", [1.5, 1.7])


LOGGERS = {
    "a logger with four lines of header": (
        '"TOA5","68","CR30","68","Std.22"\n"TIMESTAMP","RECORD","p","x","diag"\n'
        '"TS","RN","kPa","mm","unitless"\n"","","Smp","Smp","Smp"\n'
        '"2025-06-07 13:00:00.05",1,100.1,1.5,0\n"2025-06-07 13:00:00.07",2,100.2,1.7,"NAN"\n'
    ),
    "empty lines and units": (
        " ;;;;\n ;;;;\ndate;x;p;T;i\n    ;mm;kPa;C;A\n;;;;\n"
        "01.01.2025 00:00:00,00;1,5;2;3;4\n01.01.2025 00:00:00,02;1,7;4;5;6\n"
    ),
    "a race car": (
        '"Format","CSV File"\n"Venue","x"\n"Duration","12.3"\n\n"Time","x","Speed"\n"s","mm","km/h"'
        '\n\n"0.00","1.5","1.0"\n"0.02","1.7","2"\n'
    ),
    "an inertial sensor": (
        "sep=,\nMeasurement Tag:,abc\nPacketCounter,SampleTimeFine,x [mm]\n"
        "1,1000,1.5\n2,21000,1.7\n"
    ),
    "a log of a terminal": (
        "=~=~=~= log 2025.03.04 11:12:13 =~=~=~=\ntime_ms,p [kPa],x [mm]\n0,1,1.5\n20,1,1.7\n"
    ),
    "a data frame with its index": ",time [s],x [mm]\n0,0.0,1.5\n1,0.02,1.7\n",
    "delimiters at the ends": "time [s],x [mm],\n0.0,1.5,\n0.02,1.7,\n",
    "times of day": "Time,x [mm]\n11:12:13.020,1.5\n11:12:13.040,1.7\n",
}


@pytest.mark.parametrize("text", LOGGERS.values(), ids=LOGGERS)
def test_loggers(read, text):
    table = read(text)
    size = {"s": 1.0, "ms": 1e-3, "us": 1e-6}[table.units["time"]]
    np.testing.assert_allclose(np.diff(table.columns["time"]) * size, 0.02, atol=1e-6)
    assert_has(table, "x", "mm", [1.5, 1.7])


def test_words_for_missing_numbers_and_minus_signs_of_typesetters(read):
    table = read("time [s];x [mm]\n0,0;\u22121,5\n0,1;n/a\n0,2;#N/A\n")
    np.testing.assert_array_equal(table.columns["x"], [-1.5, np.nan, np.nan])


def test_a_labview_file_with_notes_and_commas_between_cells(read):
    text = LVM.replace("Separator\tTab", "Separator\tComma").replace("COLUMNS", "One")
    text = text.replace("\nChannels", "\nNotes\tX values guaranteed valid\nChannels")
    table = read(text.replace("\t", ",") + "0.0,2,1.5\n0.1,3,1.6\n")
    assert_has(table, "bend", "deg", [1.5, 1.6])
    assert_has(table, "time", "s", [0.0, 0.1])


def test_degree_signs_and_newton_metres_are_units(read):
    table = read("time [s],b [°],m [Nm],a [m/s²]\n0,1,2,3\n", encoding="cp1252")
    assert [table.units[name] for name in ("b", "m", "a")] == ["deg", "N m", "m/s^2"]


def test_decimal_commas_between_commas_are_said(read):
    with pytest.raises(IdentificationError, match="Got 4. Are these decimal commas?"):
        read("time [s],x [mm]\n0,00,1,5\n0,02,1,7\n")


# -- what is in the columns -----------------------------------------------------------------------

DRIVE, TIP = Channel("drive", "kPa", deviation=0.0), Channel("tip", "mm", deviation=0.1)
HEAD = "time [s], drive [kPa], tip [mm]"


def test_a_column_of_texts_that_nobody_needs_is_noted(read):
    table = read(f"{HEAD}, valve, note\n0, 1, 10, shut, \n0.1, 2, 11, open, hm\n")
    recording = assemble(table, [DRIVE], [TIP])
    assert "columns without numbers, which are not used: valve, note" in recording.notes
    assert recording.outputs[:, 0].tolist() == [10.0, 11.0]


def test_a_column_of_texts_that_is_needed_is_an_error(read):
    table = read(f"{HEAD}\n0, 1, lost\n0.1, 2, 11\n")
    with pytest.raises(IdentificationError, match="line 2, 'tip': expected a number"):
        assemble(table, [DRIVE], [TIP])


def test_rows_that_a_logger_wrote_twice_are_left_out(read):
    table = read(f"{HEAD}\n0, 1, 10\n0.1, 2, 11\n0.1, 2, 11\n0.2, 3, 12\n")
    recording = assemble(table, [DRIVE], [TIP])
    assert recording.time.tolist() == [0.0, 0.1, 0.2]
    assert any("1 row alike to the one before" in note for note in recording.notes)


def test_stamps_that_repeat_are_counted(read):
    table = read(f"{HEAD}\n0, 1, 10\n0.1, 2, 11\n0.1, 2, 12\n0.2, 3, 12\n0.2, 3, 13\n")
    with pytest.raises(IdentificationError, match="like 1 more.*stamps were rounded"):
        assemble(table, [DRIVE], [TIP])


def test_a_clock_that_was_set_back_is_said(read):
    with pytest.raises(IdentificationError, match="two recordings follow each other"):
        assemble(read(f"{HEAD}\n0, 1, 10\n0.1, 2, 11\n0, 2, 12\n"), [DRIVE], [TIP])


def test_a_second_clock_is_noted(read):
    rows = [[t, 1, x, 5.0 + 1.002 * t] for t, x in PAIRS]
    recording = assemble(read(f"{HEAD}, camera time [s]\n{joined(rows)}"), [DRIVE], [TIP])
    assert any("'camera time' is of another clock, which runs +0.2 %" in n for n in recording.notes)


# -- jitter ---------------------------------------------------------------------------------------


def stamps(seed, deviation, count=151, rate=50.0):
    return np.arange(count) / rate + deviation * np.random.default_rng(seed).normal(size=count)


@pytest.mark.parametrize("seed", range(8))
def test_jitter_of_a_millisecond_is_no_other_rate(seed):
    time = stamps(seed, 1e-3)
    grid, _, notes = place_regularly(time, np.zeros((151, 1)), rate=50.0, location="data.csv")
    np.testing.assert_allclose(np.diff(grid), 0.02)
    assert any("to the model's steps" in note for note in notes)


@pytest.mark.parametrize("seed", range(8))
def test_jitter_of_three_milliseconds_is_called_uneven(seed):
    with pytest.raises(IdentificationError, match="samples are uneven"):
        place_regularly(stamps(seed, 3e-3), np.zeros((151, 1)), rate=50.0, location="data.csv")


@pytest.mark.parametrize("rate", [49.5, 50.2, 60.0, 100.0])
def test_another_rate_is_told_from_jitter(rate):
    with pytest.raises(IdentificationError, match=f"sampled at {rate:g}"[:14]):
        place_regularly(
            stamps(0, 1e-4, rate=rate), np.zeros((151, 1)), rate=50.0, location="data.csv"
        )


def test_gaps_and_jitter_together_keep_the_rate():
    kept = np.delete(np.arange(151), [20, 21, 22, 77])
    grid, filled, _ = place_regularly(
        stamps(1, 1e-3)[kept], np.ones((147, 1)), rate=50.0, location="x"
    )
    assert len(grid) == 151 and np.isnan(filled[[20, 21, 22, 77], 0]).all()


# -- units ----------------------------------------------------------------------------------------

BEND = Channel("bend", "deg", deviation=0.2)
RADIANS = Channel("bend", "rad", deviation=3e-3)
PRESSURE = Channel("pressure", "kPa", deviation=0.0)
FORCE = Channel("force", "mN", deviation=1.0)
WAVE = np.sin(np.linspace(0.0, 9.0, 200))[:, None]


@pytest.mark.parametrize(
    ("channel", "scale", "size", "words"),
    [
        (BEND, np.pi / 180, 8.0, "as if numbers in rad had been declared in deg"),
        (BEND, 1.8 * np.pi / 180, 8.0, "as if numbers in rad had been declared in deg"),
        (FORCE, 1e-3, 500.0, "as if numbers in N had been declared in mN"),
        (
            Channel("bend", "rad", deviation=3e-3),
            180 / np.pi,
            0.1,
            "in deg had been declared in rad",
        ),
        (BEND, 1.8e-3, 4000.0, "the input 'pressure' in Pa had been declared in kPa"),
        (BEND, 1.8e3, 0.4, "the input 'pressure' in MPa had been declared in kPa"),
    ],
)
def test_units_that_are_often_taken_for_each_other_are_guessed(channel, scale, size, words):
    """The measured noise is that of the unit that the sensor has."""
    model = size * (1.0 + WAVE)
    noise = 0.01 * scale * size * np.random.default_rng(0).normal(size=model.shape)
    (warning,) = suspicious_channels(scale * model + noise, model, (channel,), (PRESSURE,))
    assert words in warning


def test_a_small_motion_within_the_noise_is_not_suspicious():
    noise = 0.2 * np.random.default_rng(0).normal(size=(200, 1))
    assert suspicious_channels(noise, 3.0 * WAVE, (BEND,), (PRESSURE,)) == []
