"""Rows on disk: damaged, of others, and where nothing can be written."""

import os
import resource

import pytest

from sofa_softctl.batch import table as tables
from sofa_softctl.batch.results import read_results
from sofa_softctl.batch.table import Table
from sofa_softctl.errors import StudyError
from tests.batch.studies import GRID, done, same_bits, written


def row(index, **values):
    return {"run": f"r{index}", "index": index, "status": "OK", "digest": "d", **values}


def test_rows_come_back_once_each_in_order_the_last_of_each_run(tmp_path):
    table = Table(tmp_path)
    table.append([row(2, x=1), row(0, x=2.5)])
    table.append([row(1, x=None, y=True), row(2, x=7)])
    found = table.read()
    assert found["index"].to_pylist() == [0, 1, 2]
    assert found["x"].to_pylist() == [2.5, None, 7.0]
    assert found["y"].to_pylist() == [None, True, None]


def test_many_parts_become_one(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MERGED_FROM", 8)
    table = Table(tmp_path)
    for index in range(20):
        table.append([row(index)])
    assert len(list(tmp_path.iterdir())) < 8
    assert table.read()["index"].to_pylist() == list(range(20))


def test_parts_that_are_large_are_not_merged_again(tmp_path, monkeypatch):
    """So that each row is written twice, not once with every merge."""
    monkeypatch.setattr(tables, "MERGED_FROM", 4)
    monkeypatch.setattr(tables, "LARGE", 1)
    table = Table(tmp_path)
    for index in range(9):
        table.append([row(index)])
    assert len(list(tmp_path.iterdir())) == 9


def test_a_reader_misses_no_row_while_another_process_merges(tmp_path, monkeypatch):
    table = Table(tmp_path)
    for index in range(5):
        table.append([row(index)])
    read_part, merged = Table._part, []

    def part(self, path, columns):
        if not merged and path.stem.endswith("3"):
            merged.append(True)
            Table(tmp_path).merge(sorted(tmp_path.iterdir()))
        return read_part(self, path, columns)

    monkeypatch.setattr(Table, "_part", part)
    assert table.read()["index"].to_pylist() == list(range(5))


def test_a_merge_leaves_a_damaged_part_where_it_is(tmp_path):
    table = Table(tmp_path)
    for index in range(3):
        table.append([row(index)])
    damaged = tmp_path / "part-000002.parquet"
    cut(damaged)
    table.merge(sorted(tmp_path.iterdir()))
    assert damaged.exists()
    assert table.read()["index"].to_pylist() == [0, 2]


def test_a_merge_that_was_killed_leaves_each_row_once(tmp_path, monkeypatch):
    table = Table(tmp_path)
    for index in range(3):
        table.append([row(index)])
    with monkeypatch.context() as patch:
        patch.setattr(type(tmp_path), "unlink", lambda *_, **__: (_ for _ in ()).throw(KeyError))
        with pytest.raises(KeyError):
            table.merge(sorted(tmp_path.iterdir()))
    assert len(list(tmp_path.iterdir())) == 4
    assert table.read()["index"].to_pylist() == [0, 1, 2]


def test_measures_that_are_texts_in_some_parts_are_texts(tmp_path):
    table = Table(tmp_path)
    table.append([row(0, x=1.5)])
    table.append([row(1, x="far")])
    assert table.read()["x"].to_pylist() == ["1.5", "far"]


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def turn_a_bit(path):
    data = bytearray(path.read_bytes())
    data[60] ^= 4
    path.write_bytes(data)


def empty(path):
    path.write_bytes(b"")


def strange(path):
    pyarrow = tables.parquet()
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), path)


@pytest.mark.parametrize("damage", [cut, turn_a_bit, empty, strange])
def test_runs_of_a_damaged_part_are_done_again_and_the_part_is_kept(tmp_path, workers, damage):
    path = written(tmp_path, GRID)
    found = done(path, workers)
    done(path, workers, "d.study", most=3)
    done(path, workers, "d.study", most=3)
    first = tmp_path / "d.study" / "rows" / "part-000001.parquet"
    damage(first)
    (said,) = read_results(tmp_path / "d.study").damaged
    assert str(first) in said
    again = done(path, workers, "d.study")
    assert same_bits(again) == same_bits(found)
    assert first.with_name("damaged-part-000001.parquet").exists() and not again.damaged


def test_a_part_that_may_not_be_read_is_no_damage(tmp_path, monkeypatch):
    table = Table(tmp_path)
    table.append([row(0)])

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "open", refused)
    with pytest.raises(StudyError, match="cannot be read: Permission denied"):
        table.read()


def test_a_full_disk_is_said_and_keeps_what_was_there(tmp_path):
    """A limit to the size of files, in place of a disk."""
    table = Table(tmp_path)
    table.append([row(0)])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(StudyError, match="Cannot write .*part-000002.*space left"):
            table.append([row(k, text=os.urandom(50).hex()) for k in range(1, 200)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["part-000001.parquet"]
    assert table.read()["index"].to_pylist() == [0]


def test_a_folder_that_is_no_study_is_said(tmp_path):
    with pytest.raises(StudyError, match="is no folder of a study"):
        read_results(tmp_path)
    (tmp_path / "about.json").write_text('{"format": 99}')
    with pytest.raises(StudyError, match="of another version"):
        read_results(tmp_path)
    (tmp_path / "about.json").write_text('{"format')
    with pytest.raises(StudyError, match="cannot be read"):
        read_results(tmp_path)
