"""Progress of a study where there is no terminal."""

import pytest

from sofa_softctl.batch import bar
from sofa_softctl.batch.execution.driver import Progress


@pytest.mark.parametrize("quiet", [False, True])
def test_a_line_is_printed_now_and_then_unless_quiet(capsys, monkeypatch, quiet):
    clock = [100.0]
    monkeypatch.setattr(bar, "monotonic", lambda: clock[0])
    with bar.Bar(quiet=quiet) as shown:
        for done, failed, time in ((0, 0, 100.0), (50, 0, 130.0), (100, 2, 161.0), (110, 2, 170.0)):
            clock[0] = time
            shown.show(Progress(total=1200, before=200, done=done, failed=failed))
    out, err = capsys.readouterr()
    assert out == ""
    assert err == ("" if quiet else "100 of 1,000 runs, 2 failed, 98.4 a minute\n")
