"""Studies on a real Dask cluster: the rows are those of this computer, whatever dies."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from sofa_softctl import batch
from sofa_softctl.base import processes
from sofa_softctl.base.executors import carried, cluster_client
from sofa_softctl.base.executors.cluster import ClusterExecutor
from sofa_softctl.base.executors.retry import WorkerEndedError
from sofa_softctl.base.versions import blas_kernels
from sofa_softctl.batch.study.row import TIMES
from sofa_softctl.batch.table.results import read_results
from sofa_softctl.errors import ClusterError, StudyError, UsageError
from tests.batch.studies import MEASURES, done, same_bits, written
from tests.dask_cluster import DaskCluster, hiding

WITHIN = 60.0
"""Time after which what should have happened has not [s]."""


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """A cluster of one worker that does two tasks at once, under a nanny."""
    with DaskCluster(tmp_path_factory.mktemp("dask")) as found:
        found.worker("--nthreads", "2", "--nworkers", "1")
        yield found


@pytest.fixture
def remote(dask):
    with ClusterExecutor(dask.address) as executor:
        yield executor


def eventually(condition):
    end = time.monotonic() + WITHIN
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


RUNS = f"""
scene = "bar.py"
steps = 3
parameters.young.values = [300, 520, 900]
{MEASURES}
soft = "bar.py:soft"
[keep]
record = "all"
"""
SOFT = """

def soft(session):
    if session.root.body.TetrahedronFEMForceField.youngModulus.value[0] > 600.0:
        raise RuntimeError("it is too stiff")
    return 1.0
"""


@pytest.mark.processes
def test_rows_records_and_movies_are_those_of_this_computer(tmp_path, workers, dask, softctl):
    path = written(tmp_path, RUNS)
    with path.with_name("bar.py").open("a") as scene:
        scene.write(SOFT)
    here = done(path, workers, "here.study")
    path.write_text(path.read_text() + 'movie = "failures"\n')
    status, _, said = softctl("batch", "run", path, "--cluster", dask.address, "--quiet")
    assert (status, said) == (0, "")
    there = read_results(path.with_suffix(".study"))
    assert there.rows["status"].to_pylist() == ["OK", "OK", "FAILED"]
    assert same_bits(there) == same_bits(here)
    kept = [sorted(p.name for p in (each.path / "records").iterdir()) for each in (here, there)]
    assert kept[0] == kept[1] and len(kept[0]) == 3
    assert len(list((there.path / "movies").glob("*.gif"))) == 1
    pids = {row["worker"] for row in there.rows.to_pylist()}
    assert len(pids) == 2 and not any(str(os.getpid()) in pid for pid in pids)


@pytest.mark.processes
def test_python_sends_runs_to_a_cluster_too(tmp_path, workers, dask):
    path = halting(tmp_path)
    (tmp_path / "go").touch()
    here = done(path, workers, "here.study")
    there = batch.run(batch.read_study(path), tmp_path / "there.study", cluster=dask.address)
    assert same_bits(there) == same_bits(here)
    assert not any(str(os.getpid()) in row["worker"] for row in there.rows.to_pylist())
    with pytest.raises(UsageError, match="leave --workers out"):
        batch.run(batch.read_study(path), cluster=dask.address, workers=2)


TROUBLE = """
import os
import signal
import time

def trouble(kind):
    if kind == "raise":
        raise RuntimeError("the cable broke")
    if kind == "exit":
        raise SystemExit(3)
    if kind == "memory":
        print("to fill the memory")
        kept = bytearray(1 << 30)
        time.sleep(600.0)
    if kind == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"y": 1.0}
