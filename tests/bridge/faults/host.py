"""Processes that run `softctl`, forked from one in which all is imported and compiled.

    with Server(folder) as server:
        host = server.start(["run", scene, ...], folder)
        os.kill(host.pid, signal.SIGTERM)
        status, words = host.wait()

They are processes like those of a shell: with signals, limits, and children of their own.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
SCENE = HERE / "scene.py"


class Server:
    """The process from which hosts are forked, one after another; a context manager.

    Args:
        folder: For what it runs once, to have all compiled.
    """

    def __init__(self, folder):
        paths = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        known = {"PYTHONPATH": paths, "SOFTCTL_BACKEND": "embedded", "COLUMNS": "200"}
        single = dict.fromkeys(
            ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-P", Path(__file__)],
            env={**os.environ, **known, **single, "MOVING": os.path.join(folder, "moving")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout.readline() == "ready\n", "see what it wrote above"

    def start(self, arguments, folder, *, file_size=None, **environment):
        """A `Host` that runs `softctl ARGUMENTS` in a folder.

        Args:
            arguments: Of the command line.
            folder: Where it runs; `words.txt` there gets what it writes.
            file_size: Size which no file of it may pass [bytes], as if the disk were full.
            environment: Further variables.
        """
        words = Path(folder, f"words-{time.monotonic_ns()}.txt")
        asked = [list(map(str, arguments)), str(folder), str(words), file_size, environment]
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return Host(int(self._process.stdout.readline()), words)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(timeout=30.0)
        self._process.stdout.close()


class Host:
    """A run of `softctl`."""

    def __init__(self, pid, words):
        self.pid, self._words = pid, words
        self._status = words.with_suffix(".status")

    @property
    def words(self):
        """What it and its device process have written so far."""
        return self._words.read_text()

    def signal(self, number):
        """Send it a signal."""
        os.kill(self.pid, number)

    def device_process(self):
        """Process id of its device process."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        for child in children:
            command = Path(f"/proc/{child}/cmdline").read_bytes()
            if b"sofa_softctl.bridge.stream.process" in command:
                return int(child)
        raise AssertionError(f"process {self.pid} has no device process: {self.words}")

    def ended(self):
        """Whether it has ended."""
        return self._status.exists()

    @property
    def status(self):
        """Its exit status, negative for a signal, after its end."""
        return os.waitstatus_to_exitcode(int(self._status.read_text()))


def serve():
    """Fork a process for each line of the standard input."""
    warm()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those who wait for hosts are forgotten
    say("ready")
    for line in sys.stdin:
        if os.fork() == 0:
            wait_for_host(*json.loads(line))


def say(word):
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def wait_for_host(arguments, folder, words, file_size, environment):
    """Fork the host, say its process id, and write its status when it ends."""
    from sofa_softctl.cli.app import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        prepare(folder, words, file_size, environment)
        sys.argv = ["softctl", *arguments]
        main()
    say(pid)
    _, status = os.waitpid(pid, 0)
    file = Path(words).with_suffix(".part")
    file.write_text(f"{status}")
    file.rename(file.with_suffix(".status"))
    os._exit(0)


def warm():
    """Import all, and run the scene once, in this process."""
    import sofa_softctl.bridge.controller
    import sofa_softctl.cli.app
    import sofa_softctl.record.writer  # noqa: F401
    from sofa_softctl.scene.session.session import Session

    with Session(SCENE, backend="embedded") as session:
        session.step(3)


def prepare(folder, words, file_size, environment):
    """Make a forked process what a shell would start."""
    import resource

    os.setsid()
    null, file = os.open(os.devnull, os.O_RDONLY), os.open(words, os.O_CREAT | os.O_WRONLY)
    for number, to in ((null, 0), (file, 1), (file, 2)):
        os.dup2(number, to)
    os.chdir(folder)
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if file_size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))


if __name__ == "__main__":
    serve()
