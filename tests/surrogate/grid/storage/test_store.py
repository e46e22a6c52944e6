"""The store: what was put comes back, after kills and on full disks too."""

import os
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from sofa_softctl.errors import StoreError
from sofa_softctl.surrogate.grid.evaluation import MapSample
from sofa_softctl.surrogate.grid.store import FORMAT, Store, models_in


def sample(seed=0, n=3, d=2, scale=1.0):
    rng = np.random.default_rng(seed)
    return MapSample(scale * rng.normal(size=n), scale * rng.normal(size=(n, d)))


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
        store.write_sample(u, sample(), level=1)
        assert_same(store.get(u), sample())
    with Store(path, "arm") as store:
        assert_same(store.get(u), sample())
        assert len(store) == 1


def test_minus_zero_is_the_same_point(path):
    with Store(path, "arm") as store:
        store.write_sample(np.array([-0.0, 1.0]), sample())
        assert_same(store.get(np.array([0.0, 1.0])), sample())


def test_models_in_one_file_do_not_mix(path):
    u = np.zeros(2)
    with Store(path, "arm") as arm, Store(path, "fish") as fish:
        arm.write_sample(u, sample(1))
        assert fish.get(u) is None
        assert list(fish) == []
        fish.write_sample(u, sample(2))
        fish.write_failure(np.ones(2), "it folds")
        assert_same(arm.get(u), sample(1))
        assert_same(fish.get(u), sample(2))
        assert arm.get(np.ones(2)) is None
        assert (len(arm), len(fish)) == (1, 2)
        arm.write_failure(np.ones(2), "it breaks")
        assert fish.forget_failed() == 1
        assert (len(arm), len(fish)) == (2, 1)
        assert arm.get(np.ones(2)) == "it breaks"


def test_failed_points_keep_their_message_until_they_are_answered(path):
    u = np.array([1.0, 2.0])
    with Store(path, "arm") as store:
        store.write_failure(u, "it buckles")
        assert store.get(u) == "it buckles"
        store.write_sample(u, sample())
        assert_same(store.get(u), sample())
        assert store.info().failed == 0


def test_iteration_and_info_tell_what_there_is(path):
    with Store(path, "arm") as store:
        for k, level in enumerate((0, 0, 2)):
            store.write_sample(np.full(2, float(k)), sample(k), level=level)
        store.write_failure(np.array([9.0, 9.0]), "it folds", level=1)
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
            store.write_sample(np.zeros(4), whole)
            found = store.get(np.zeros(4))
        assert np.abs(found.value / whole.value - 1).max() <= 6e-8
        assert np.abs(found.gradient / whole.gradient - 1).max() <= 6e-8
    sizes = {}
    for precision in ("float64", "float32"):
        with Store(tmp_path / precision, "arm", precision=precision) as store:
            store.write_sample(np.zeros(4), whole)
        sizes[precision] = (tmp_path / precision).stat().st_size
    assert sizes["float64"] - sizes["float32"] == pytest.approx(5 * n * 4, rel=0.1)


def test_both_precisions_are_read_from_one_model(path):
    with Store(path, "arm") as store:
        store.write_sample(np.zeros(2), sample(1))
    with Store(path, "arm", precision="float32") as store:
        store.write_sample(np.ones(2), sample(2))
        assert_same(store.get(np.zeros(2)), sample(1))
        np.testing.assert_allclose(store.get(np.ones(2)).value, sample(2).value, rtol=6e-8)


WRITER = """
import sys
import numpy as np
from sofa_softctl.surrogate.grid.evaluation import MapSample
from sofa_softctl.surrogate.grid.store import Store
store = Store(sys.argv[1], "arm")
for k in range(100_000):
    store.write_sample(np.full(2, float(k)), MapSample(np.full(500, k), np.full((500, 2), -k)))
    print(k, flush=True)
"""


@pytest.mark.soak
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
            assert_same(found, MapSample(np.full(500, k), np.full((500, 2), -k)))
        store.write_sample(np.full(2, -1.0), sample())


BOTH = """
import sys
import numpy as np
from sofa_softctl.surrogate.grid.evaluation import MapSample
from sofa_softctl.surrogate.grid.store import Store
number = int(sys.argv[2])
with Store(sys.argv[1], "arm") as store:
    for k in range(60):
        point = k if k % 3 == 0 else 1000 * number + k
        sample = MapSample(np.full(50, point), np.full((50, 2), -point))
        store.write_sample(np.full(2, float(point)), sample)
"""


