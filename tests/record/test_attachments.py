import numpy as np
import pytest

from sofa_softctl.errors import RecordError
from sofa_softctl.record.attachment import MEDIA_TYPE, pack
from sofa_softctl.record.record import read_record
from sofa_softctl.record.writer import RecordWriter

MESH = {
    "rest": np.array([[0.1, -0.0, np.nan], [1e-300, 2.0, 3.0]]),
    "tetrahedra": np.array([[0, 1, 2, 3]], dtype=np.int32),
    "triangles": np.empty((0, 3), dtype=np.int32),
    "method": np.array("large"),
}


def test_arrays_come_back_to_the_bit(tmp_path):
    with RecordWriter(tmp_path / "a.mcap", {}) as writer:
        writer.add_channel("x", shape=())
        writer.attach("bodies/trunk", MESH)
        writer.write(0.1, {"x": 1.0})
        writer.attach("more", {"one": np.array(1.0)})
    record = read_record(tmp_path / "a.mcap")
    assert record.complete
    assert list(record.attachments) == ["bodies/trunk", "more"]
    found = record.attachments["bodies/trunk"]
    assert list(found) == list(MESH)
    for name, array in MESH.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


def test_those_of_a_killed_run_are_there_before_the_first_step(tmp_path):
    writer = RecordWriter(tmp_path / "a.mcap", {})
    writer.add_channel("x", shape=())
    writer.attach("mesh", MESH)
    writer.file.stream.flush()  # the operating system has it: the process may be killed
    assert "mesh" in read_record(tmp_path / "a.mcap.part").attachments
    writer.file.release()


def test_the_same_arrays_are_the_same_bytes():
    assert pack(MESH) == pack({name: array.copy() for name, array in MESH.items()})


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 that is none", pack(MESH)[:-30]])
def test_a_damaged_attachment_is_named(tmp_path, content):
    with RecordWriter(tmp_path / "a.mcap", {}) as writer:
        writer._writer.add_attachment(0, 0, "bodies/trunk", MEDIA_TYPE, content)
    with pytest.raises(RecordError, match=r"a\.mcap: attachment 'bodies/trunk' is not as"):
        read_record(tmp_path / "a.mcap")


def test_attachments_of_other_programs_are_left_alone(tmp_path):
    with RecordWriter(tmp_path / "a.mcap", {}) as writer:
        writer._writer.add_attachment(0, 0, "notes.txt", "text/plain", b"hello")
    assert not read_record(tmp_path / "a.mcap").attachments


def test_pickled_objects_are_refused(tmp_path):
    import io

    file = io.BytesIO()
    np.savez(file, rest=np.array([{"not": "numbers"}], dtype=object))
    with RecordWriter(tmp_path / "a.mcap", {}) as writer:
        writer._writer.add_attachment(0, 0, "bodies/trunk", MEDIA_TYPE, file.getvalue())
    with pytest.raises(RecordError, match="Object arrays cannot be loaded"):
        read_record(tmp_path / "a.mcap")
