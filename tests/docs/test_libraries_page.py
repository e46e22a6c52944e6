"""The pages on libraries: their code runs, and what they say of it holds."""

from contextlib import chdir
from dataclasses import fields, replace

import numpy as np
import pytest

from tests.docs.pages import run, text

PROBLEMS = text("reference/optimal-control-problems")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What the pages' code defines; its files are written elsewhere."""
    with chdir(tmp_path_factory.mktemp("page")):
        return run("how-to/build-a-library", "reference/optimal-control-problems")


def test_the_library_of_the_page_answers(page):
    """From 0.75 m with 0.45 m of rope; an answer may miss by the problem's tolerance."""
    answer, program, crane = page["answer"], page["program"], page["crane"]
    assert answer.status.ok and answer.message == "" and answer.report.passed
    states = program.simulate(answer.v, answer.p)
    assert states == pytest.approx(answer.motion.x, abs=1e-5)
    assert answer.error == pytest.approx(program.error(answer.v, answer.p), abs=1e-5)
    assert answer.error < crane.tolerance
    miss = np.abs(states[-1] - [answer.p[0], 0.0, 0.0, 0.0])
    assert (miss < crane.terminal_tolerances).all()


def test_the_crane_arrives_and_stands_still(page):
    program, motion, optimum = page["program"], page["motion"], page["optimum"]
    assert optimum.status.ok
    assert motion.u.shape == (30, 1) and motion.x.shape == (31, 4)
    states = program.simulate(optimum.v, optimum.p)
    assert states[-1] == pytest.approx([0.8, 0.0, 0.0, 0.0], abs=1e-6)
    assert program.error(optimum.v, optimum.p) < 1e-6


def test_its_steps_are_enough(page):
    """Ten times as many change the end by less than a micrometre."""
    finer = page["Program"](replace(page["crane"], steps=50))
    states = finer.simulate(page["optimum"].v, page["optimum"].p)
    assert states[-1] == pytest.approx([0.8, 0.0, 0.0, 0.0], abs=1e-6)


def test_its_mirror_is_one(page):
    program, mirror = page["program"], page["crane"].mirror
    other = program.motion(program.solve(page["optimum"].p * mirror.parameters).v)
    assert other.u == pytest.approx(page["motion"].u * mirror.inputs, abs=1e-6)
    assert other.x == pytest.approx(page["motion"].x * mirror.states, abs=1e-6)


def test_the_price_is_the_change_of_the_cost(page):
    """Central differences of solved optima with 1e-4: 1e-9 of the solver over 1e-4."""
    program, p = page["program"], page["optimum"].p
    for price, step in zip(page["price"], 1e-4 * np.eye(2), strict=True):
        difference = (program.solve(p + step).cost - program.solve(p - step).cost) / 2e-4
        assert price == pytest.approx(difference, rel=1e-3, abs=1e-4)


def test_every_field_of_a_declaration_is_on_the_page(page):
    for field in fields(page["crane"]):
        assert f"`{field.name}`" in PROBLEMS


def test_sizes_in_the_table_of_times_are_those_of_the_programs():
    from scenes.elastic_arm.problem import arm
    from scenes.problems.flexible_cart import flexible_cart
    from sofa_softctl.library.ocp.shooting import Program

    problems = {
        "elastic arm": arm(),
        "elastic arm, variable stiffness": arm("variable"),
        "flexible cart": flexible_cart(),
    }
    for name, problem in problems.items():
        assert f"| {name} | {Program(problem).size} |" in PROBLEMS


def test_the_arm_of_the_page_is_that_of_its_scene(page):
    """To the last digit of each constant."""
    from sofa_softctl.library.ocp.problem import load_problem
    from tests.docs.pages import ROOT

    scene = load_problem(str(ROOT / "scenes" / "arm_library.py"))
    assert page["Program"](page["arm"]).digest == page["Program"](scene).digest
    assert (page["arm"].lower == scene.lower).all() and (page["arm"].upper == scene.upper).all()
