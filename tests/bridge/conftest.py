import time

import pytest


@pytest.fixture(scope="session")
def eventually():
    """Waits until a function gives something true, and returns it; fails after 5 s."""

    def wait(found, within=5.0):
        end = time.monotonic() + within
        while time.monotonic() < end:
            value = found()
            if value:
                return value
            time.sleep(0.002)
        raise AssertionError(f"not within {within} s")

    return wait
