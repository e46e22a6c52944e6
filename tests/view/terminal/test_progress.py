"""Progress where lines cannot change in place: new lines on standard error."""

import time

import pytest

from sofa_softctl.view.terminal import progress
from sofa_softctl.view.terminal.run import Terminal


def wait_for(capsys, text):
    """Collect standard error until it has a text."""
    told = ""
    for _ in range(500):
        told += capsys.readouterr().err
        if text in told:
            return told
        time.sleep(0.01)
    pytest.fail(f"no '{text}' in: {told}")


@pytest.fixture
def _often(monkeypatch):
    monkeypatch.setattr(progress, "LINE_INTERVAL", 0.01)


@pytest.mark.usefixtures("_often")
def test_work_of_unknown_length_tells_its_time_and_state_in_a_pipe(capsys):
    with Terminal().status("equilibria [/of a start]") as update:
        wait_for(capsys, "0:00 equilibria [/of a start]\n")
        update("12 of 30")
        wait_for(capsys, "0:00 12 of 30\n")
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("_often")
def test_a_bar_in_a_pipe_counts_in_lines(capsys):
    with Terminal().bar("Simulating", 10) as advance:
        advance(3)
        wait_for(capsys, "Simulating: 3 of 10\n")


@pytest.mark.usefixtures("_often")
def test_quiet_work_says_nothing(capsys):
    terminal = Terminal(quiet=True)
    with terminal.status("equilibria"), terminal.bar("Simulating", 10):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")
