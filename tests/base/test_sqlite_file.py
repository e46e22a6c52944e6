"""SQLite files: whole transactions, upgrades from every version, and foreign files left alone."""

import multiprocessing
import os
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import pytest

from sofa_softctl.base.sqlite_file import SqliteFile, SqliteSchema
from sofa_softctl.errors import StoreError

FIRST = SqliteSchema(
    name="list",
    content="a list of songs",
    application=7,
    version=1,
    tables="CREATE TABLE songs (title TEXT NOT NULL);",
    error=StoreError,
)
THIRD = replace(
    FIRST,
    version=3,
    upgrades={
        1: "ALTER TABLE songs ADD COLUMN year INTEGER; UPDATE songs SET year = 1999;",
        2: "CREATE TABLE singers (name TEXT); INSERT INTO singers SELECT title FROM songs;",
    },
)


@pytest.fixture
def path(tmp_path):
    with SqliteFile(tmp_path / "songs", FIRST, create=True) as file:
        file.execute("INSERT INTO songs VALUES (?)", "Hallelujah")
    return tmp_path / "songs"


def test_a_file_is_upgraded_through_all_versions(path):
    for _ in range(2):  # upgraded when it is opened, then as it is
        with SqliteFile(path, THIRD) as file:
            assert file.row("PRAGMA user_version") == (3,)
            assert list(file.rows("SELECT title, year FROM songs")) == [("Hallelujah", 1999)]
            assert file.row("SELECT name FROM singers") == ("Hallelujah",)


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(path):
    broken = replace(THIRD, upgrades={**THIRD.upgrades, 2: "INSERT INTO nowhere VALUES (1);"})
    with pytest.raises(StoreError, match=r"songs: the list cannot be used \(no such table"):
        SqliteFile(path, broken)
    with SqliteFile(path, FIRST) as file:
        assert file.row("SELECT * FROM songs") == ("Hallelujah",)


def test_a_transaction_that_fails_changes_nothing(path):
    with SqliteFile(path, FIRST) as file:
        with pytest.raises(ZeroDivisionError), file.transaction():
            assert file.execute("DELETE FROM songs") == 1
            raise ZeroDivisionError
        assert file.row("SELECT COUNT(*) FROM songs") == (1,)
        with file.transaction():  # the failed one has ended
            file.execute("DELETE FROM songs")
        assert file.row("SELECT COUNT(*) FROM songs") == (0,)


def test_an_empty_file_becomes_one_of_ours_only_where_it_is_created(tmp_path):
    path = tmp_path / "empty"
    path.touch()
    with pytest.raises(StoreError, match="expected a list of songs. Choose another file."):
        SqliteFile(path, FIRST)
    assert path.read_bytes() == b""
    SqliteFile(path, FIRST, create=True).close()
    SqliteFile(path, FIRST).close()


def test_an_empty_database_of_another_program_is_refused(tmp_path):
    other = sqlite3.connect(tmp_path / "other")
    other.execute("PRAGMA application_id = 8")
    other.close()
    with pytest.raises(StoreError, match="expected a list of songs"):
        SqliteFile(tmp_path / "other", FIRST, create=True)


def open_new(path):
    """In another process: create the file, or open the one that another process created."""
    SCHEMA = replace(FIRST, write_ahead=True)
    with SqliteFile(path, SCHEMA, create=True) as file:
        file.execute("INSERT INTO songs VALUES (?)", str(os.getpid()))


@pytest.mark.processes
def test_processes_may_create_the_same_file_at_once(tmp_path):
    """Without a second look within a transaction 2 to 7 % of these opens failed."""
    with ProcessPoolExecutor(4, multiprocessing.get_context("spawn")) as executor:
        paths = [tmp_path / f"songs{k // 4}" for k in range(240)]
        list(executor.map(open_new, paths))
    with SqliteFile(paths[-1], replace(FIRST, write_ahead=True)) as file:
        assert file.row("SELECT count(*) FROM songs") == (4,)
