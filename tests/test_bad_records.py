"""Recordings that would be lost or wrong: refused before the work, or kept with a message."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from sofa_softctl.errors import RecordError
from sofa_softctl.record.file import RecordFile
from sofa_softctl.record.record import read_record
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.scene.session.session import Session

NOT_LOADED = "raise RuntimeError('the scene was loaded')\n"
CONTROLLER = """\
import os, signal
import Sofa.Core
class Mine(Sofa.Core.Controller):
    def __init__(self, *args, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.done = 0
    def onAnimateEndEvent(self, event):
        self.done += 1
        if self.done == 4:
            {line}
def createScene(root, height=2.0, path="circle"):
    root.dt = 0.01
    root.addObject(Mine(name="mine"))
    root.addObject("DefaultAnimationLoop")
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver")
    node.addObject("CGLinearSolver")
    node.addObject("MechanicalObject", name="dofs", position=[[0, 0, height]])
    node.addObject("UniformMass", totalMass=1.0)
"""


@pytest.fixture
def scene(tmp_path):
    """scene(line) -> file of a scene with a controller that runs the line in its fourth step."""

    def write(line):
        path = tmp_path / "scene.py"
        path.write_text(CONTROLLER.format(line=line))
        return path

    return write


def arguments_of(command, scene, file):
    if command == "run":
        return ["run", scene, "--steps", "3", "--quiet", "--record", file]
    return ["plan", scene, "--task", "circle", "--out", file]


REFUSED = {
    "exists": ("run.mcap", "'{file}' exists already, and would be replaced. Choose another name"),
    "killed": ("run.mcap", "'{file}.part' is what an earlier run left that did not end (5 bytes)"),
    "recorded to": ("run.mcap", "{file}: another run is recording to this file. Choose another"),
    "csv": ("run.csv", "and then: softctl record export {stem}.mcap --to {file}."),
    "npz": ("run.npz", "and then: softctl record export {stem}.mcap --to {file}."),
    "movie": ("run.mp4", "'{file}': a recording is an MCAP file. Name it '{stem}.mcap'."),
    "no suffix": ("run", "'{file}': a recording is an MCAP file. Name it '{stem}.mcap'."),
    "partial": ("run.mcap.part", "a recording is an MCAP file. Name it '{stem}.mcap'."),
    "folder": ("folder.mcap", "Cannot write '{file}': it is a folder."),
    "file as folder": ("afile/run.mcap", "Cannot write '{file}': "),
}


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_must_not_be_recorded_to_is_refused_before_the_scene_is_loaded(
    softctl, tmp_path, command, case
):
    name, message = REFUSED[case]
    scene, file = tmp_path / "scene.py", tmp_path / name
    scene.write_text(NOT_LOADED)
    (tmp_path / "afile").write_text("")
    (tmp_path / "folder.mcap").mkdir()
    if case == "exists":
        file.write_text("older")
    if case == "killed":
        (tmp_path / "run.mcap.part").write_text("older")
    other = RecordFile(file) if case == "recorded to" else None
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    status, _, err = softctl(*arguments_of(command, scene, file))
    wrong_name = "a recording is an MCAP file" in message or "softctl record export" in message
    assert status == (2 if wrong_name else 1)
    assert err.startswith("Error: ")
    assert message.format(file=file, stem=file.with_suffix("")) in err
    assert "Traceback" not in err
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    if other is not None:
        other.release()


@pytest.mark.parametrize("what", ["run.mcap", "run.mcap.part"])
def test_force_replaces_a_recording(softctl, scene, tmp_path, what):
    (tmp_path / what).write_text("older")
    file = tmp_path / "run.mcap"
    status, _, err = softctl(*arguments_of("run", scene("pass"), file), "--force")
    assert (status, err) == (0, "")
    assert len(read_record(file).time) == 3
    assert not (tmp_path / "run.mcap.part").exists()


def test_force_leaves_the_older_recording_where_the_scene_fails(softctl, tmp_path):
    (tmp_path / "scene.py").write_text(NOT_LOADED)
    file = tmp_path / "run.mcap"
    file.write_text("older")
    status, _, _ = softctl(*arguments_of("run", tmp_path / "scene.py", file), "--force")
    assert status == 1
    assert file.read_text() == "older"
    assert not (tmp_path / "run.mcap.part").exists()


ERRORS = {
    "RuntimeError": ("raise RuntimeError('mine')", "stopped: RuntimeError: mine"),
    "without a text": ("raise RuntimeError", "stopped: RuntimeError"),
    "ZeroDivisionError": ("1 / 0", "stopped: ZeroDivisionError: division by zero"),
    "assert": ("assert self.done < 4", "stopped: AssertionError"),
    "attribute": ("self.nothing", "stopped: AttributeError: Mine has no attribute or Data"),
    "IndexError": ("[][1]", "stopped: IndexError: list index out of range"),
    "exit": ("raise SystemExit(3)", "stopped: SystemExit: 3"),
    "MemoryError": ("raise MemoryError", "stopped: MemoryError"),
}


@pytest.mark.processes(keep=2)
@pytest.mark.parametrize("case", ERRORS)
def test_an_error_of_the_users_code_keeps_the_record_and_says_when_and_where(
    softctl, scene, tmp_path, case
):
    line, ended = ERRORS[case]
    path, file = scene(line), tmp_path / "run.mcap"
    status, _, err = softctl("run", path, "--steps", "9", "--quiet", "--record", file)
    assert status == 1
    number = path.read_text().splitlines().index(f"            {line}") + 1
    if case == "exit":
        assert f"{path} called exit(3). Raise an exception instead." in err
    else:
        assert f'File "{path}", line {number}, in onAnimateEndEvent' in err
        assert err.splitlines()[-2:] == [
            "This was in step 4, from t = 0.03 to 0.04.",
            f"The recording of the 3 steps before is kept: '{file}'.",
        ]
    assert "sofa_softctl" not in err
    record = read_record(file)
    assert record.time.tolist() == pytest.approx([0.01, 0.02, 0.03])
    assert record.status.startswith(ended)
    assert not record.complete


PRESS = "os.kill(os.getpid(), signal.SIGINT)"


def test_ctrl_c_ends_after_the_step_with_record_and_summary(softctl, scene, tmp_path):
    file = tmp_path / "run.mcap"
    status, out, err = softctl("run", scene(PRESS), "--steps", "9", "--json", "--record", file)
    assert status == 130
    assert err.splitlines()[-1] == (
        f"Stopped by Ctrl-C after 4 of 9 steps. They are recorded in '{file}'."
    )
    said = json.loads(out)
    assert (said["steps"], said["interrupted"]) == (4, True)
    record = read_record(file)
    assert len(record.time) == 4
    assert record.status == "interrupted"


def test_ctrl_c_pressed_twice_does_not_wait_and_keeps_the_record(softctl, scene, tmp_path):
    file = tmp_path / "run.mcap"
    path = scene(f"{PRESS}; {PRESS}; self.done = 100")
    status, _, err = softctl("run", path, "--steps", "9", "--quiet", "--record", file)
    assert status == 130
    assert err == f"Stopped by Ctrl-C after 3 of 9 steps. They are recorded in '{file}'.\n"
    assert len(read_record(file).time) == 3


@pytest.fixture
def interruptible():
    """SIGINT as in a terminal; a shell's background job begins with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_a_scene_loads_leaves_nothing(softctl, interruptible, tmp_path):
    path, file = tmp_path / "scene.py", tmp_path / "run.mcap"
    path.write_text(f"import os, signal\n{PRESS}\n")
    status, _, err = softctl("run", path, "--record", file)
    assert (status, err) == (130, "Stopped by Ctrl-C.\n")
    assert sorted(tmp_path.iterdir()) == [path]


def test_ctrl_c_draws_the_plot_of_the_steps_done(softctl, tmp_path):
    path, plot = tmp_path / "scene.py", tmp_path / "run.png"
    path.write_text(
        "import os, signal\n"
        "from sofa_softctl.scene import SceneController\n"
        "class Mine(SceneController):\n"
        "    def onAnimateBeginEvent(self, event):\n"
        f"        self.time.value > 0.025 and {PRESS}\n"
        "    def plot(self, figure, history):\n"
        "        figure.add_subplot().plot(history.time)\n"
        "        return len(history.time) == 4\n"
        "def createScene(root):\n"
        "    root.dt = 0.01\n"
        "    root.addObject(Mine(name='mine', root=root))\n"
    )
    status, _, err = softctl("run", path, "--steps", "9", "--quiet", "--plot", plot)
    assert (status, err) == (130, "Stopped by Ctrl-C after 4 of 9 steps.\n")
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_record_and_the_json_say_what_produced_them(softctl, scene, tmp_path):
    file = tmp_path / "run.mcap"
    path = scene("pass")
    path.write_text("UNITS = 'mm, kg, s'\n" + path.read_text())
    words = ("--steps", "2", "--json", "--set", "height=3", "--record", file)
    status, out, err = softctl("run", path, *words)
    assert (status, err) == (0, "")
    said = json.loads(out)["provenance"]
    assert said["parameters"] == {"height": 3.0, "path": "circle"}
    assert said["units"] == "mm, kg, s"
    assert said["versions"].keys() >= {"softctl", "python", "numpy", "scipy"}
    assert said["cpu"] and said["os"].startswith("Linux")
    kept = read_record(file).metadata
    assert kept["parameter.height"] == "3.0"
    assert kept["parameter.path"] == "circle"
    assert kept["units"] == "mm, kg, s"
    assert kept["numpy"] == np.__version__
    assert (kept["cpu"], kept["os"]) == (said["cpu"], said["os"])


EXPORTS = ".csv, .npz, .pvd, .png, .jpg, .gif or .mp4"


@pytest.mark.processes(keep=1)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--to", "run.txt"],
            f"--to: expected a name in {EXPORTS}. Got: 'run.txt'.",
        ),
        (
            ["--to", "run"],
            f"--to: expected a name in {EXPORTS}. Got: 'run'.",
        ),
        (["--to", "/dev/null/run.csv"], "Cannot write '/dev/null/run.csv': "),
        (["--to", "/proc/run.csv"], "Cannot write '/proc/run.csv': "),
    ],
)
def test_an_export_that_cannot_be_written_is_refused(softctl, scene, tmp_path, words, message):
    file = tmp_path / "run.mcap"
    softctl(*arguments_of("run", scene("pass"), file))
    status, _, err = softctl("record", "export", file, *words)
    assert status == 1
    assert err.startswith(f"Error: {message}")
    assert "Traceback" not in err


