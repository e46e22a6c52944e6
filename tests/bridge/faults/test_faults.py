"""Each fault, in the whole chain; the page of faults is made of the same."""

import re

import pytest

from tests.bridge.faults.host import Server
from tests.bridge.faults.page import PAGE, row, rows, text_of
from tests.bridge.faults.run import FAULTS, built, run


@pytest.fixture(scope="session")
def chain(tmp_path_factory):
    """The process from which hosts are forked, and the folder of the firmware, or None."""
    folder = tmp_path_factory.mktemp("faults")
    firmware, reason = built(folder)
    with Server(folder) as server:
        yield server, firmware, reason


@pytest.mark.real_time
@pytest.mark.parametrize("name", FAULTS)
def test_fault(name, chain):
    server, firmware, reason = chain
    fault = FAULTS[name]
    if fault.board == "real" and firmware is None:
        pytest.skip(reason)
    time = run(fault, server, firmware)
    if fault.bound is not None:
        slack = fault.slack if firmware is not None else 2.0
        assert time <= fault.bound.seconds + slack


def test_the_page_has_each_fault_as_it_is():
    """Write it anew with `python -m tests.bridge.faults`."""
    page = rows()
    assert list(page) == list(FAULTS)
    for name, fault in FAULTS.items():
        cells = row(fault, None)
        time = page[name][3]
        assert page[name][:3] + page[name][4:] == cells[:3] + cells[4:]
        if fault.bound is None:
            assert time == ""
        else:
            assert 0.0 <= float(time) <= 1e3 * fault.bound.seconds


def test_the_page_is_what_the_script_writes_with_its_times():
    text = PAGE.read_text()
    runs = re.search(r"the worst of (\d+) runs", text).group(1)
    times = {name: cells[3] for name, cells in rows().items()}
    measured = {name: float(time) / 1e3 if time else None for name, time in times.items()}
    assert text_of(measured, runs) == text
