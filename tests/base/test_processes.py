"""Processes that solve equilibria leave Ctrl-C to their parent, and do not outlive it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from sofa_softctl.base.executors.workers import workers

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def blocked():
    return signal.pthread_sigmask(signal.SIG_BLOCK, [])


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.processes
def test_ctrl_c_reaches_the_parent_alone():
    before = blocked()
    with workers(1) as executor:
        assert signal.SIGINT in executor.submit(blocked).result(timeout=60)
        assert blocked() == before


def test_without_workers_there_is_no_executor():
    with workers(0) as executor:
        assert executor is None


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks into /proc")
def test_workers_end_with_a_parent_that_is_killed():
    program = (
        "import os, time\n"
        "from sofa_softctl.base.executors.workers import workers\n"
        "if __name__ == '__main__':\n"
        "    with workers(1) as executor:\n"
        "        print(executor.submit(os.getpid).result(), flush=True)\n"
        "        time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        worker = int(parent.stdout.readline())
        assert alive(worker)
        parent.kill()
    end = time.monotonic() + 30.0
    while alive(worker) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(worker)