def test_a_record_is_described_and_exported(softctl, scene, tmp_path):
    file = tmp_path / "run.mcap"
    softctl("run", scene(PRESS), "--steps", "9", "--quiet", "--record", file)
    status, out, _ = softctl("info", file)
    assert status == 0
    assert "4 steps, t = 0.01 to 0.04: interrupted" in out
    assert "body/dofs.position" in out
    status, out, _ = softctl("info", file, "--json")
    assert json.loads(out)["channels"]["body/dofs.position"]["shape"] == [1, 3]
    table = tmp_path / "run.csv"
    status, out, err = softctl("record", "export", file, "--to", table)
    assert (status, out) == (0, f"Written: {table}\n")
    assert err == f"{file} is not complete (interrupted): 4 steps.\n"
    assert table.read_text().startswith("time,body/dofs.position.x,")


def test_a_table_has_the_channels_and_steps_that_were_asked_for(softctl, scene, tmp_path):
    file, table = tmp_path / "run.mcap", tmp_path / "run.csv"
    softctl("run", scene(PRESS), "--steps", "9", "--quiet", "--record", file)
    export = ("record", "export", file, "--to", table)
    softctl(*export, "--every", "2", "--channel", "body/*")
    assert [row.split(",")[0] for row in table.read_text().split()] == [
        "time",
        "0.01",
        "0.03",
        "0.04",
    ]
    table.unlink()
    status, _, err = softctl(*export, "--channel", "body/dof.position")
    assert status == 1 and "The closest is 'body/dofs.position'" in err
    for wrong in (["--every", "0"], ["--channel", "*", "--stream", "x"]):
        status, _, err = softctl(*export, *wrong)
        assert status == 2 and wrong[0] in err
    status, _, err = softctl(*export[:-1], tmp_path / "run.pvd", "--channel", "*")
    assert status == 2 and "--channel is for tables and arrays" in err
    assert not table.exists()


