import csv
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import Writer
from mcap_protobuf.decoder import DecoderFactory

from sofa_softctl.errors import RecordError
from sofa_softctl.record import writer as writer_module
from sofa_softctl.record.export import export_csv, export_npz, select
from sofa_softctl.record.file import RecordFile
from sofa_softctl.record.record import Record, read_record
from sofa_softctl.record.writer import RecordWriter

POSITION = "trunk/tip/dofs.position"
FORCE = "trunk/cable.force"
# Doubles that only an exact format keeps, and those that JSON does not know.
AWKWARD = [1 / 3, 5e-324, 1.7976931348623157e308, -0.0, np.nan, np.inf, -np.inf, 0.1, 2**53 + 2]


def position(step: int) -> np.ndarray:
    return np.roll(AWKWARD, step).reshape(3, 3)


def force(step: int) -> np.ndarray:
    return np.array(np.sin(step))


def time(step: int) -> float:
    return step * 0.1  # 0.30000000000000004 is one of them: no whole number of billionths


def write_steps(writer: RecordWriter, steps: range) -> None:
    for step in steps:
        writer.write(time(step), {POSITION: position(step), FORCE: force(step)})


def announced(path: Path) -> RecordWriter:
    writer = RecordWriter(path, {"backend": "embedded", "scene": "trunk.py", "sign": "é"})
    writer.add_channel(POSITION, unit="mm", shape=(3, 3), description="Where the tip is.")
    writer.add_channel(FORCE, unit="N", shape=())
    return writer


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "run.mcap"


@pytest.fixture
def recorded(path) -> Record:
    with announced(path) as writer:
        write_steps(writer, range(7))
    return read_record(path)


def assert_holds_steps(record: Record, count: int) -> None:
    """To the bit, NaN and the sign of zero included."""
    assert record.time.tolist() == [time(step) for step in range(count)]
    expected = np.array([position(step) for step in range(count)]).reshape(count, 3, 3)
    assert record.channels[POSITION].tobytes() == expected.tobytes()
    assert record.channels[FORCE].tolist() == [float(force(step)) for step in range(count)]


def test_what_is_written_comes_back_to_the_bit(recorded):
    assert_holds_steps(recorded, 7)
    assert recorded.metadata == {"backend": "embedded", "scene": "trunk.py", "sign": "é"}
    assert recorded.units == {POSITION: "mm", FORCE: "N"}
    assert recorded.complete
    assert recorded.status == "complete"


def test_a_recording_that_was_read_cannot_be_written(recorded):
    with pytest.raises(ValueError, match="read-only"):
        recorded.channels[FORCE][0] = 1.0


def test_arrays_are_taken_as_they_are_at_the_call(path):
    with announced(path) as writer:
        values = np.ones((3, 3))
        writer.write(0.0, {POSITION: values, FORCE: np.array(1)})
        values[:] = 2.0
    assert (read_record(path).channels[POSITION] == 1.0).all()


def test_other_tools_find_units_stamps_and_what_protobuf_decodes(recorded, path):
    """By the decoder of MCAP's authors, which knows the schema in the file alone."""
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        found = list(reader.iter_decoded_messages())
    assert len(found) == 14
    schema, channel, message, decoded = found[-2]
    assert (schema.name, schema.encoding) == ("softctl.Numbers", "protobuf")
    assert channel.topic == POSITION
    assert channel.metadata == {
        "unit": "mm",
        "shape": "[3, 3]",
        "description": "Where the tip is.",
    }
    assert message.log_time == message.publish_time == 600_000_000
    assert decoded.time == time(6)
    assert np.array(decoded.value).tobytes() == position(6).tobytes()
    assert found[-1][3].value == float(force(6))


