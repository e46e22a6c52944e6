"""Studies whose workers and drivers are killed."""

import os
import platform
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.batch.execution import driver
from sofa_softctl.batch.execution.run_one import remove_leftovers
from sofa_softctl.batch.study.file import read_study
from sofa_softctl.batch.table.folder import StudyFolder
from sofa_softctl.batch.table.results import read_results
from sofa_softctl.errors import StudyError
from tests.batch.studies import MEASURES, done, same_bits, written

STUDY = f"""
scene = "bar.py"
steps = 2
[parameters.young]
range = [300, 900]
[parameters.pause]
values = [0.03]
[sampling]
method = "sobol"
count = 24
{MEASURES}
"""
DRIVER = """
import sys
from pathlib import Path

from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.batch.execution import driver
from sofa_softctl.batch.execution.run_one import remove_leftovers
from sofa_softctl.batch.table.folder import StudyFolder
from sofa_softctl.batch.study.file import read_study

driver.FLUSH_INTERVAL = 0.05
if __name__ == "__main__":
    study = read_study(sys.argv[1])
    with StudyFolder(Path(sys.argv[2]), study) as folder, LocalExecutor(2) as executor:
        driver.run_study(folder, executor, report=lambda done: print(done.done, flush=True))
    print("end", flush=True)
"""
DRIVERS, WORKERS = 2, 2
"""Kills of each."""


def children(pid):
    """Processes that a process has started, but for multiprocessing's tracker of resources."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            try:
                command = Path(f"/proc/{child}/cmdline").read_bytes()
            except OSError:
                continue
            if b"spawn_main" in command:
                found.append(int(child))
    return found


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_study_that_is_killed_again_and_again_has_each_row_once_and_the_same(tmp_path, workers):
    path = written(tmp_path, STUDY)
    undisturbed = done(path, workers)
    (tmp_path / "driver.py").write_text(DRIVER)
    command = [sys.executable, str(tmp_path / "driver.py"), str(path), str(tmp_path / "k.study")]
    chance = random.Random(5)
    kills = ["driver"] * DRIVERS + ["worker"] * WORKERS
    chance.shuffle(kills)
    kills.append("none")  # the last start goes on to the end
    killed = 0
    while kills:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
            wait = chance.randrange(2, 7)
            for line in driver.stdout:
                wait -= 1
                if line == "end\n":
                    kills = []
                if wait or not kills or kills[0] == "none":
                    continue
                time.sleep(chance.uniform(0.0, 0.05))
                wait = chance.randrange(2, 5)
                victim = driver.pid
                if (kind := kills.pop(0)) == "worker":
                    victim = chance.choice(children(driver.pid))
                os.kill(victim, signal.SIGKILL)
                killed += 1
                if kind == "driver":
                    driver.wait()
                    break
            driver.wait()
        assert driver.returncode in (0, -signal.SIGKILL)
    assert killed == DRIVERS + WORKERS
    found = read_results(tmp_path / "k.study")
    if found.counts() != {"OK": 24}:  # of runs that were killed twice
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found = read_results(tmp_path / "k.study")
    assert found.rows["index"].to_pylist() == list(range(24))
    assert same_bits(found) == same_bits(undisturbed)
    assert not found.damaged


def test_a_second_driver_is_refused(tmp_path):
    study = read_study(written(tmp_path))
    with StudyFolder(tmp_path / "bar.study", study):
        with pytest.raises(StudyError, match="another process does this study"):
            StudyFolder(tmp_path / "bar.study", study)
    StudyFolder(tmp_path / "bar.study", study).release()


def test_the_folder_of_another_study_is_refused(tmp_path, workers):
    done(written(tmp_path, STUDY.replace("count = 24", "count = 1")), workers)
    other = written(tmp_path, 'name = "other"\n' + STUDY)
    with pytest.raises(StudyError, match="holds the study 'bar', not 'other'"):
        StudyFolder(tmp_path / "bar.study", read_study(other))


def test_what_has_changed_since_is_said(tmp_path, workers):
    path = written(tmp_path, STUDY.replace("count = 24", "count = 1"))
    done(path, workers)

    def changes():
        with StudyFolder(tmp_path / "bar.study", read_study(path)) as folder:
            return folder.changes()

    assert changes() == []
    (tmp_path / "bar.py").write_text((tmp_path / "bar.py").read_text() + "\n")
    assert changes() == [f"'{tmp_path / 'bar.py'}' was changed"]
    path.write_text(path.read_text().replace('noise = "bar.py:noise"', ""))
    assert changes()[0] == "the study has other measures now"


@pytest.mark.processes
def test_a_study_whose_check_hangs_is_of_its_own_files(tmp_path):
    (tmp_path / "f.py").write_text("import time\n\ntime.sleep(600.0)\n")
    path = tmp_path / "f.toml"
    path.write_text('function = "f.py:f"\nparameters.x.values = [1]\n')
    with LocalExecutor(1, seconds=0.5) as executor:
        found = done(path, executor)
    assert found.counts() == {"TIMEOUT": 1}
    assert list(found.about["sources"]) == ["f.py"]


FULL = """
import errno

