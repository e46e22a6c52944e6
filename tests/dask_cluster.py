"""A Dask cluster of real processes on this computer, of which tests may kill each."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

HIDES = """
import os
import sys

def hide(event, arguments):
    if event == "open" and str(arguments[0]).startswith(os.environ["HIDDEN"]):
        raise FileNotFoundError(2, "hidden", arguments[0])

sys.addaudithook(hide)
"""


class DaskCluster:
    """A scheduler, and workers as they are asked for; a context that ends all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes = []
        file = folder / "scheduler.json"
        file.unlink(missing_ok=True)
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)
        )
        self.address = _address(file)

    def worker(self, *options, path="", **environment):
        """A worker of one thread without a nanny; `path`: a folder first in its sys.path."""
        found = os.pathsep.join(filter(None, [str(path), os.environ.get("PYTHONPATH", "")]))
        return self._start(
            "dask_worker",
            self.address,
            *(options or ("--nthreads", "1", "--no-nanny")),
            "--local-directory",
            str(self.folder),
            env={**os.environ, **environment, "PYTHONPATH": found},
        )

    def _start(self, program, *options, env=None):
        log = open(self.folder / "log.txt", "ab")  # noqa: SIM115 - closed below
        command = [sys.executable, "-m", f"distributed.cli.{program}", *options, "--no-dashboard"]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=env)
        log.close()
        self.processes.append(process)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for process in reversed(self.processes):  # what a nanny has started ends with it
            process.kill()
            process.wait()


def _address(file):
    end = time.monotonic() + 60.0
    while time.monotonic() < end:
        try:
            return json.loads(file.read_text())["address"]
        except (FileNotFoundError, ValueError):
            time.sleep(0.05)
    raise TimeoutError(f"no scheduler wrote '{file}'")


def hiding(folder: Path) -> Path:
    """A folder for the `path` of a worker, which then cannot open files below HIDDEN."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDES)
    return folder
