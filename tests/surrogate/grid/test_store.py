"""The store: what was put comes back, after kills and on full disks too."""

import os
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from sofa_softctl.errors import StoreError
from sofa_softctl.surrogate.grid.evaluation import Sample
from sofa_softctl.surrogate.grid.store import FORMAT, Store, models_in


def sample(seed=0, n=3, d=2, scale=1.0):
    rng = np.random.default_rng(seed)
    return Sample(scale * rng.normal(size=n), scale * rng.normal(size=(n, d)))


def assert_same(one, other):
    np.testing.assert_array_equal(one.value, other.value)
    np.testing.assert_array_equal(one.gradient, other.gradient)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "samples.db"


def test_samples_come_back_to_the_bit(path):
    u = np.array([0.1, -0.3])
    with Store(path, "arm") as store:
        assert store.get(u) is None
        store.put(u, sample(), level=1)
        assert_same(store.get(u), sample())
    with Store(path, "arm") as store:
        assert_same(store.get(u), sample())
        assert len(store) == 1


def test_minus_zero_is_the_same_point(path):
    with Store(path, "arm") as store:
        store.put(np.array([-0.0, 1.0]), sample())
        assert_same(store.get(np.array([0.0, 1.0])), sample())


def test_models_in_one_file_do_not_mix(path):
    u = np.zeros(2)
    with Store(path, "arm") as arm, Store(path, "fish") as fish:
        arm.put(u, sample(1))
        assert fish.get(u) is None
        assert list(fish) == []
        fish.put(u, sample(2))
        fish.failed(np.ones(2), "it folds")
        assert_same(arm.get(u), sample(1))
        assert_same(fish.get(u), sample(2))
        assert arm.get(np.ones(2)) is None
        assert (len(arm), len(fish)) == (1, 2)
        assert fish.forget_failed() == 1
        assert (len(arm), len(fish)) == (1, 1)


def test_failed_points_keep_their_message_until_they_are_answered(path):
    u = np.array([1.0, 2.0])
    with Store(path, "arm") as store:
        store.failed(u, "it buckles")
        assert store.get(u) == "it buckles"
        store.put(u, sample())
        assert_same(store.get(u), sample())
        assert store.info().failed == 0


def test_iteration_and_info_tell_what_there_is(path):
    with Store(path, "arm") as store:
        for k, level in enumerate((0, 0, 2)):
            store.put(np.full(2, float(k)), sample(k), level=level)
        store.failed(np.array([9.0, 9.0]), "it folds", level=1)
        stored = list(store)
        info = store.info()
    assert [s.u.tolist() for s in stored] == [[0, 0], [1, 1], [2, 2], [9, 9]]
    assert [s.level for s in stored] == [0, 0, 2, 1]
    assert_same(stored[2].answer, sample(2))
    assert stored[3].answer == "it folds"
    assert info.samples == {0: 2, 2: 1}
    assert (info.failed, info.models, info.model, info.format) == (1, 1, "arm", FORMAT)
    assert info.size > 3 * sample().value.nbytes
    assert info.created.utcoffset().total_seconds() == 0
    assert info.version


def test_single_precision_has_a_relative_error_of_6e_8_and_half_the_size(path, tmp_path):
    """Half a unit in the last of 24 binary digits: 2^-24 = 6.0e-8."""
    n = 4000
    for scale in (1e-6, 1.0, 1e6):
        whole = sample(3, n, 4, scale)
        with Store(path, f"{scale}", precision="float32") as store:
            store.put(np.zeros(4), whole)
            found = store.get(np.zeros(4))
        assert np.abs(found.value / whole.value - 1).max() <= 6e-8
        assert np.abs(found.gradient / whole.gradient - 1).max() <= 6e-8
    sizes = {}
    for precision in ("float64", "float32"):
        with Store(tmp_path / precision, "arm", precision=precision) as store:
            store.put(np.zeros(4), whole)
        sizes[precision] = (tmp_path / precision).stat().st_size
    assert sizes["float64"] - sizes["float32"] == pytest.approx(5 * n * 4, rel=0.1)


def test_both_precisions_are_read_from_one_model(path):
    with Store(path, "arm") as store:
        store.put(np.zeros(2), sample(1))
    with Store(path, "arm", precision="float32") as store:
        store.put(np.ones(2), sample(2))
        assert_same(store.get(np.zeros(2)), sample(1))
        np.testing.assert_allclose(store.get(np.ones(2)).value, sample(2).value, rtol=6e-8)


WRITER = """
import sys
import numpy as np
from sofa_softctl.surrogate.grid.evaluation import Sample
from sofa_softctl.surrogate.grid.store import Store
store = Store(sys.argv[1], "arm")
for k in range(100_000):
    store.put(np.full(2, float(k)), Sample(np.full(500, k), np.full((500, 2), -k)))
    print(k, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [1, 7, 40])
def test_what_was_acknowledged_survives_a_kill(path, acknowledged):
    """The writer is killed (-9) at some instant of its next writes."""
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        told = [int(writer.stdout.readline()) for _ in range(acknowledged)]
        os.kill(writer.pid, signal.SIGKILL)
        told += [int(line) for line in writer.stdout if line.endswith("\n")]
    assert len(told) >= acknowledged
    with Store(path, "arm") as store:
        assert len(store) in (len(told), len(told) + 1)  # one may be written but not yet told
        for k in told:
            found = store.get(np.full(2, float(k)))
            assert_same(found, Sample(np.full(500, k), np.full((500, 2), -k)))
        store.put(np.full(2, -1.0), sample())


def test_a_full_disk_is_told_and_loses_nothing(path):
    """SQLite's own limit of pages stands for the disk: the error is the same."""
    with Store(path, "arm") as store:
        store.put(np.zeros(2), sample())
        pages = store._file.row("PRAGMA page_count")[0]
        store._file.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(
            StoreError, match=r"samples.db: the store cannot grow, the disk is full"
        ):
            store.put(np.ones(2), sample(1, n=4000))
        assert_same(store.get(np.zeros(2)), sample())
        assert store.get(np.ones(2)) is None
        store._file.execute("PRAGMA max_page_count = 100000")
        store.put(np.ones(2), sample(1, n=4000))  # space was freed
    with Store(path, "arm") as store:
        assert_same(store.get(np.ones(2)), sample(1, n=4000))