def f(x):
    if x == 4:
        raise OSError(errno.ENOSPC, "No space left on device", "/data/there")
    return {"y": x}
"""


@pytest.mark.processes
def test_a_full_disk_ends_the_study_and_its_runs_are_done_later(tmp_path):
    (tmp_path / "f.py").write_text(FULL)
    path = tmp_path / "f.toml"
    path.write_text('function = "f.py:f"\nparameters.x.values = [1, 2, 3, 4, 5]\n')
    with LocalExecutor(1) as executor:
        with pytest.raises(StudyError, match="is full at '/data/there'.* free space"):
            done(path, executor)
        assert read_results(tmp_path / "f.study").rows["y"].to_pylist() == [1, 2, 3]
        (tmp_path / "f.py").write_text(FULL.replace("x == 4", "False"))
    with LocalExecutor(1) as executor:
        assert done(path, executor).rows["y"].to_pylist() == [1, 2, 3, 4, 5]


EDITED = """
import time

K = 1.0

def f(x):
    time.sleep(0.1)
    return {"y": K * x}
"""


@pytest.mark.processes
@pytest.mark.parametrize("back", [False, True])
def test_code_that_is_edited_while_a_study_runs_ends_it_without_its_rows(
    tmp_path, back, monkeypatch
):
    monkeypatch.setattr(driver, "FLUSH_INTERVAL", 0.0)
    file, path = tmp_path / "f.py", tmp_path / "f.toml"
    file.write_text(EDITED)
    path.write_text(f'function = "f.py:f"\nparameters.x.values = {list(range(1, 13))}\n')

    def edit(progress):
        if progress.done == 3:
            file.write_text(EDITED.replace("K = 1.0", "K = 2.0"))

    with LocalExecutor(1) as executor:
        with pytest.raises(StudyError, match="f.py' was changed while the study ran"):
            done(path, executor, report=edit)
    kept = read_results(tmp_path / "f.study")
    assert kept.rows["y"].to_pylist() == [1.0, 2.0, 3.0]
    if back:
        file.write_text(EDITED)
        with LocalExecutor(1) as executor:
            found = done(path, executor)
        assert found.rows["y"].to_pylist() == list(map(float, range(1, 13)))


DIES_ONCE = """
import os
import platform
import signal

if not os.path.exists(__file__ + ".dead"):
    os.mkdir(__file__ + ".dead")
    os.kill(os.getpid(), signal.SIGKILL)

def f(x):
    return {"y": x}
"""


@pytest.mark.processes
def test_a_worker_that_is_killed_while_it_checks_a_study_changes_no_digest(tmp_path):
    (tmp_path / "f.py").write_text(DIES_ONCE)
    path = tmp_path / "f.toml"
    path.write_text('function = "f.py:f"\nparameters.x.values = [1.0]\n')
    with LocalExecutor(1) as executor:
        disturbed = done(path, executor, "disturbed.study")
        undisturbed = done(path, executor, "undisturbed.study")
    assert (tmp_path / "f.py.dead").exists()
    assert same_bits(disturbed) == same_bits(undisturbed)


def test_runs_that_failed_are_done_again_where_it_is_asked_for(tmp_path):
    (tmp_path / "f.py").write_text(
        "import os\n\ndef f(x):\n"
        "    if x == 2 and not os.path.isdir(__file__ + '.there'):\n"
        "        raise RuntimeError('the pump is off')\n"
        "    return {'y': x}\n"
    )
    path = tmp_path / "f.toml"
    path.write_text('function = "f.py:f"\nparameters.x.values = [1, 2, 3]\n')
    with LocalExecutor(1) as executor:
        first = done(path, executor)
        (tmp_path / "f.py.there").mkdir()
        assert done(path, executor).counts() == {"OK": 2, "FAILED": 1}
        found = done(path, executor, retry=True)
    assert found.counts() == {"OK": 3}
    begun = [rows.rows["started"].to_pylist() for rows in (first, found)]
    assert [a == b for a, b in zip(*begun, strict=True)] == [True, False, True]


BETWEEN = (
    DRIVER.replace(
        "driver.FLUSH_INTERVAL = 0.05",
        """
