"""The page on success rates lists the runs that there are."""

import re

import pytest

from benchmarks.success_rates.cases import ROBOTS, cases_of
from tests.docs.pages import text
from tests.rounding import CORES

PAGE = text("reference/success-rates")


@pytest.mark.parametrize("name", ROBOTS)
def test_each_robot_has_its_runs_and_limits_on_the_page(name):
    [(runs, limits)] = re.findall(rf"^\| {name} \| (\d+) \|.*\|(.*)\|$", PAGE, re.MULTILINE)
    assert int(runs) == len(cases_of([name]))
    numbers = [float(number) for number in re.findall(r"\d+\.?\d*", limits)]
    assert numbers == list(ROBOTS[name].limits.values())


def test_the_page_names_the_processors():
    assert all(core in PAGE for core in CORES)
