"""Streams of a recording: rows with times and clocks of their own, beside the steps."""

import csv
import json

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory

from sofa_softctl.errors import RecordError
from sofa_softctl.record.export import export_csv, export_npz, export_streams
from sofa_softctl.record.record import read_record
from sofa_softctl.record.writer import RecordWriter

AWKWARD = np.array([1 / 3, np.nan, -np.inf, -0.0, 5e-324, 0.1])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.mcap"


@pytest.fixture
def recorded(path):
    """Two steps, between and after which rows came."""
    with RecordWriter(path, {}) as writer:
        writer.add_channel("x", unit="mm", shape=())
        writer.write(0.1, {"x": 1.0})
        writer.add_stream("motor", unit="mm", shape=(3,), description="Where they are.")
        writer.add_stream("state", shape=None)
        writer.add_stream("clearance", shape=())
        writer.write_stream("motor", [np.nan, 0.05], [7.25, 7.35], AWKWARD.reshape(2, 3))
        writer.write_stream("state", [0.05], [7.35], ["läuft"])
        writer.write(0.2, {"x": 2.0})
        writer.write_stream("motor", [0.2], [7.5], [[1.0, 2.0, 3.0]])
        writer.write_stream("clearance", [0.0, 0.1], [7.0, 7.1], [4.0, 5.0])
        writer.write_stream("motor", [], [], np.empty((0, 3)))
    return read_record(path)


def test_rows_come_back_to_the_bit_with_both_clocks(recorded):
    motor = recorded.streams["motor"]
    assert motor.values.tobytes() == np.append(AWKWARD, [1.0, 2.0, 3.0]).tobytes()
    assert motor.values.shape == (3, 3)
    assert motor.time[1:].tolist() == [0.05, 0.2] and np.isnan(motor.time[0])
    assert motor.clock.tolist() == [7.25, 7.35, 7.5]
    assert motor.unit == "mm"
    assert recorded.streams["state"].values.tolist() == ["läuft"]
    assert recorded.streams["state"].clock.tolist() == [7.35]
    assert recorded.streams["clearance"].values.tolist() == [4.0, 5.0]
    with pytest.raises(ValueError, match="read-only"):
        motor.values[0, 0] = 1.0


def test_streams_change_nothing_of_the_steps(recorded):
    assert recorded.time.tolist() == [0.1, 0.2]
    assert list(recorded.channels) == ["x"] and recorded.channels["x"].tolist() == [1.0, 2.0]
    assert recorded.complete and recorded.units == {"x": "mm"}


def test_other_tools_find_both_clocks(recorded, path):
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        found = [entry for entry in reader.iter_decoded_messages(topics=["motor", "state"])]
    schema, channel, message, decoded = found[-1]
    assert (schema.name, channel.topic) == ("softctl.Row", "motor")
    assert (message.log_time, message.publish_time) == (200_000_000, 7_500_000_000)
    assert (decoded.time, decoded.clock, list(decoded.value)) == (0.2, 7.5, [1.0, 2.0, 3.0])
    events = [decoded for schema, *_, decoded in found if schema.name == "softctl.Event"]
    assert [(event.clock, event.value) for event in events] == [(7.35, "läuft")]


def test_a_stream_without_rows_is_there(path):
    with RecordWriter(path, {}) as writer:
        writer.add_stream("motor", shape=(2,))
        writer.add_stream("state", shape=None)
    streams = read_record(path).streams
    assert streams["motor"].values.shape == (0, 2)
    assert streams["state"].values.shape == (0,)


def test_a_recording_of_streams_alone_can_be_read_after_its_process_was_killed(path):
    writer = RecordWriter(path, {})
    writer.add_stream("motor", shape=())
    writer.write_stream("motor", [0.0], [1.0], [2.0])
    writer._flush()
    found = read_record(writer.path_partial)
    assert found.streams["motor"].values.tolist() == [2.0] and not found.complete
    writer.file.release()


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("moter", ([0.0], [0.0], [1.0]), "no stream 'moter'. Known are motor, state"),
        ("motor", ([0.0], [0.0], [1.0, 2.0]), "values of shape \\(\\) each"),
        ("motor", ([0.0], [0.0], [[1.0]]), "values of shape \\(\\) each"),
        ("motor", ([0.0], [], [1.0]), "values of shape \\(\\) each"),
        ("state", ([0.0], [], ["on"]), "values of shape None each"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_of_them_is_written(path, name, rows, message):
    with RecordWriter(path, {}) as writer:
        writer.add_stream("motor", shape=())
        writer.add_stream("state", shape=None)
        with pytest.raises(RecordError, match=message):
            writer.write_stream(name, *rows)
    assert not len(read_record(path).streams["motor"].values)


def test_a_stream_and_a_channel_have_different_names(path):
    with RecordWriter(path, {}) as writer:
        writer.add_channel("x", shape=())
        with pytest.raises(RecordError, match="'x' cannot be a channel"):
            writer.add_stream("x", shape=())


def test_exports_have_them(recorded, tmp_path):
    export_npz(recorded, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as arrays:
        assert arrays["motor"].shape == (3, 3)
        assert arrays["motor@clock"].tolist() == [7.25, 7.35, 7.5]
        assert arrays["clearance@time"].tolist() == [0.0, 0.1]
        assert arrays["state"].tolist() == ["läuft"]
        assert json.loads(str(arrays["metadata"]))["units"] == {
            "x": "mm",
            "motor": "mm",
            "state": "",
            "clearance": "",
        }
    export_csv(recorded, tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text() == "time,x [mm]\n0.1,1.0\n0.2,2.0\n"


def test_streams_of_the_same_rows_are_one_table(path, tmp_path):
    with RecordWriter(path, {}) as writer:
        for name in ("command", "measured", "other"):
            writer.add_stream(name, shape=(2,))
        for name, by in (("command", 0.0), ("measured", 0.5)):
            writer.write_stream(name, [0.0, 0.1], [5.0, 5.1], np.array([[1, 2], [3, 4]]) + by)
    record = read_record(path)
    export_streams(record, ["command", "measured"], tmp_path / "rows.csv")
    rows = list(csv.reader((tmp_path / "rows.csv").read_text().splitlines()))
    assert rows[0][:2] == ["time", "clock [s]"]
    assert rows[0][2:] == ["command[0]", "command[1]", "measured[0]", "measured[1]"]
    assert rows[2] == ["0.1", "5.1", "3.0", "4.0", "3.5", "4.5"]
    with pytest.raises(RecordError, match="rows at different times"):
        export_streams(record, ["command", "other"], tmp_path / "rows.csv")
    with pytest.raises(RecordError, match="no stream 'comand'. Did you mean 'command'"):
        export_streams(record, ["comand"], tmp_path / "rows.csv")


def test_the_commands_show_and_write_them(recorded, path, tmp_path, softctl):
    status, out, _ = softctl("info", path)
    assert status == 0 and "motor" in out and "stream" in out
    assert json.loads(softctl("info", path, "--json")[1])["streams"]["motor"] == {
        "rows": 3,
        "shape": [3],
        "unit": "mm",
        "text": False,
    }
    out = softctl("record", "export", path, "--to", tmp_path / "run.csv")[1]
    assert "Not in it are the streams" in out and "motor" in out
    softctl("record", "export", path, "--stream", "clearance", "--to", tmp_path / "c.csv")
    assert (
        tmp_path / "c.csv"
    ).read_text() == "time,clock [s],clearance\n0.0,7.0,4.0\n0.1,7.1,5.0\n"
