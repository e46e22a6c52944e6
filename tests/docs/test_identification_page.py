"""The pages on identification: their code runs, and what they say of it holds."""

import inspect
import re
from contextlib import chdir

import numpy as np
import pytest

from sofa_softctl.identification.data.table import read_csv
from sofa_softctl.identification.data.units import SIZES
from sofa_softctl.identification.fitting.gauss_newton import Termination
from tests.docs.pages import ROOT, blocks, run, text

DATA = text("reference/identification-data")
PAGES = (
    "how-to/identify-a-model",
    "how-to/identify-a-mechanism",
    "how-to/identify-in-a-scene",
    "how-to/identify-while-moving",
)
TRUTH = {"lag": 0.3, "gain": 1.8}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What the pages' code defines; their recording bend.csv is made of their own model."""
    with chdir(tmp_path_factory.mktemp("page")):
        return run(*PAGES, __name__="page")


def test_the_finger_of_the_page_is_identified(page):
    """Within three of the half-widths that the page speaks of."""
    assert page["found"].status.ok
    half = (page["high"] - page["low"]) / 2.0
    assert abs(page["lag"] - TRUTH["lag"]) < 3.0 * half < 0.1
    assert not [one for one in page["report"].diagnostics if one.level == "bad"]


def test_the_sections_of_the_report_are_those_of_the_page(page):
    from sofa_softctl.view.pages.identification.page import SECTIONS

    report = "".join(inspect.getsource(inspect.getmodule(one)) for one in SECTIONS)
    headings = re.findall(r"^- \*\*(.+?)\*\*", text(PAGES[0]), re.MULTILINE)
    assert headings[0] == "Parameters" and len(headings) == 7
    assert all(f'section("{heading}"' in report for heading in headings)


def test_the_motion_that_the_page_designs_shrinks_intervals_as_forecast(page):
    """Within 10 %: linearised at an estimate that is off by 1 % at most."""
    half = dict(zip(("lag", "gain"), page["half_widths"], strict=True))
    assert page["forecast"] == pytest.approx(half, rel=0.1)
    assert page["motion"].candidate.gain > 0.7


def test_its_delay_is_found_to_be_none(page):
    """There was none: within half a sample, 10 ms."""
    assert page["with_delay"].value("delay") == pytest.approx(0.0, abs=0.01)


def test_the_pull_back_of_the_page_is_the_transpose_of_its_sensitivities(page):
    """By pressures: central differences, which are exact for a linear model but for rounding."""
    one, rho = page["experiments"][0], np.array([0.3, 1.8])
    weights = np.random.default_rng(1).standard_normal((151, 1))
    swept = one.pull_back(rho, lambda _: weights)
    _, by_rho = one.sensitivities(rho)
    np.testing.assert_allclose(swept.by_parameters, np.einsum("ty,tyr", weights, by_rho))
    up, down = (np.array(one.recording.inputs) for _ in range(2))
    up[40] += 1.0
    down[40] -= 1.0
    ends = []
    for u in (up, down):
        moved = page["Finger"](page["Recording"]("", one.time, u, one.measured))
        ends.append(np.sum(weights * moved.outputs(rho)))
    assert swept.by_inputs[40, 0] == pytest.approx((ends[0] - ends[1]) / 2.0, rel=1e-9)


def test_the_recording_of_the_page_can_be_read(tmp_path):
    (table,) = blocks("how-to/identify-a-model", "csv")
    (tmp_path / "page.csv").write_text(table)
    table = read_csv(tmp_path / "page.csv")
    assert table.units == {"time": "s", "pressure": "mbar", "bend": "deg"}
    assert np.isnan(table.columns["bend"][1])


def test_every_status_is_on_the_page():
    for status in Termination:
        assert f"`{status.name}`" in DATA


def test_every_unit_on_the_page_is_known():
    table = DATA[DATA.index("| time | s, ms") : DATA.index("## What becomes of bad data")]
    known = {unit for units in SIZES.values() for unit in units}
    for row in table.strip().split("\n"):
        cells = re.split("[,;] ", row.split("|")[2].strip())
        assert set(cells) <= known


def test_the_arm_of_the_page_is_a_problem(page):
    from sofa_softctl.identification.model.recording import Recording

    time = np.arange(101) / 100.0
    run = page["problem"].experiment(
        Recording("still", time, np.zeros((101, 1)), np.zeros((101, 4)))
    )
    y, by_rho = run.sensitivities(np.array([one.start for one in run.parameters]))
    assert y.shape == (101, 4)
    assert by_rho.shape == (101, 4, 6)
    assert np.linalg.matrix_rank(by_rho.reshape(-1, 6)) == 5  # without a torque, no delay is seen


def test_the_arm_of_the_page_is_its_files_problem(page):
    assert page["PROBLEMS"]["arm"] is page["problem"]
    assert page["problem"].delay == {"torque": "late"}
    assert page["Parameter"]("m", 1.0).lower == 0.0


def test_the_finger_of_finite_elements_of_the_page_is_one_too(page):
    with chdir(ROOT):
        problem = page["finger"]()
        assert [one.name for one in problem.channels][:3] == ["end.x", "end.y", "end.z"]
        assert len(problem.derivative.parameters) == 4
        assert problem.scene_values(np.array([1.0, 2.0, 0.4, 0.02])) == {"base": 1.0}
        assert problem.not_in_scene == ("rest", "poisson_ratio", "rayleigh_stiffness")
        assert [one.unit for one in problem.parameters] == ["kPa", "kPa", "-", "s"]
        assert problem.notes == ()  # its boxes leave no tetrahedron out, its markers are on it