@pytest.mark.parametrize("line", ["raise ValueError('a')", "raise KeyboardInterrupt"])
def test_a_failed_first_step_leaves_no_record(softctl, scene, tmp_path, line):
    """The next run needs no --force, and with it an earlier recording stays as it was."""
    file, path = tmp_path / "run.mcap", scene(line)
    words = ("run", path, "--steps", "3", "--quiet", "--record", file)
    path.write_text(path.read_text().replace("self.done == 4", "self.done == 1"))
    status, _, err = softctl(*words)
    assert status != 0 and "is kept" not in err
    assert {path.name for path in tmp_path.iterdir()} <= {"scene.py", "__pycache__"}
    softctl("run", scene("pass"), *words[2:])
    before = file.read_bytes()
    path.write_text(path.read_text().replace("pass", line).replace("done == 4", "done == 1"))
    assert softctl(*words, "--force")[0] != 0 and file.read_bytes() == before


def test_a_partial_file_without_a_step_is_replaced(softctl, scene, tmp_path):
    """As of a run that was killed in its first step; with a step it is refused."""
    file = tmp_path / "run.mcap"
    words = ("run", scene("pass"), "--steps", "3", "--quiet", "--record", file)
    writer = RecordWriter(file, {})
    writer.add_channel("x", shape=())
    killed = writer.path_partial.read_bytes()
    writer.close(status="stopped: killed")
    writer.path_partial.write_bytes(killed)
    assert softctl(*words)[0] == 0 and len(read_record(file).time) == 3
    file.rename(writer.path_partial)
    assert "is what an earlier run left" in softctl(*words)[2]


