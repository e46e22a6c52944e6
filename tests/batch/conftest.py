"""Workers, which the tests of a process share."""

import pytest

from sofa_softctl.base.executors.local import LocalExecutor


@pytest.fixture(scope="session")
def shared():
    with LocalExecutor(2) as executor:
        yield executor


@pytest.fixture
def workers(shared):
    """Two workers; a test may set limits."""
    yield shared
    shared.seconds = shared.memory = None
