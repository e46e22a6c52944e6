"""Small inverse problems with contacts and analytic answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.qpcc.problem.contacts import Contacts, Law, NormalSum
from sofa_softctl.qpcc.problem.modes import Mode
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.status import Status

I, ST, SL = Mode.INACTIVE, Mode.STICKING, Mode.SLIDING


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """An inverse problem with contacts, and its analytic answer."""

    name: str
    """Short description."""
    problem: InverseProblem
    """The problem."""
    effort: np.ndarray
    """The answer [effort], shape (n_a,)."""
    force: np.ndarray
    """Contact forces of the answer [effort], shape (n_r,). NaN where they are not unique."""
    modes: tuple[Mode, ...]
    """Contact modes, n_c of them; empty where forces are not unique."""
    status: Status = Status.SOLVED
    """Status of a correct solve."""


def rod_against_a_wall() -> ContactProblem:
    """x = lam - n, wall at 1, goal at 3: x = 1 is reached by lam = 1, and more force is wasted."""
    return ContactProblem(
        "a rod against a wall", _rod(goal=3.0, gap=1.0), np.array([1.0]), np.zeros(1), (I,)
    )


def rod_that_leaves_the_wall() -> ContactProblem:
    """The rod was pressed to the wall by 5; its goal is at -1, where the contact is open."""
    return ContactProblem(
        "a contact that must break",
        _rod(goal=-1.0, gap=1.0, energy=0.0, effort_previous=[5.0]),
        np.array([-1.0]),
        np.zeros(1),
        (I,),
    )


def push_an_object() -> ContactProblem:
    """Object x = n, pusher lam - n, gap 1/2 + 2 n - lam: x = 1 needs n = 1 and lam = 5/2."""
    return ContactProblem(
        "an object is pushed", _pusher(copies=1), np.array([2.5]), np.array([1.0]), (SL,)
    )


def push_with_redundant_contacts() -> ContactProblem:
    """Three redundant contacts: how they share the force of 1 is not unique."""
    problem = _pusher(copies=3)
    return ContactProblem(
        "contacts that depend on each other", problem, np.array([2.5]), np.full(3, math.nan), ()
    )


def block_that_sticks() -> ContactProblem:
    """A spring pulls a block of weight 2 on a plane with mu = 1/2, so friction holds up to 1.

    Block x_t = lam + f, spring's end 2 lam + f. The end is at 4/5 if lam = 4/5 and f = -4/5.
    """
    return ContactProblem(
        "a block that sticks",
        _block(goal=0.8),
        np.array([0.8]),
        np.array([2.0, -0.8, 0.0]),
        (ST,),
    )


def block_that_slides() -> ContactProblem:
    """The same with the end at 3: friction is at its limit f = -1, so lam = 2, and x_t = 1."""
    return ContactProblem(
        "a block that slides", _block(goal=3.0), np.array([2.0]), np.array([2.0, -1.0, 0.0]), (SL,)
    )


def block_that_must_stick() -> ContactProblem:
    """The same where contacts stick without a cone: f = -lam = -3."""
    return ContactProblem(
        "a block that sticks whatever it takes",
        _block(goal=3.0, law=Law("sticking")),
        np.array([3.0]),
        np.array([2.0, -3.0, 0.0]),
        (ST,),
    )


def block_that_slides_askew() -> ContactProblem:
    """Pulled along both tangents to (3, 4) / 5; friction of 1 against it: lam = (6, 8) / 5."""
    W_ac = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    contacts = _contacts(
        W_ec=W_ac, W_ac=W_ac, W_cc=np.eye(3), delta_c_free=[-2.0, 0.0, 0.0], friction=[0.5]
    )
    problem = _problem(np.eye(2), np.eye(2), [-0.6, -0.8], contacts)
    return ContactProblem(
        "a block that slides askew",
        problem,
        np.array([1.2, 1.6]),
        np.array([2.0, -0.6, -0.8]),
        (SL,),
    )


def grasp() -> ContactProblem:
    """Two fingers hold an object at 0 with n_1 + n_2 >= 2, by the least effort: 1 each."""
    return ContactProblem("a grasp", _grasp(), np.ones(2), np.ones(2), (SL, SL))


def grasp_that_is_too_weak() -> ContactProblem:
    """The same with efforts of at most 1/2: the sum is 1, which is reported."""
    return ContactProblem(
        "a grasp that is too weak",
        _grasp(effort_max=0.5),
        np.full(2, 0.5),
        np.full(2, 0.5),
        (SL, SL),
        Status.CLOSEST_FEASIBLE,
    )


def rod_pushed_out_of_its_limit() -> ContactProblem:
    """An obstacle pushes the rod to -1, it may not be below -1/2; lam = 0 is the least effort."""
    return ContactProblem(
        "a contact against a limit",
        _rod(goal=0.0, gap=-1.0, displacement_min=-0.5),
        np.zeros(1),
        np.ones(1),
        (SL,),
        Status.CLOSEST_FEASIBLE,
    )


def contact_problems() -> list[ContactProblem]:
    """All problems of this file."""
    return [
        rod_against_a_wall(),
        rod_that_leaves_the_wall(),
        push_an_object(),
        push_with_redundant_contacts(),
        block_that_sticks(),
        block_that_slides(),
        block_that_must_stick(),
        block_that_slides_askew(),
        grasp(),
        grasp_that_is_too_weak(),
        rod_pushed_out_of_its_limit(),
    ]


def _rod(goal: float, gap: float, energy: float = 0.1, **limits: Any) -> InverseProblem:
    """x = lam - n, gap - x >= 0."""
    contacts = _contacts(
        W_ec=[[-1.0]], W_ac=[[-1.0]], W_cc=[[1.0]], delta_c_free=[gap], friction=[0.0]
    )
    return _problem([[1.0]], [[1.0]], [-goal], contacts, energy=energy, **limits)


def _pusher(copies: int) -> InverseProblem:
    contacts = _contacts(
        W_ec=np.ones((1, copies)),
        W_ac=-np.ones((1, copies)),
        W_cc=np.full((copies, copies), 2.0),
        delta_c_free=np.full(copies, 0.5),
        friction=np.zeros(copies),
    )
    return _problem([[0.0]], [[1.0]], [-1.0], contacts)


def _block(goal: float, law: Law | None = None) -> InverseProblem:
    contacts = _contacts(
        W_ec=[[0.0, 1.0, 0.0]],
        W_ac=[[0.0, 1.0, 0.0]],
        W_cc=np.eye(3),
        delta_c_free=[-2.0, 0.0, 0.0],
        friction=[0.5],
        law=law or Law(),
    )
    return _problem([[2.0]], [[2.0]], [-goal], contacts)


def _grasp(**limits: Any) -> InverseProblem:
    """Fingers lam_1 - n_1 and n_2 - lam_2, object n_1 - n_2."""
    contacts = _contacts(
        W_ec=[[1.0, -1.0]],
        W_ac=[[-1.0, 0.0], [0.0, -1.0]],
        W_cc=[[2.0, -1.0], [-1.0, 2.0]],
        delta_c_free=np.zeros(2),
        friction=np.zeros(2),
        sums=[NormalSum("object", [0, 1], 2.0)],
    )
    return _problem(
        [[0.0, 0.0]], np.eye(2), [0.0], contacts, effort_min=0.0, energy_rows=None, **limits
    )


def _problem(
    W_ea: Any, W_aa: Any, delta_e_free: Any, contacts: Contacts, **limits: Any
) -> InverseProblem:
    return InverseProblem(
        W_ea=W_ea,
        W_aa=W_aa,
        delta_e_free=delta_e_free,
        delta_a_free=np.zeros(len(W_aa)),
        contacts=contacts,
        **limits,
    )


def _contacts(**fields: Any) -> Contacts:
    """Contacts from plain lists."""
    return Contacts(**fields)