def test_a_file_that_is_no_store_is_refused_and_left_alone(path):
    path.write_bytes(b"PK\x03\x04 no database" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="the store is no SQLite file. Choose another file."):
        Store(path, "arm")
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE songs (title TEXT)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="expected a store of samples. Choose another"):
        Store(path, "arm")
    assert path.read_bytes() == before


def test_a_newer_format_is_refused(path):
    Store(path, "arm").close()
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {FORMAT + 1}")
    newer.close()
    before = path.read_bytes()
    message = f"format {FORMAT + 1}, this version of softctl reads formats up to {FORMAT}. Update"
    with pytest.raises(StoreError, match=message):
        Store(path, "arm")
    assert path.read_bytes() == before


def test_a_file_of_format_1_is_brought_up_to_date_and_loses_nothing(path):
    """As versions wrote it that knew one answer a point."""
    with Store(path, "arm") as store:
        store.put(np.zeros(2), sample(), level=3)
        store.failed(np.ones(2), "it buckles")
    old = sqlite3.connect(path)
    old.executescript(
        """
        ALTER TABLE samples RENAME TO new;
        CREATE TABLE samples (
            model INTEGER NOT NULL REFERENCES models, point BLOB NOT NULL, level INTEGER NOT NULL,
            outputs INTEGER, inputs INTEGER, precision TEXT, value BLOB, gradient BLOB,
            message TEXT, UNIQUE (model, point)
        );
        INSERT INTO samples SELECT model, point, level, outputs, inputs, precision, value,
            gradient, message FROM new;
        DROP TABLE new;
        PRAGMA user_version = 1;
        """
    )
    old.close()
    with Store(path, "arm") as store:
        assert store.info().format == FORMAT
        np.testing.assert_array_equal(store.get(np.zeros(2)).value, sample().value)
        assert store.get(np.ones(2)) == "it buckles"
        assert [each.level for each in store] == [3, 0]
        store.put(np.zeros(2), sample(1), branch=1)
        assert len(store.further(np.zeros(2))) == 1


def test_answers_on_other_branches_are_kept_beside_the_first(path):
    with Store(path, "arm") as store:
        for branch in range(3):
            store.put(np.zeros(2), sample(branch), branch=branch)
        np.testing.assert_array_equal(store.get(np.zeros(2)).value, sample(0).value)
        further = [found.value for found in store.further(np.zeros(2))]
        np.testing.assert_array_equal(further, [sample(1).value, sample(2).value])
        assert store.info().branching == 1
        assert store.further(np.ones(2)) == []


def test_a_damaged_sample_is_told(path):
    with Store(path, "arm") as store:
        store.put(np.zeros(2), sample())
        store._file.execute("UPDATE samples SET value = x'00'")
        with pytest.raises(StoreError, match=r"u = \[0. 0.\] is damaged: expected 3 outputs, 2"):
            store.get(np.zeros(2))


def test_a_folder_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened. Choose a folder that exists"):
        Store(tmp_path / "nowhere" / "samples.db", "arm")


def test_bad_samples_are_refused(path):
    with Store(path, "arm", precision="float32") as store:
        with pytest.raises(ValueError, match="has numbers beyond float32"):
            store.put(np.zeros(2), sample(scale=1e39))
        with pytest.raises(ValueError, match=r"must have shape \(3, 2\). Got: \(3, 4\)"):
            store.put(np.zeros(2), sample(d=4))
        with pytest.raises(ValueError, match="no precision 'half'. Known are float64 and float32."):
            Store(path, "arm", precision="half")
        assert len(store) == 0


def test_models_of_what_is_no_store_are_not_listed(path, tmp_path):
    """Of a store that lost its end neither."""
    with Store(path, "arm") as store:
        for number in range(20):
            store.put(np.full(2, number), sample())
    assert models_in(path) == ["arm"]
    os.truncate(path, 5000)
    with pytest.raises(StoreError, match="is damaged. Restore it from a copy"):
        models_in(path)
    other = tmp_path / "other"
    with pytest.raises(StoreError, match="there is no such file"):
        models_in(other)
    other.write_text("a letter, long enough to be taken for a database of another program " * 9)
    with pytest.raises(StoreError, match="is no SQLite file"):
        models_in(other)


def test_models_are_found_while_a_plan_goes_on(path):
    """Its first lines are still in the log then, the file's name for itself among them."""
    with Store(path, "arm") as store:
        store.put(np.zeros(2), sample())
        assert models_in(path) == ["arm"]