@pytest.mark.soak
def test_two_writers_at_once_lose_nothing(path):
    """They create the file together; a third of the points is written by both."""
    writers = [
        subprocess.Popen([sys.executable, "-c", BOTH, str(path), str(number)]) for number in (1, 2)
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    with Store(path, "arm") as store:
        assert len(store) == 20 + 2 * 40
        for each in store:
            assert_same(
                each.answer, MapSample(np.full(50, each.u[0]), np.full((50, 2), -each.u[0]))
            )
        assert store.damaged_count == 0


FULL = """
import resource, sys
import numpy as np
from sofa_softctl.errors import StoreError
from sofa_softctl.surrogate.grid.evaluation import MapSample
from sofa_softctl.surrogate.grid.store import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
store, done = Store(sys.argv[1], "arm"), 0
try:
    for k in range(1000):
        store.write_sample(np.full(2, float(k)), MapSample(np.full(500, k), np.full((500, 2), -k)))
        done += 1
except StoreError as error:
    print(done, error)
"""


@pytest.mark.soak
def test_a_file_that_may_not_grow_is_told_and_keeps_what_it_has(path):
    """The system refuses to write beyond a size of files, within a row."""
    command = [sys.executable, "-c", FULL, str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    count, message = told.split(" ", 1)
    assert "the store could not be read or written (disk I/O error). Check the disk" in message
    with Store(path, "arm") as store:
        assert len(store) == int(count) >= 5
        for each in store:
            k = each.u[0]
            assert_same(each.answer, MapSample(np.full(500, k), np.full((500, 2), -k)))


def test_a_full_disk_is_told_and_loses_nothing(path):
    """SQLite's own limit of pages stands for the disk: the error is the same."""
    with Store(path, "arm") as store:
        store.write_sample(np.zeros(2), sample())
        pages = store._file.row("PRAGMA page_count")[0]
        store._file.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(
            StoreError, match=r"samples.db: the store cannot grow, the disk is full"
        ):
            store.write_sample(np.ones(2), sample(1, n=4000))
        assert_same(store.get(np.zeros(2)), sample())
        assert store.get(np.ones(2)) is None
        store._file.execute("PRAGMA max_page_count = 100000")
        store.write_sample(np.ones(2), sample(1, n=4000))  # space was freed
    with Store(path, "arm") as store:
        assert_same(store.get(np.ones(2)), sample(1, n=4000))


def test_a_file_that_is_no_store_is_refused_and_left_alone(path):
    path.write_bytes(b"PK\x03\x04 no database" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="the store is not a SQLite file. Choose another file."):
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


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_format_is_refused_and_left_alone(path, version):
    """Its samples have no checksums, and are kept under digests that did not tell models apart."""
    Store(path, "arm").close()
    with sqlite3.connect(path) as older:
        older.execute(f"PRAGMA user_version = {version}")
    older.close()
    before = path.read_bytes()
    message = f"has format {version}, this version of softctl reads format {FORMAT}. Earlier"
    with pytest.raises(StoreError, match=message) as raised:
        Store(path, "arm")
    assert "Give another file, or delete this one" in str(raised.value)
    assert path.read_bytes() == before


def test_answers_on_other_branches_are_kept_beside_the_first(path):
    with Store(path, "arm") as store:
        for branch in range(3):
            store.write_sample(np.zeros(2), sample(branch), branch=branch)
        np.testing.assert_array_equal(store.get(np.zeros(2)).value, sample(0).value)
        further = [found.value for found in store.other_branches(np.zeros(2))]
        np.testing.assert_array_equal(further, [sample(1).value, sample(2).value])
        assert store.info().branching == 1
        assert store.other_branches(np.ones(2)) == []


@pytest.mark.parametrize(
    "change",
    [
        "value = x'00'",
        "gradient = CAST('x' AS TEXT)",
        "outputs = 4",
        "precision = 'float32'",
        "level = 1",
        "branch = 7",
        "message = 'it buckles'",
        "checksum = x'00'",
        "point = zeroblob(16)",
    ],
)
def test_a_damaged_sample_is_unknown_and_counted(path, change):
    """Whichever of its columns; its corner is then solved again, and replaces it."""
    u = np.ones(2)
    with Store(path, "arm") as store:
        store.write_sample(np.full(2, 2.0), sample(1))
        store.write_sample(u, sample())
        store._file.execute(f"UPDATE samples SET {change} WHERE rowid = 2")
        assert store.get(u) is None
        assert store.other_branches(u) == []
        assert store.info().damaged == 1
        assert_same(store.get(np.full(2, 2.0)), sample(1))
        assert store.get(np.zeros(2)) is None
        assert store.damaged_count > 0
        store.write_sample(u, sample())
        assert_same(store.get(u), sample())


def test_a_sample_of_another_model_is_damaged_under_this_one(path):
    with Store(path, "arm") as arm, Store(path, "fish") as fish:
        arm.write_sample(np.zeros(2), sample())
        arm._file.execute("UPDATE samples SET model = ?", fish._model)
        assert fish.get(np.zeros(2)) is None
        assert fish.damaged_count == 1


POINTS = [np.array([0.5 * k, -0.25]) for k in range(10)]


@pytest.fixture(scope="module")
def flipped(tmp_path_factory):
    """Bytes of a file with samples of two models, a failed point and a further branch."""
    path = tmp_path_factory.mktemp("flipped") / "whole.db"
    with Store(path, "a" * 64) as store, Store(path, "b" * 64) as other:
        for k, u in enumerate(POINTS[:-1]):
            store.write_sample(u, sample(k, n=40), level=k % 3)
            other.write_sample(u, sample(100 + k, n=40))
        store.write_sample(POINTS[0], sample(50, n=40), branch=1)
        store.write_failure(POINTS[-1], "it buckles")
        store._file.execute("UPDATE models SET created = '2026-01-01T00:00:00+00:00'")
    return path.read_bytes()


def bit_flips(size, count, seed=0):
    """Bits of a file: of its header and schema all alike to the rest, and of the rest."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 8 * 4096, count // 3)
    return [*first.tolist(), *rng.integers(0, 8 * size, count - count // 3).tolist()]


def check_all(store):
    """Solve again what is unknown, as a grid does; everything is as it was then."""
    for k, u in enumerate(POINTS[:-1]):
        if store.get(u) is None:
            store.write_sample(u, sample(k, n=40))
        assert_same(store.get(u), sample(k, n=40))
    assert store.get(POINTS[-1]) in (None, "it buckles")
    for further in store.other_branches(POINTS[0]):
        assert_same(further, sample(50, n=40))
    for each in store:
        assert any(np.array_equal(each.u, u) for u in POINTS)


@pytest.mark.soak
def test_a_flipped_bit_never_gives_a_wrong_sample(flipped, tmp_path):
    """Samples are as they were or unknown; or the file is refused, and left as it was."""
    damaged = refused = 0
    for number, bit in enumerate(bit_flips(len(flipped), 400)):
        path = tmp_path / f"{number}.db"
        data = bytearray(flipped)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        try:
            store = Store(path, "a" * 64)
        except StoreError as error:
            refused += 1
            assert str(error).startswith(f"{path}: ")
            assert "another file" in str(error)
            assert path.read_bytes() == data
            continue
        with store:
            check_all(store)
            store.info()
            damaged += store.damaged_count > 0
    assert damaged > 50 and refused > 10  # else they hit nothing


@pytest.mark.parametrize("part", ["", "-wal"])
def test_a_half_written_file_loses_its_end_alone(path, tmp_path, part):
    """A copy of a file and its log, one of them cut anywhere, as after a power failure."""
    store = Store(path, "a" * 64)
    for k, u in enumerate(POINTS[:-1]):
        store.write_sample(u, sample(k, n=40))
    files = {end: (tmp_path / f"samples.db{end}").read_bytes() for end in ("", "-wal")}
    store.close()
    assert len(files["-wal"]) > 40_000
    for number, share in enumerate(np.linspace(0.0, 1.0, 30)):
        copy = tmp_path / f"copy{number}"
        for end, data in files.items():
            cut = int(share * len(data)) if end == part else len(data)
            (tmp_path / f"copy{number}{end}").write_bytes(data[:cut])
        with Store(copy, "a" * 64) as opened:
            check_all(opened)


def test_a_damaged_date_hides_nothing_else(path):
    with Store(path, "arm") as store:
        store.write_sample(np.zeros(2), sample())
        store._file.execute("UPDATE models SET created = CAST(x'32ff' AS TEXT)")
        assert store.info().created is None
        assert store.info().samples == {0: 1}


def test_a_file_with_a_damaged_structure_is_refused_and_left_alone(path):
    with Store(path, "arm") as store:
        for k in range(20):
            store.write_sample(np.full(2, float(k)), sample(k, n=400))
    data = bytearray(path.read_bytes())
    data[3 * 4096] ^= 0x3F  # the kind of a page
    path.write_bytes(data)
    with pytest.raises(StoreError, match="store is damaged.*Restore it from a copy, or"):
        Store(path, "arm")
    assert path.read_bytes() == data


def test_a_folder_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened. Choose a folder that exists"):
        Store(tmp_path / "nowhere" / "samples.db", "arm")


def test_bad_samples_are_refused(path):
    with Store(path, "arm", precision="float32") as store:
        with pytest.raises(ValueError, match="has numbers beyond float32"):
            store.write_sample(np.zeros(2), sample(scale=1e39))
        with pytest.raises(ValueError, match=r"have shape \(3, 2\), or no columns. Got: \(3, 4\)"):
            store.write_sample(np.zeros(2), sample(d=4))
        with pytest.raises(ValueError, match="no precision 'half'. Known are float64 and float32."):
            Store(path, "arm", precision="half")
        assert len(store) == 0


def test_models_of_what_is_no_store_are_not_listed(path, tmp_path):
    """Of a store that lost its end neither."""
    with Store(path, "arm") as store:
        for number in range(20):
            store.write_sample(np.full(2, number), sample())
    assert models_in(path) == ["arm"]
    os.truncate(path, 5000)
    with pytest.raises(StoreError, match="is damaged. Restore it from a copy"):
        models_in(path)
    other = tmp_path / "other"
    with pytest.raises(StoreError, match="there is no such file"):
        models_in(other)
    other.write_text("a letter, long enough to be taken for a database of another program " * 9)
    with pytest.raises(StoreError, match="is not a SQLite file"):
        models_in(other)


def test_models_are_found_while_a_plan_goes_on(path):
    """Its first lines are still in the log then, the file's name for itself among them."""
    with Store(path, "arm") as store:
        store.write_sample(np.zeros(2), sample())
        assert models_in(path) == ["arm"]