"""
KINDS = """
function = "trouble.py:trouble"
parameters.kind.values = ["", "raise", "exit", "memory", "die"]
limits.memory = 800
"""


@pytest.mark.processes
def test_runs_that_fail_are_rows_as_on_this_computer(tmp_path, workers, dask, softctl):
    (tmp_path / "trouble.py").write_text(TROUBLE)
    path = tmp_path / "kinds.toml"
    path.write_text(KINDS)
    workers.memory = 8e8
    here = done(path, workers, "here.study")
    assert softctl("batch", "run", path, "--cluster", dask.address, "--quiet") == (0, "", "")
    there = read_results(path.with_suffix(".study"))
    statuses = there.rows["status"].to_pylist()
    assert statuses == ["OK", "FAILED", "FAILED", "MEMORY", "DIED"]
    stack = (*TIMES, "traceback")  # it is called by other functions there
    assert same_bits(there, stack) == same_bits(here, stack)
    for found in (here, there):
        memory, died = found.rows.to_pylist()[3:]
        assert memory["output"] == "to fill the memory\n"
        assert "in trouble\n" in memory["traceback"]
        assert memory["seconds"] > 0.0 and died["started"]
        assert memory["worker"] != died["worker"]


HALTS = """
import os
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def halts(x):
    while x > 0.5 and not os.path.exists(os.path.join(HERE, "go")):
        open(os.path.join(HERE, f"halts-{x}"), "w").close()
        time.sleep(0.02)
    return {"y": x * x}
"""
STUDY = """
function = "halts.py:halts"
[parameters.x]
range = [0, 1]
count = 24
"""


def halting(folder):
    """A study without a scene; the second half of its runs wait for a file 'go' beside it."""
    (folder / "halts.py").write_text(HALTS)
    path = folder / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.mark.processes
def test_an_estimate_is_of_the_workers_of_the_cluster(tmp_path, dask, softctl):
    path = halting(tmp_path)
    (tmp_path / "go").touch()
    _, out, err = softctl("batch", "run", path, "--estimate", "--cluster", dask.address)
    assert "24 runs. 2 at a time." in out, out + err
    assert not path.with_suffix(".study").exists()


@pytest.mark.processes
def test_ctrl_c_keeps_the_rows_and_the_same_command_goes_on(tmp_path, dask, softctl):
    path = halting(tmp_path)
    words = ("batch", "run", path, "--cluster", dask.address)
    command = [sys.executable, "-m", "sofa_softctl.cli", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            eventually(lambda: len(list(tmp_path.glob("halts-*"))) == 2)  # the others are done
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=WITHIN)[1]
        finally:
            process.kill()
    assert process.returncode == 130, said
    assert said == (
        f"Stopped by Ctrl-C. '{path.with_suffix('.study')}' has all rows so far: the same command "
        "continues.\n"
    )
    (tmp_path / "go").touch()
    found = json.loads(softctl(*words, "--json")[1])
    assert found["counts"] == {"OK": 24} and 12 <= found["done_now"] < 24


@pytest.mark.processes
def test_a_task_that_hangs_is_ended_at_its_limit(dask):
    with ClusterExecutor(dask.address, seconds=0.5) as executor:
        with pytest.raises(WorkerEndedError, match="it took longer than 0.5 s") as ended:
            executor.submit(time.sleep, 600.0).result()
    assert ended.value.kind == "time"


def kill_dask_once(path):
    if not os.path.exists(path):
        Path(path).write_text("")
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600.0)
    return "done"


@pytest.mark.processes
def test_a_task_whose_dask_worker_is_killed_is_done_by_the_next(remote, tmp_path):
    """The nanny starts it, at another address; until then there is no worker."""
    assert remote.submit(kill_dask_once, str(tmp_path / "killed")).result() == "done"
    assert remote.count == 2


@pytest.mark.processes
def test_what_a_task_raises_arrives_with_its_traceback_and_a_lost_process_is_said(remote):
    with pytest.raises(ZeroDivisionError) as raised:
        remote.submit(divmod, 1, 0).result()
    assert "answer_of" in str(raised.value.__cause__)
    with pytest.raises(WorkerEndedError, match="ended with status 3") as died:
        remote.submit(os._exit, 3).result()
    assert died.value.kind == "died"
    assert remote.count == 2


@pytest.mark.processes
def test_tasks_that_wait_or_run_end_with_the_executor(dask, tmp_path):
    with pytest.raises(KeyboardInterrupt), ClusterExecutor(dask.address) as executor:
        futures = [executor.submit(sleep_in, str(tmp_path / str(k))) for k in range(4)]
        eventually(lambda: len(list(tmp_path.iterdir())) == 2)
        raise KeyboardInterrupt
    assert all(future.cancelled() for future in futures)
    pids = [int(file.read_text()) for file in tmp_path.iterdir()]
    eventually(lambda: not any(is_running(pid) for pid in pids))


DRIVER = """
import sys