import os
import platform
import signal

class Writer(driver._Writer):
    def add(self, row):
        if row["index"] == 2:
            print("killed", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        super().add(row)

driver._Writer = Writer
driver.FLUSH_INTERVAL = 0.0
""",
    )
    .replace("LocalExecutor(2)", "LocalExecutor(1)")
    .replace("    with StudyFolder", "    token = sys.argv[3]\n    with StudyFolder")
    .replace(
        "        driver.run_study",
        "        folder.token = token or folder.token\n        driver.run_study",
    )
)
"""A driver that is killed when a recording is there, and its row is not yet."""


@pytest.mark.processes
@pytest.mark.parametrize("token", ["", "none"], ids=["workers write", "workers send"])
def test_a_driver_that_is_killed_between_record_and_row_loses_nothing(tmp_path, workers, token):
    """Workers of a cluster, which do not see the folder, send the recording with the row."""
    text = STUDY.replace("count = 24", "count = 4") + '[keep]\nrecord = "all"\n'
    path = written(tmp_path, text)
    undisturbed = done(path, workers)
    (tmp_path / "driver.py").write_text(BETWEEN)
    folder = tmp_path / "k.study"
    command = [sys.executable, tmp_path / "driver.py", path, folder, token]
    killed = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL and "killed" in killed.stdout, killed.stderr
    before = read_results(folder)
    assert before.rows["index"].to_pylist() == [0, 1]
    runs = [run.id for run in read_study(path).runs()]
    unfinished = {path.stem for path in (folder / "records").glob("*.mcap")} - {*runs[:2]}
    assert {f"{run}.mcap" for run in runs[:3]} <= {p.name for p in (folder / "records").iterdir()}
    (folder / "records" / ".record-of-a-killed-run").mkdir()
    notes = []
    found = done(
        path, workers, "k.study", report=lambda progress: notes.append(progress.unfinished)
    )
    assert set(notes) == {len(unfinished)}
    assert same_bits(found) == same_bits(undisturbed)
    assert {p.name for p in (folder / "records").iterdir()} == {f"{run}.mcap" for run in runs}


WAITS = """
import time
from pathlib import Path

from sofa_softctl.batch.table.table import Table

ROWS = Path(__file__).parent / "waits.study" / "rows"


def wait(x):
    end = time.monotonic() + 60.0
    while x == 2 and len(Table(ROWS).status_by_run()) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    return {"y": float(x), "in_time": time.monotonic() < end}
"""


@pytest.mark.processes
def test_rows_are_written_while_a_long_run_goes_on(tmp_path, workers, monkeypatch):
    """The third run ends when the rows of the first two are on the disk."""
    monkeypatch.setattr(driver, "FLUSH_INTERVAL", 0.5)
    (tmp_path / "waits.py").write_text(WAITS)
    path = tmp_path / "waits.toml"
    path.write_text('function = "waits.py:wait"\nparameters.x.values = [0, 1, 2]\n')
    assert done(path, workers).numbers("in_time").tolist() == [1.0, 1.0, 1.0]


def test_leftovers_of_ended_processes_are_removed(tmp_path):
    """Not those of running ones, nor those of another computer."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names = [
        f".record-{platform.node()}-{ended.pid}-abc_def0",
        f".record-{platform.node()}-{os.getpid()}-abc_def0",
        f".record-another-host-{ended.pid}-abc_def0",
        ".record-old",
    ]
    for name in names:
        (tmp_path / name / "a").mkdir(parents=True)
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])
