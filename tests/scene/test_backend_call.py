"""Calls on another backend: in a process of its own, with what it says when it fails."""

import os
import signal
import time

import pytest

from sofa_softctl.errors import BackendError, SoftctlError
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.backend.call import BackendChild, backend_of_runs, call_on_backend
from sofa_softctl.scene.backend.installation import find_installation


@pytest.fixture(autouse=True)
def embedded(monkeypatch):
    """'auto' is then another name for the backend that is here, which a child process has."""
    find_backend("embedded")
    monkeypatch.setenv("SOFTCTL_BACKEND", "embedded")


def raising():
    raise SoftctlError("the scene is on fire")


def stumbling():
    return {}["a key"]


def hanging(connection):
    connection.send((True, "begun"))
    time.sleep(3600)


def dying():
    os.write(2, b"segmentation fault in Component\n")
    os._exit(3)


def test_the_own_backend_is_called_here_and_another_one_elsewhere():
    assert call_on_backend("embedded", os.getpid) == os.getpid()
    assert call_on_backend("auto", os.getpid) != os.getpid()
    assert call_on_backend("auto", divmod, 7, 2) == (3, 1)


@pytest.mark.parametrize(
    ("function", "text"), [(raising, "the scene is on fire"), (stumbling, "KeyError: 'a key'")]
)
def test_an_error_there_is_raised_here_with_its_text(function, text):
    with pytest.raises(SoftctlError, match=f"^Backend 'auto': {text}"):
        call_on_backend("auto", function)


def test_ctrl_c_does_not_wait_for_what_the_process_does():
    """It would take an hour; `__exit__` kills it, and waits until it is gone."""
    child = BackendChild("embedded", hanging)
    with pytest.raises(KeyboardInterrupt), child:
        assert child.receive() == "begun"
        raise KeyboardInterrupt
    child._process.join(timeout=30)
    assert child._process.exitcode == -signal.SIGKILL


def test_a_process_that_dies_is_reported_with_what_it_said_last():
    with pytest.raises(BackendError, match="'auto' ended.\nsegmentation fault in Component"):
        call_on_backend("auto", dying)


def test_sofa_is_asked_for_by_name_where_it_is_not(monkeypatch):
    if find_installation() is not None:
        pytest.skip("SOFA is installed")
    with pytest.raises(SoftctlError, match="Backend 'sofa': SOFA cannot be imported"):
        call_on_backend("sofa", os.getpid)
    with pytest.raises(BackendError, match="^SOFA cannot be imported"):
        backend_of_runs("sofa")
    monkeypatch.delenv("SOFTCTL_BACKEND")
    assert backend_of_runs("auto") == "embedded"


def test_the_backend_of_runs_follows_the_environment(monkeypatch):
    assert backend_of_runs("auto") == backend_of_runs("embedded") == "embedded"
    with pytest.raises(BackendError, match="Unknown backend 'gazebo'; known: auto, embedded, sofa"):
        backend_of_runs("gazebo")


class ImportsSofa:
    """An argument whose module imports Sofa where it is unpickled, as a scene file does."""

    def __reduce__(self):
        return exec, (
            "import sofa_softctl.scene.backend.backend as b; b.seen = 'Sofa' in b.sys.modules",
        )


def backend_was_chosen(_):
    from sofa_softctl.scene.backend import backend

    return backend.seen


def test_the_backend_is_chosen_before_arguments_are_unpickled():
    assert call_on_backend("auto", backend_was_chosen, ImportsSofa())