# -- as a process --------------------------------------------------------------------------------


def process(*words, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "sofa_softctl.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "SOFTCTL_BACKEND": "embedded", **environment},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.processes
def test_a_second_run_to_a_file_is_refused_and_the_first_loses_nothing(scene, tmp_path, softctl):
    """The first one has recorded three steps, and waits in its fourth for the second to end."""
    go, file = tmp_path / "go", tmp_path / "run.mcap"
    os.mkfifo(go)
    with process(
        *arguments_of("run", scene(f"open('{go}').read()"), file)[:3], "9", "--record", file
    ) as first:
        with open(go, "w"):  # waits for the first one to come there
            status, _, err = softctl("run", tmp_path / "scene.py", "--record", file, "--force")
        assert first.wait(timeout=60) == 0
    assert status == 1
    assert "another run is recording to this file" in err
    assert len(read_record(file).time) == 9


FULL = """
import resource, signal, sys
from sofa_softctl.cli.app import main

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
sys.argv = ["softctl", *sys.argv[1:]]
main()
"""


@pytest.mark.processes
@pytest.mark.parametrize(("steps", "failing"), [(3000, "in a step"), (200, "at the end")])
def test_a_full_disk_ends_a_run_with_what_is_safe(scene, tmp_path, steps, failing):
    """No file may grow beyond 300 kB: as ENOSPC, an error of write()."""
    file, path = tmp_path / "run.mcap", scene("pass")
    points = "position=P, velocity=P"  # which lz4 cannot compress
    text = path.read_text().replace("position=[[0, 0, height]]", points)
    path.write_text(
        "import numpy as np\nP = np.random.default_rng(0).normal(size=(70, 3))\n" + text
    )
    words = ["run", path, "--steps", steps, "--quiet", "--record", file]
    said = subprocess.run(
        [sys.executable, "-c", FULL, *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, "SOFTCTL_BACKEND": "embedded"},
        timeout=120,
        check=False,
    )
    assert said.returncode == 1
    assert said.stderr.startswith(f"Error: Cannot write '{file}' any more: File too large. The ")
    assert f"steps are safe in '{file}.part'" in said.stderr
    assert "is kept" not in said.stderr
    assert "Traceback" not in said.stderr
    assert not file.exists()
    safe, done = map(int, re.search(r"first (\d+) of (\d+)", said.stderr).groups())
    assert 0 < safe < done <= steps
    assert (done < steps) == (failing == "in a step")
    assert len(read_record(f"{file}.part").time) == safe


ASCII = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
BYTES = {**ASCII, "PYTHONUTF8": "0"}
"""Names of files come as bytes then."""


@pytest.mark.processes
@pytest.mark.parametrize("environment", [ASCII, BYTES], ids=["ascii", "bytes"])
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["run", "größe.py", "--steps", "2"], 0),
        (["run", "größe.py", "--steps", "5"], 1),
        (["run", "größe.py", "--steps", "2", "--json"], 0),
        (["run", "größe.py", "--steps", "2", "--record", "größe.mcap"], 0),
        (["run", "keine_größe.py"], 1),
        (["components", "CableConstraint"], 0),
    ],
)
def test_a_terminal_without_umlauts_gets_an_answer(scene, tmp_path, words, status, environment):
    scene("raise ValueError('größer')").rename(tmp_path / "größe.py")
    words = [str(tmp_path / word) if "größe" in word else word for word in words]
    with process(*words, **environment) as running:
        out, err = running.communicate(timeout=120)
    assert b"UnicodeEncodeError" not in err
    assert running.returncode == status
    assert (b"Error: " in err or b"ValueError: gr" in err) == (status == 1)
    if "--record" in words:
        assert read_record(words[-1]).metadata["scene"] == words[1]