def test_texts_come_back_and_are_exported(path, tmp_path):
    said = ["SOLVED", "", 'größer, "als"', "x" * 1000]
    with RecordWriter(path, {}) as writer:
        writer.add_channel("inverse.status", shape=None, description="How it ended.")
        writer.add_channel("x", shape=())
        for step, text in enumerate(said):
            writer.write(time(step), {"inverse.status": text, "x": np.array(step)})
    record = read_record(path)
    assert record.channels["inverse.status"].tolist() == said
    export_csv(record, tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="", encoding="utf-8") as file:
        table = list(csv.reader(file))
    assert table[0] == ["time", "inverse.status", "x"]
    assert [row[1] for row in table[1:]] == said
    export_npz(record, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as arrays:
        assert arrays["inverse.status"].tolist() == said


def test_the_file_has_its_name_only_when_it_is_closed(path):
    writer = announced(path)
    write_steps(writer, range(2))
    assert not path.exists()
    assert writer.path_partial == path.with_name("run.mcap.part")
    assert writer.path_partial.exists()
    writer.close()
    writer.close()
    assert path.exists()
    assert not writer.path_partial.exists()


def test_a_recording_replaces_an_older_one_only_when_it_is_closed(path):
    path.write_text("older")
    writer = announced(path)
    assert path.read_text() == "older"
    writer.close()
    assert len(read_record(path).time) == 0


def test_a_run_that_ends_early_says_how(path):
    writer = announced(path)
    write_steps(writer, range(2))
    writer.close(status="stopped by the user")
    record = read_record(path)
    assert_holds_steps(record, 2)
    assert (record.complete, record.status) == (False, "stopped by the user")


def test_after_an_exception_the_recording_stays_under_its_partial_name(path):
    with pytest.raises(ZeroDivisionError), announced(path) as writer:
        write_steps(writer, range(3))
        raise ZeroDivisionError("the step")
    assert not path.exists()
    record = read_record(writer.path_partial)
    assert_holds_steps(record, 3)
    assert (record.complete, record.status) == (False, "failed: ZeroDivisionError: the step")


WRITE_UNTIL_KILLED = """
import sys
import numpy as np
from sofa_softctl.record import writer

writer.FLUSH_INTERVAL = 0.0
record = writer.RecordWriter(sys.argv[1], {"backend": "embedded"})
record.add_channel("x", unit="mm", shape=(2,))
for step in range(10**9):
    record.write(step * 0.1, {"x": np.array([step, 1 / (step + 1)])})
    if step == 20:
        print("go", flush=True)
"""


def test_a_killed_run_leaves_its_steps_under_the_partial_name(path):
    """The 21 steps before the signal are flushed one by one; later ones as far as they got."""
    command = [sys.executable, "-c", WRITE_UNTIL_KILLED, str(path)]
    root = Path(writer_module.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"go\n"
        process.send_signal(signal.SIGKILL)
    assert not path.exists()
    record = read_record(path.with_name("run.mcap.part"))
    steps = np.arange(len(record.time))
    assert len(steps) >= 21
    assert record.time.tolist() == [step * 0.1 for step in steps.tolist()]
    assert record.channels["x"].tolist() == np.stack([steps, 1 / (steps + 1)], axis=1).tolist()
    assert record.metadata == {"backend": "embedded"}
    assert record.units == {"x": "mm"}
    assert not record.complete
    assert record.status.startswith("truncated")


def test_steps_are_flushed_after_the_interval(path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(writer_module, "monotonic", lambda: clock[0])
    writer = announced(path)
    write_steps(writer, range(3))
    clock[0] += 0.5
    write_steps(writer, range(3, 4))
    assert len(read_record(writer.path_partial).time) == 0
    clock[0] += 0.6
    write_steps(writer, range(4, 5))
    assert_holds_steps(read_record(writer.path_partial), 5)
    writer.close()


def test_a_truncated_file_is_read_as_far_as_it_goes(path, monkeypatch):
    """Small chunks, so that every length ends in another one; only the whole file is complete."""
    monkeypatch.setattr(writer_module, "CHUNK_SIZE", 300)
    with announced(path) as writer:
        write_steps(writer, range(9))
    data, counts = path.read_bytes(), []
    part = path.with_name("part.mcap")
    for length in [*range(8, len(data), 13), *range(len(data) - 12, len(data))]:
        part.write_bytes(data[:length])
        record = read_record(part)
        assert not record.complete
        assert record.status.startswith("truncated")
        if record.channels:
            assert_holds_steps(record, len(record.time))
        counts.append(len(record.time))
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == 9
    assert len(set(counts)) > 4


def test_damage_costs_a_chunk_of_a_recording_but_never_changes_it(path, monkeypatch):
    """Each chunk has a checksum: whatever byte is wrong costs it alone, and changes nothing."""
    monkeypatch.setattr(writer_module, "CHUNK_SIZE", 300)
    with announced(path) as writer:
        write_steps(writer, range(9))
    data, counts = path.read_bytes(), []
    for at in np.random.default_rng(0).integers(0, len(data), 300):
        damaged = bytearray(data)
        damaged[at] ^= 0x41
        path.write_bytes(damaged)
        try:
            record = read_record(path)
        except RecordError:
            continue
        assert len(record.time) == 9 or not record.complete
        if not len(record.time):
            continue
        assert set(record.channels) == {POSITION, FORCE}
        steps = [round(each * 10) for each in record.time]
        assert record.time.tolist() == [time(step) for step in steps]
        expected = np.array([position(step) for step in steps])
        assert record.channels[POSITION].tobytes() == expected.tobytes()
        counts.append(len(steps))
    # A chunk has two steps; a wrong length may hide the chunks behind it, once in a hundred.
    assert np.quantile(counts, 0.05) >= 7 and counts.count(9) > 50


def test_damage_says_which_steps_are_lost(path, monkeypatch):
    monkeypatch.setattr(writer_module, "CHUNK_SIZE", 300)
    with announced(path) as writer:
        write_steps(writer, range(9))
    data = bytearray(path.read_bytes())
    starts = [entry.chunk_start_offset for entry in summary_of(path).chunk_indexes]
    data[starts[1] + 60] ^= 1
    path.write_bytes(data)
    record = read_record(path)
    gap = int(np.argmax(np.diff(record.time))) + 1
    lost = 9 - len(record.time)
    assert lost and record.status == (
        f"damaged: {lost} of 9 steps cannot be read, between t = {record.time[gap - 1]:.6g} and "
        f"t = {record.time[gap]:.6g}"
    )
    data[starts[1]] ^= 0x41  # what kind of part it is: the next one is found all the same
    path.write_bytes(data)
    assert len(read_record(path).time) == len(record.time)


def test_a_chunk_that_is_not_called_one_is_missed(path, monkeypatch):
    """Readers skip records of an unknown kind: the number of steps says that some are missing."""
    monkeypatch.setattr(writer_module, "CHUNK_SIZE", 300)
    with announced(path) as writer:
        write_steps(writer, range(9))
    data = bytearray(path.read_bytes())
    data[summary_of(path).chunk_indexes[1].chunk_start_offset] ^= 0x41
    path.write_bytes(data)
    record = read_record(path)
    assert len(record.time) < 9 and not record.complete
    assert record.status.startswith(f"damaged: {9 - len(record.time)} of 9 steps cannot be read")


def test_the_index_leads_to_every_message(path):
    """Viewers seek by it: messages of numbers, of texts, and of a channel that comes later."""
    with announced(path) as writer:
        writer.add_channel("status", shape=None)
        for step in range(6):
            if step == 3:
                writer.add_channel("late", shape=(2,))
            late = {"late": np.full(2, float(step))} if step > 2 else {}
            writer.write(
                time(step), {POSITION: position(step), FORCE: force(step), "status": "ok"} | late
            )
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        statistics = reader.get_summary().statistics
        seen = [
            (channel.topic, message.log_time, message.sequence)
            for _, channel, message in reader.iter_messages(
                topics=[POSITION, FORCE, "status", "late"]
            )
        ]
    assert statistics.message_count == 6 * 3 + 3 == sum(statistics.channel_message_counts.values())
    assert (statistics.message_start_time, statistics.message_end_time) == (0, 500_000_000)
    expected = {(name, step) for step in range(6) for name in (POSITION, FORCE, "status")}
    expected |= {("late", step) for step in (3, 4, 5)}
    assert {(name, step) for name, _, step in seen} == expected and len(seen) == len(expected)
    assert all(stamp == step * 100_000_000 for _, stamp, step in seen)


def summary_of(path):
    with open(path, "rb") as file:
        return make_reader(file).get_summary()


@pytest.mark.parametrize(
    ("when", "values", "message"),
    [
        (1.0, {POSITION: position(0), FORCE: force(0)}, "later than 1.0. Got: 1.0"),
        (0.9, {POSITION: position(0), FORCE: force(0)}, "later than 1.0. Got: 0.9"),
        (np.nan, {POSITION: position(0), FORCE: force(0)}, "later than 1.0. Got: nan"),
        (1e300, {POSITION: position(0), FORCE: force(0)}, "later than 1.0. Got: 1e+300"),
        (2.0, {POSITION: position(0)}, f"at time 2.0 there is no value for {FORCE}."),
        (2.0, {"tip": force(0)}, f"no channel 'tip'. Known are {POSITION}, {FORCE}."),
        (2.0, {FORCE: np.zeros(1)}, f"'{FORCE}' must have shape (). Got: (1,)"),
        (2.0, {POSITION: np.zeros(9)}, f"'{POSITION}' must have shape (3, 3). Got: (9,)"),
    ],
)
def test_a_step_that_cannot_be_written_is_refused_as_a_whole(path, when, values, message):
    with announced(path) as writer:
        writer.write(1.0, {POSITION: position(0), FORCE: force(0)})
        with pytest.raises(RecordError) as raised:
            writer.write(when, values)
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"{path}: ")
    assert read_record(path).time.tolist() == [1.0]


def test_time_begins_at_zero_or_later(path):
    with announced(path) as writer, pytest.raises(RecordError, match=r"Got: -0\.1"):
        writer.write(-0.1, {POSITION: position(0), FORCE: force(0)})


@pytest.mark.parametrize("name", ["", "time", "metadata", FORCE])
def test_names_of_channels_are_free_and_used_once(path, name):
    with announced(path) as writer, pytest.raises(RecordError, match="cannot be a channel"):
        writer.add_channel(name, shape=())


def test_a_channel_that_comes_later_is_nan_before(path):
    with announced(path) as writer:
        write_steps(writer, range(2))
        writer.add_channel("late", shape=(2,), unit="mm")
        writer.add_channel("text", shape=None)
        for step in range(2, 5):
            late = {"late": np.full(2, step), "text": f"step {step}"}
            writer.write(time(step), {POSITION: position(step), FORCE: force(step), **late})
    record = read_record(path)
    assert record.complete
    assert_holds_steps(record, 5)
    expected = [[np.nan] * 2] * 2 + [[step] * 2 for step in range(2, 5)]
    np.testing.assert_array_equal(record.channels["late"], expected)
    assert record.channels["text"].tolist() == ["", "", "step 2", "step 3", "step 4"]


def test_metadata_are_text(path):
    with pytest.raises(RecordError, match="metadata must be text. Got: 'dt': 0.01"):
        RecordWriter(path, {"dt": 0.01})
    assert not path.with_name("run.mcap.part").exists()


def test_a_folder_that_cannot_be_written_to_is_named(recorded, tmp_path):
    with pytest.raises(RecordError, match=r"Cannot write '.*run\.mcap/run\.mcap': File exists"):
        RecordWriter(tmp_path / "run.mcap" / "run.mcap", {})
    with pytest.raises(RecordError, match=r"Cannot write '.*run\.csv': File exists"):
        export_csv(recorded, tmp_path / "run.mcap" / "run.csv")


def test_what_is_no_recording_is_refused(tmp_path):
    other = tmp_path / "other.mcap"
    with pytest.raises(RecordError, match=r"cannot be read \(No such file or directory\)"):
        read_record(other)
    other.write_bytes(b"time,x\n")
    with pytest.raises(
        RecordError, match=r"expected an MCAP file\. Got a file that begins with b'"
    ):
        read_record(other)
    with open(other, "wb") as file:
        writer = Writer(file)
        writer.start("ros2")
        writer.finish()
    with pytest.raises(
        RecordError, match=r"expected an MCAP file of the profile 'softctl'.*'ros2'"
    ):
        read_record(other)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("json", b'{"time": 0, "value": [1, 2, 3]}'),
        ("json", b"[]"),
        ("protobuf", b"\x09" + bytes(8) + b"\x12\x18" + bytes(24)),
        ("protobuf", b"\x11" + bytes(8) + b"\x12\x10" + bytes(16)),
        ("protobuf", b"\x09" + bytes(8) + b"\x12\x11" + bytes(16)),
    ],
)
def test_messages_of_a_stranger_are_refused(path, kind, data):
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start("softctl")
        schema = writer.register_schema("s", kind, b"{}")
        channel = writer.register_channel("x", kind, schema, {"shape": "[2]"})
        writer.add_message(channel, 0, data, 0)
        writer.finish()
    with pytest.raises(RecordError, match="channel 'x' is not as `softctl run` writes it"):
        read_record(path)