from sofa_softctl.base.executors.cluster import ClusterExecutor
from tests.batch.test_cluster import sleep_in

if __name__ == "__main__":
    with ClusterExecutor(sys.argv[1]) as executor:
        executor.submit(sleep_in, sys.argv[2]).result()
"""


def sleep_in(path):
    Path(f"{path}.new").write_text(str(os.getpid()))
    os.replace(f"{path}.new", path)
    time.sleep(600.0)


def is_running(pid):
    return os.path.exists(f"/proc/{pid}")


@pytest.mark.processes
def test_what_runs_ends_when_the_driver_is_killed(dask, tmp_path):
    (tmp_path / "driver.py").write_text(DRIVER)
    command = [sys.executable, str(tmp_path / "driver.py"), dask.address, str(tmp_path / "pid")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, env=environment) as driver:
        eventually((tmp_path / "pid").exists)
        pid = int((tmp_path / "pid").read_text())
        assert is_running(pid)
        driver.kill()
    eventually(lambda: not is_running(pid))


@pytest.mark.processes
def test_rows_are_the_same_when_workers_and_then_the_scheduler_are_killed(
    tmp_path, workers, remote
):
    path = halting(tmp_path)
    (tmp_path / "go").touch()
    undisturbed = done(path, workers, "here.study")
    with DaskCluster(tmp_path) as first:
        victim = first.worker()
        doomed = {4: victim, 12: first.scheduler}

        def kill(progress):
            if progress.done in doomed:
                doomed.pop(progress.done).kill()
                if progress.done == 4:  # until then, the cluster has no worker
                    first.worker()

        with ClusterExecutor(first.address) as executor:
            with pytest.raises(StudyError, match="executor is gone: its cluster was stopped"):
                done(path, executor, "there.study", report=kill)
            assert executor.submit(os.getpid).cancelled()
    assert not doomed
    there = done(path, remote, "there.study")  # on another cluster
    assert there.rows["index"].to_pylist() == list(range(24))
    assert same_bits(there) == same_bits(undisturbed)


SHAPE = """
import os

HERE = os.path.dirname(os.path.abspath(__file__))

def read(number):
    with open(os.path.join(HERE, "..", "meshes", f"{number}.txt")) as file:
        return float(file.read())
