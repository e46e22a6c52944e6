"""Tests in real time are repeated where the computer did not keep time, and count where it did.

While such a test runs, a thread sleeps for some milliseconds again and again. Where it came back
late and the test failed, the test says nothing of the bridge: it is done once more, twice at most.
"""

import threading
import time
from pathlib import Path

from _pytest.runner import runtestprotocol

FOLDERS = [Path(__file__).parent / name for name in ("bridge", "cli/bridge")]
"""Tests that run devices, boards and scenes at their own pace."""
PAUSE = 0.005
"""Time that the thread sleeps [s]."""
LATE = 0.03
"""Delay after which a failure does not count: periods of the tests are 5 to 20 ms [s]."""
ATTEMPTS = 3
"""The last one counts in any case."""


class Lateness:
    """Largest delay of a thread that sleeps, while it is entered."""

    def __enter__(self):
        self.worst, self._ended = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self):
        while not self._ended.is_set():
            began = time.monotonic()
            time.sleep(PAUSE)
            self.worst = max(self.worst, time.monotonic() - began - PAUSE)

    def __exit__(self, *exception):
        self._ended.set()
        self._thread.join()


def pytest_runtest_protocol(item, nextitem):
    """Run a test in real time, again where the computer was late; others as usual."""
    if not any(folder in item.path.parents for folder in FOLDERS):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(1, ATTEMPTS + 1):
        with Lateness() as lateness:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = any(report.failed for report in reports)
        if not failed or lateness.worst < LATE or attempt == ATTEMPTS:
            break
        item._initrequest()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