def test_an_unknown_status_is_not_complete(path):
    """A file of our profile whose end says nothing."""
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start("softctl")
        writer.finish()
    assert not read_record(path).complete


def test_csv_has_a_column_for_each_number_and_keeps_every_bit(recorded, tmp_path):
    path = tmp_path / "run.csv"
    export_csv(recorded, path)
    with open(path, newline="") as file:
        names, *rows = csv.reader(file)
    points = [f"{POSITION}[{i}].{axis}" for i in range(3) for axis in "xyz"]
    assert names == ["time", *(f"{name} [mm]" for name in points), f"{FORCE} [N]"]
    table = np.array(rows, dtype=float)
    assert table[:, 0].tolist() == recorded.time.tolist()
    assert table[:, 1:10].tobytes() == recorded.channels[POSITION].tobytes()
    assert table[:, 10].tolist() == recorded.channels[FORCE].tolist()


def test_csv_names_rigid_frames_vectors_and_matrices(path, tmp_path):
    with RecordWriter(path, {}) as writer:
        writer.add_channel("r", shape=(1, 7))
        writer.add_channel("v", shape=(2,))
        writer.add_channel("W", shape=(1, 2))
        writer.add_channel("none", shape=(0, 3))
    export_csv(read_record(path), tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text() == (
        "time,r.x,r.y,r.z,r.qx,r.qy,r.qz,r.qw,v[0],v[1],W[0],W[1]\n"
    )


def test_columns_have_the_names_of_actuators_effectors_and_parameters(path, tmp_path):
    """Effectors by the ends of their nodes' paths that tell them apart; others by index."""
    about = {
        "inverse.actuators": '["left", "right"]',
        "inverse.effectors": '[["/a/tip/x", "/a/tip/y"], ["/b/tip/x"]]',
        "fit.parameters": '["mass", "friction"]',
        "odd.actuators": '["same", "same"]',
        "old.actuators": "no JSON",
    }
    with RecordWriter(path, about) as writer:
        writer.add_channel("inverse.effort", shape=(2,), unit="mN, kPa")
        writer.add_channel("inverse.error", shape=(2,), unit="mm")
        writer.add_channel("inverse.tip", shape=(2, 3), unit="mm")
        writer.add_channel("inverse.gap", shape=(1,))
        writer.add_channel("inverse.observation", shape=(2,))
        writer.add_channel("fit.half_width", shape=(2,), unit="kg, N")
        writer.add_channel("odd.effort", shape=(2,))
        writer.add_channel("old.effort", shape=(2,))
    export_csv(read_record(path), tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="", encoding="utf-8") as file:
        (head,) = csv.reader(file)
    assert head == [
        *("time", "inverse.effort.left [mN]", "inverse.effort.right [kPa]"),
        *("inverse.error.a/tip [mm]", "inverse.error.b/tip [mm]"),
        *(f"inverse.tip.{tip}.{axis} [mm]" for tip in ("a/tip", "b/tip") for axis in "xyz"),
        *("inverse.gap", "inverse.observation[0]", "inverse.observation[1]"),
        *("fit.half_width.mass [kg]", "fit.half_width.friction [N]"),
        *("odd.effort[0]", "odd.effort[1]", "old.effort[0]", "old.effort[1]"),
    ]


@pytest.mark.parametrize(
    ("interval", "steps"), [(1, range(7)), (3, (0, 3, 6)), (4, (0, 4, 6)), (99, (0, 6))]
)
def test_a_part_of_a_recording_has_every_nth_step_and_the_last(recorded, interval, steps):
    chosen = select(recorded, interval=interval)
    assert chosen.time.tolist() == [time(step) for step in steps]
    assert chosen.channels[FORCE].tolist() == [float(force(step)) for step in steps]


def test_a_part_of_a_recording_has_the_channels_that_match(recorded):
    assert set(select(recorded, [FORCE]).channels) == {FORCE}
    assert set(select(recorded, ["*"]).channels) == {POSITION, FORCE}
    closest = POSITION.replace("o", "", 1)
    for pattern in (closest, f"*{closest[2:]}"):
        with pytest.raises(RecordError, match=f"no channel '.*'. The closest is '{POSITION}'"):
            select(recorded, [FORCE, pattern])


def test_npz_holds_the_arrays_the_units_and_the_metadata(recorded, tmp_path):
    path = tmp_path / "run.npz"
    export_npz(recorded, path)
    with np.load(path) as arrays:
        assert set(arrays) == {"time", "metadata", POSITION, FORCE}
        assert arrays["time"].tobytes() == recorded.time.tobytes()
        assert arrays[POSITION].tobytes() == recorded.channels[POSITION].tobytes()
        assert arrays[FORCE].shape == (7,)
        about = json.loads(str(arrays["metadata"]))
    assert about["units"] == {POSITION: "mm", FORCE: "N"}
    assert about["metadata"]["scene"] == "trunk.py"
    assert about["status"] == "complete"


@pytest.mark.parametrize("export", [export_csv, export_npz])
def test_an_export_that_fails_leaves_the_older_file(recorded, tmp_path, export, monkeypatch):
    path = tmp_path / "run.out"
    path.write_text("older")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space")))
    with pytest.raises(RecordError, match=r"Cannot write '.*run\.out': No space"):
        export(recorded, path)
    assert path.read_text() == "older"
    assert list(path.parent.glob("*run*.out")) == [path]


def test_a_second_writer_of_one_file_is_refused(tmp_path):
    """It would have renamed the first one's file, and the first would have lost its steps."""
    with RecordWriter(tmp_path / "run.mcap", {}) as first:
        first.add_channel("x", shape=())
        first.write(0.0, {"x": np.array(1.0)})
        with pytest.raises(RecordError, match="another run is recording to this file"):
            RecordWriter(tmp_path / "run.mcap", {})
        first.write(0.1, {"x": np.array(2.0)})
    assert read_record(tmp_path / "run.mcap").channels["x"].tolist() == [1.0, 2.0]


def test_a_second_writer_takes_nothing_from_a_finished_recording(path, monkeypatch):
    """It opened the partial file before the first one renamed it, and locks it afterwards."""
    first = announced(path)
    write_steps(first, range(3))
    real, waiting = fcntl.flock, [True]

    def flock(file, how):
        if waiting and waiting.pop():
            first.close()
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with announced(path.with_name("run.mcap")) as second:
        assert_holds_steps(read_record(path), 3)
        write_steps(second, range(2))
    assert_holds_steps(read_record(path), 2)


def test_a_recording_is_replaced_only_where_that_is_asked_for(recorded, path):
    with pytest.raises(RecordError, match=r"run\.mcap' exists already.*give --force"):
        RecordWriter(path, {}, overwrite=False)
    assert_holds_steps(read_record(path), 7)
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_run_left_is_replaced_only_where_that_is_asked_for(path):
    part = path.with_name("run.mcap.part")
    part.write_bytes(b"steps")
    with pytest.raises(RecordError, match=r"run\.mcap\.part' is what an earlier run left"):
        RecordWriter(path, {}, overwrite=False)
    assert part.read_bytes() == b"steps"
    with RecordFile(path):  # reserved, but the run failed before it had a step
        pass
    assert part.read_bytes() == b"steps"
    with RecordWriter(path, {}):
        pass
    assert not part.exists()


def test_a_reserved_file_is_locked_and_leaves_nothing(path):
    with RecordFile(path), pytest.raises(RecordError, match="another run is recording"):
        RecordFile(path)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("name", ["run.csv", "run.npz", "run", "run.mcap.part", "run.MP4"])
def test_a_recording_is_named_as_what_it_is(tmp_path, name):
    with pytest.raises(RecordError, match=r"a recording is an MCAP file\. Name it '.*run.*\.mcap'"):
        RecordFile(tmp_path / name)
    assert not list(tmp_path.iterdir())


WRITE_UNTIL_FULL = """
import resource, signal, sys
import numpy as np
from sofa_softctl.errors import RecordError
from sofa_softctl.record import writer

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
random = np.random.default_rng(0)
record = writer.RecordWriter(sys.argv[1], {})
record.add_channel("x", shape=(1000,))
for step in range(int(sys.argv[3])):
    try:
        record.write(step * 0.1, {"x": random.random(1000)})
    except RecordError as error:
        print(error)
        break
try:
    record.close(status="stopped")
except RecordError as error:
    print(error)
"""


@pytest.mark.parametrize("steps", [200, 100])
def test_a_full_disk_names_what_is_safe(path, steps):
    """1 MB is the largest file; 200 steps are 1.6 MB, 100 steps fit but for the last chunk."""
    limit = 1_000_000 if steps == 200 else 780_000
    command = [sys.executable, "-c", WRITE_UNTIL_FULL, str(path), str(limit), str(steps)]
    root = Path(writer_module.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert not done.stderr
    said = re.fullmatch(
        rf"Cannot write '{path}' any more: File too large\. The first (\d+) of (\d+) steps are "
        rf"safe in '{path}\.part', which 'softctl info' and read_record read\. .*\n",
        done.stdout,
    )
    assert said, done.stdout
    assert not path.exists()
    kept = read_record(path.with_name("run.mcap.part"))
    assert len(kept.time) == int(said[1])
    assert 50 < int(said[1]) < int(said[2]) <= steps
    random = np.random.default_rng(0)
    assert all((row == random.random(1000)).all() for row in kept.channels["x"])