"""
TRAVELS = """
scene = "bar.py"
files = ["../meshes/*.txt"]
steps = 2
[parameters.young]
values = [0, 2]
[measures]
height = "bar.py:height"
noise = "bar.py:noise"
[keep]
record = "all"
"""


@pytest.mark.processes
def test_files_travel_to_workers_that_do_not_see_them(tmp_path, workers, softctl):
    robots, meshes = tmp_path / "project" / "robots", tmp_path / "project" / "meshes"
    robots.mkdir(parents=True)
    meshes.mkdir()
    path = written(robots, TRAVELS)
    scene = "import shape\n" + (robots / "bar.py").read_text()
    scene = scene.replace('"loaded"', "shape.__file__")
    (robots / "bar.py").write_text(scene.replace("= young\n", "= shape.read(young)\n"))
    (robots / "shape.py").write_text(SHAPE)
    for number, young in ((0, "300"), (2, "no number")):
        (meshes / f"{number}.txt").write_text(young)
    here = done(path, workers, "here.study")
    words = ("batch", "run", path, "--cluster")
    with DaskCluster(tmp_path) as dask:
        dask.worker(path=hiding(tmp_path / "hiding"), HIDDEN=str(tmp_path / "project"))
        with ClusterExecutor(dask.address, note=[].append) as executor:
            with pytest.raises(FileNotFoundError):  # the worker does not see the folder
                executor.submit(Path.read_text, path).result()
        status, _, said = softctl(*words, dask.address, "--quiet")
        assert (status, said) == (0, "")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(carried, "SENT_BYTES_MAX", 10)
            (meshes / "0.txt").write_text("310")
            with pytest.raises(ClusterError, match=r"does not see .*bar\.py.* file system"):
                ClusterExecutor(dask.address, files=[robots / "bar.py", *meshes.iterdir()])
    there = read_results(path.with_suffix(".study"))
    assert same_bits(there) == same_bits(here)
    failed = there.row("1")
    assert failed["reason"] == "ValueError: could not convert string to float: 'no number'"
    assert f'File "{robots / "shape.py"}", line 8' in failed["traceback"]
    assert len(list((there.path / "records").iterdir())) == 1


@pytest.mark.processes
def test_a_worker_of_other_versions_does_nothing(tmp_path):
    other = tmp_path / "other" / "numpy-1.0.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Name: numpy\nVersion: 1.0\n")
    notes = []
    with DaskCluster(tmp_path) as dask:
        own = dask.worker()
        with ClusterExecutor(dask.address, note=notes.append) as executor:
            notes.clear()
            dask.worker(path=other.parent)
            eventually(lambda: notes)
            assert "has numpy 1.0, not " in notes[0] and "same environment" in notes[0]
            pids = {executor.submit(os.getppid).result() for _ in range(4)}
            assert pids == {own.pid} and executor.count == 1
        with pytest.raises(ClusterError, match=r"worker tcp://.* has numpy 1\.0, not "):
            ClusterExecutor(dask.address)


def fail_elsewhere(pid):
    if os.getpid() != pid:
        raise ClusterError("there is no SOFA here")


def test_tasks_say_why_the_processes_of_a_worker_cannot_begin(dask, monkeypatch):
    first = {"backend": partial(fail_elsewhere, os.getpid())}
    monkeypatch.setattr(processes, "_first", first)
    with ClusterExecutor(dask.address) as executor:
        with pytest.raises(ClusterError, match="there is no SOFA here"):
            executor.submit(abs, -1).result()


@pytest.mark.processes
def test_a_cluster_without_workers_is_waited_for(tmp_path):
    with DaskCluster(tmp_path) as dask:
        notes = []

        def note(text):
            notes.append(text)
            dask.worker()

        with ClusterExecutor(dask.address, note=note) as executor:
            assert executor.submit(abs, -1).result() == 1
        assert notes == [f"The cluster at '{dask.address}' has no workers yet: waiting."]


def test_an_address_where_another_program_answers_is_an_error(monkeypatch):
    monkeypatch.setattr(cluster_client, "CONNECT_TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ClusterError, match="does not speak Dask's protocol"):
            ClusterExecutor(address)


@pytest.mark.processes
def test_workers_with_other_blas_kernels_are_said_once(tmp_path):
    notes = []
    other = "Haswell" if blas_kernels() != "Haswell" else "Prescott"  # which calls itself Katmai
    with DaskCluster(tmp_path) as cluster:
        cluster.worker(OPENBLAS_CORETYPE=other)
        with ClusterExecutor(cluster.address, note=notes.append) as executor:
            assert executor.submit(abs, -1).result() == 1
            cluster.worker(OPENBLAS_CORETYPE=other)
            eventually(lambda: executor.count == 2)
    (said,) = [note for note in notes if "last digits" in note]
    there, here = re.search(r"kernels of (\w+) on workers, and of (\w+) here", said).groups()
    assert here == blas_kernels() != there


def test_an_address_without_a_scheduler_is_an_error(monkeypatch):
    monkeypatch.setattr(cluster_client, "CONNECT_TIMEOUT", 0.3)
    with pytest.raises(ClusterError, match="No Dask scheduler at 'tcp://127.0.0.1:1'"):
        ClusterExecutor("tcp://127.0.0.1:1")
    for wrong in ("host", "tcp://host", "tcp://:8786", "8786"):
        with pytest.raises(ClusterError, match="Expected the address of a Dask scheduler"):
            ClusterExecutor(wrong)


def test_workers_and_cluster_exclude_each_other(tmp_path, softctl):
    path = written(tmp_path)
    status, _, said = softctl("batch", "run", path, "--cluster", "tcp://host:1", "--workers", "2")
    assert status == 2 and "--workers are processes of this computer" in said