@pytest.mark.processes
@pytest.mark.parametrize("words", [["components"], ["run", "--help"], ["doctor"]])
def test_a_reader_that_leaves_early_gets_no_traceback(words):
    """As `head -1` does."""
    read, write = os.pipe()
    os.close(read)
    environment = {**os.environ, "SOFTCTL_BACKEND": "embedded"}
    done = subprocess.run(
        [sys.executable, "-m", "sofa_softctl.cli", *words],
        stdout=write,
        stderr=subprocess.PIPE,
        env=environment,
        timeout=120,
        check=False,
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 1


def test_a_fault_of_softctl_keeps_its_traceback_in_a_file(softctl, monkeypatch, tmp_path):
    monkeypatch.setattr("sofa_softctl.view.terminal.info.show_plugins", lambda _: 1 / 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(
        "sofa_softctl.plugins.user_frames",
        lambda _: [],  # this test's own line
    )
    status, _, err = softctl("plugins")
    assert status == 1
    first, second = err.splitlines()
    assert first.startswith("Error: softctl failed at ")
    assert first.endswith("ZeroDivisionError: division by zero")
    (file,) = tmp_path.glob("softctl-*.txt")
    assert str(file) in second
    assert "Traceback (most recent call last):" in file.read_text()


@pytest.mark.processes
def test_a_scene_that_changes_the_folder_does_not_lose_its_recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def create(root):
        root.addObject("DefaultAnimationLoop")
        root.addChild("body").addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]])

    session = Session(create)
    with session.recording("run.mcap"):
        session.step()
        monkeypatch.chdir(tmp_path / "elsewhere")
        session.step()
    assert len(read_record(tmp_path / "run.mcap").time) == 2


def test_nothing_to_record_is_an_error():
    session = Session(lambda root: root.addObject("DefaultAnimationLoop"))
    with pytest.raises(RecordError, match="There is nothing to record: the scene has no Mech"):
        session.recording("run.mcap").__enter__()


def test_a_damaged_recording_is_not_called_truncated(tmp_path):
    file = tmp_path / "run.mcap"
    with RecordWriter(file, {}) as writer:
        writer.add_channel("x", shape=(200,))
        for step in range(1, 2000):
            writer.write(0.01 * step, {"x": np.random.default_rng(step).normal(size=200)})
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    record = read_record(file)
    assert not record.complete and 0 < len(record.time) < 1999
    assert re.fullmatch(
        rf"damaged: {1999 - len(record.time)} of 1999 steps cannot be read, "
        r"between t = \S+ and t = \S+",
        record.status,
    )
    assert record.time[-1] == 0.01 * 1999
