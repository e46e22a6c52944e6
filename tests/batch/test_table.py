"""Rows on disk: damaged, of others, and where nothing can be written."""

import os
import resource

import pytest

from sofa_softctl.batch.execution.workers import differences
from sofa_softctl.batch.table import table as tables
from sofa_softctl.batch.table.results import read_results
from sofa_softctl.batch.table.table import Table
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
    monkeypatch.setattr(tables, "MERGED_PARTS_MIN", 8)
    table = Table(tmp_path)
    for index in range(20):
        table.append([row(index)])
    assert len(list(tmp_path.iterdir())) < 8
    assert table.read()["index"].to_pylist() == list(range(20))


def test_parts_that_are_large_are_not_merged_again(tmp_path, monkeypatch):
    """So that each row is written twice, not once with every merge."""
    monkeypatch.setattr(tables, "MERGED_PARTS_MIN", 4)
    monkeypatch.setattr(tables, "SMALL_BYTES_MAX", 1)
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


MIXED = [
    ([1, "far", None], ["1.0", "far", None]),
    ([True, 2, 0.5], [1.0, 2.0, 0.5]),
    ([True, "far"], ["true", "far"]),
    ([2, [1, 2]], ["2.0", "[1.0, 2.0]"]),
    ([[1, 2], [], None, [0.5]], [[1.0, 2.0], [], None, [0.5]]),
    ([[True], [2, None]], [[1.0], [2.0, None]]),
    ([["a"], ["b", "c"]], [["a"], ["b", "c"]]),
    ([[1, "a"], [2]], ['[1.0, "a"]', "[2.0]"]),
    ([[1], ["a"]], ["[1.0]", '["a"]']),
    ([2**53 + 1, 10**30, -(10**400)], [2.0**53, 1e30, float("-inf")]),
    (["\udc80", "a"], ["\\udc80", "a"]),
]


@pytest.mark.parametrize("values, expected", MIXED)
def test_a_column_of_several_kinds_of_values_loses_none(tmp_path, values, expected):
    """In one part as in several."""
    together, apart = Table(tmp_path / "together"), Table(tmp_path / "apart")
    together.append([row(index, x=value) for index, value in enumerate(values)])
    for index, value in enumerate(values):
        apart.append([row(index, x=value)])
    for table in together, apart:
        assert table.read()["x"].to_pylist() == expected
        raw = tables.parquet().parquet.read_table(table.folder)
        assert raw.sort_by("index")["x"].to_pylist() == expected


def test_a_study_whose_measure_is_a_number_or_a_text_has_all_its_rows(tmp_path, workers):
    (tmp_path / "of.py").write_text('def f(x):\n    return {"y": "text" if x == 3 else x}\n')
    path = tmp_path / "s.toml"
    path.write_text('function = "of.py:f"\n[parameters.x]\nvalues = [1, 2, 3, 4]\n')
    done(path, workers, count_max=2)
    found = done(path, workers)
    assert found.rows["y"].to_pylist() == ["1.0", "2.0", "text", "4.0"]
    assert differences(found.row("3"), found.as_stored(found.row("3") | {"y": 4})) == []
    assert differences(found.row("3"), found.as_stored(found.row("3") | {"y": 5})) == ["y"]


def test_other_programs_read_the_folder_as_one_table(tmp_path):
    """pandas does so with pyarrow's read_table, which takes the columns of the first part."""
    table = Table(tmp_path)
    table.append([row(0, x=1)])
    table.append([row(1, reason="failed", x=None, far=True)])
    table.append([row(2, x=2)])
    found = tables.parquet().parquet.read_table(tmp_path).sort_by("index")
    assert found["reason"].to_pylist() == [None, "failed", None]
    assert found["x"].to_pylist() == [1.0, None, 2.0]
    assert found["far"].to_pylist() == [None, True, None]


def test_a_row_takes_the_place_of_the_one_before_of_its_run(tmp_path):
    table = Table(tmp_path)
    for status in ("DIED", "DIED", "OK"):
        table.append([row(0, status=status)])
        Table(tmp_path).append([row(1, status=status)])  # as another process
    found = tables.parquet().parquet.read_table(tmp_path)
    assert found.sort_by("index").select(["index", "status"]).to_pylist() == [
        {"index": 0, "status": "OK"},
        {"index": 1, "status": "OK"},
    ]


def test_rows_that_a_writer_that_was_killed_leaves_twice_go_with_the_next_run(tmp_path):
    """The last stays."""
    Table(tmp_path / "a").append([row(0, status="DIED"), row(1)])
    Table(tmp_path / "b").append([row(0)])
    first, second = (tmp_path / name / "part-000001.parquet" for name in "ab")
    second.rename(first.with_name("part-000002.parquet"))
    Table(tmp_path / "a").renumber({"r0": 0, "r1": 1})
    found = tables.parquet().parquet.read_table(tmp_path / "a")
    assert found.sort_by("index")["status"].to_pylist() == ["OK", "OK"]


def test_parts_that_are_not_finished_are_outside_the_folder_and_go(tmp_path, monkeypatch):
    """Some programs read hidden files, too."""
    parquet, table = tables.parquet().parquet, Table(tmp_path / "rows")
    write, left = parquet.write_table, tmp_path / ".rows-left"
    left.mkdir()

    def written_outside(found, path, **options):
        assert path.parent.parent == tmp_path and not list(table.folder.iterdir())
        write(found, path, **options)

    monkeypatch.setattr(parquet, "write_table", written_outside)
    table.append([row(0)])
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]
    assert [path.name for path in table.folder.iterdir()] == ["part-000001.parquet"]


def test_rows_of_another_study_are_not_shown_and_lose_their_number(tmp_path, workers):
    path = written(tmp_path, GRID)
    found = done(path, workers)
    own = tmp_path / "bar.study" / "rows"
    Table(own, "another study").append([row(index) for index in range(12)])
    again = read_results(tmp_path / "bar.study")
    assert len(again.rows) == again.runs == 9
    again = done(path, workers)
    assert same_bits(again) == same_bits(found)
    raw = tables.parquet().parquet.read_table(own)
    assert raw.filter(raw["index"].is_valid()).num_rows == 9 and raw.num_rows == 21


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


@pytest.mark.processes(keep=1)
@pytest.mark.parametrize("damage", [cut, turn_a_bit, empty, strange])
def test_runs_of_a_damaged_part_are_done_again_and_the_part_is_kept(tmp_path, workers, damage):
    path = written(tmp_path, GRID)
    found = done(path, workers)
    done(path, workers, "d.study", count_max=3)
    done(path, workers, "d.study", count_max=3)
    first = tmp_path / "d.study" / "rows" / "part-000001.parquet"
    damage(first)
    (said,) = read_results(tmp_path / "d.study").damaged
    assert str(first) in said and ".." not in said and "FieldRef" not in said
    again = done(path, workers, "d.study")
    assert same_bits(again) == same_bits(found)
    assert (tmp_path / "d.study" / "damaged" / first.name).exists() and not again.damaged
    assert tables.parquet().parquet.read_table(first.parent).num_rows == 9


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
