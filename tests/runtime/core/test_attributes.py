"""Attributes of controllers come back with snapshots and resets, in this graph and in copies."""

import itertools
import logging
import pickle
import random
from collections import deque

import numpy as np
import pytest

from sofa_softctl.runtime.core import attributes
from sofa_softctl.runtime.simulation import snapshot
from sofa_softctl.scene.copies.rollout import copy_of
from sofa_softctl.scene.copies.state import apply_state, state_of
from sofa_softctl.scene.session.session import Session

COUNT = 0
"""Of events, which a controller counts."""


class Filter:
    """A low-pass filter that a controller owns."""

    def __init__(self):
        self.value, self.history = 0.0, []

    def update(self, value):
        self.value += 0.3 * (value - self.value)
        self.history.append(self.value)
        return self.value


def make(Sofa):
    """Class of a controller whose force follows from attributes of many kinds."""

    class Wander(Sofa.Core.Controller):
        calls = 0

        def __init__(self, *args, pushes, **kwargs):
            super().__init__(*args, **kwargs)
            self.pushes, self.now = pushes, pushes[0]
            self.n, self.gain, self.mode = 0, 1.0, self.rise
            self.integral, self.filter = np.zeros(3), Filter()
            self.table, self.last, self.seen = {"up": [1, 2]}, deque([0.0], maxlen=3), {1}
            self.random, self.dice = np.random.default_rng(3), random.Random(4)
            self.lookup = lambda n: n % 5

        def onAnimateBeginEvent(self, event):
            global COUNT
            COUNT += 1
            type(self).calls += 1
            self.n += 1
            self.now = self.pushes[self.n % 2]
            self.integral += self.random.normal(size=3)
            self.table["up"].append(self.n)
            self.last.append(self.filter.update(self.n))
            self.seen.add(self.n % 4)
            if self.n == 7:
                self.mode, self.late = self.fall, 2.0
            numbers = COUNT, self.calls, sum(self.last), len(self.seen), sum(self.table["up"])
            force = self.integral * self.mode() + self.dice.random() * sum(numbers)
            for push in self.pushes:  # Data that a script set stay after a reset
                push.forces = [[0.0, 0.0, 0.0]]
            self.now.forces = [(self.gain * (force + self.lookup(self.n))).tolist()]

        def rise(self):
            return 1.0

        def fall(self):
            return -2.0 * self.late

    return Wander


def create(Sofa, kind):
    def createScene(root):
        root.dt = 0.01
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver")
        body.addObject("CGLinearSolver", iterations=5, tolerance=1e-9, threshold=1e-9)
        body.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
        body.addObject("UniformMass", totalMass=1.0)
        force = {"indices": [0], "forces": [[0.0, 0.0, 0.0]]}
        pushes = [body.addObject("ConstantForceField", name=name, **force) for name in "ab"]
        root.addObject(kind(name="wander", pushes=pushes))

    return createScene


def tips(session, steps):
    found = []
    for _ in range(steps):
        session.step()
        found.append(session.root.body.dofs.position.value.tobytes())
    return found


def set_count(value):
    global COUNT
    COUNT = value


@pytest.fixture
def session(Sofa):
    set_count(0)
    return Session(create(Sofa, make(Sofa)), backend="embedded")


def test_a_snapshot_brings_back_attributes_of_every_simple_kind(session):
    session.step(4)
    kept = session.snapshot()
    first = tips(session, 6)
    for _ in range(2):
        session.restore(kept)
        assert tips(session, 6) == first


def test_a_snapshot_of_later_goes_forward(session):
    start = session.snapshot()
    session.step(9)
    later = session.snapshot()
    first = tips(session, 3)
    session.restore(start)
    session.restore(later)
    assert tips(session, 3) == first


def test_a_reset_brings_them_back(session):
    wander = session.root.wander
    first, history = tips(session, 10), wander.filter.history
    session.reset()
    assert wander.n == 0 and not hasattr(wander, "late")
    assert tips(session, 10) == first
    assert wander.filter.history is history  # objects stay the same ones


def test_what_is_set_between_steps_stays_after_a_reset(session):
    """As Data do: sweeps set a gain, reset, and run."""
    session.step(3)
    session.root.wander.gain = 2.0
    session.reset()
    assert (session.root.wander.gain, session.root.wander.n) == (2.0, 0)


def test_a_copy_of_the_scene_takes_them_over_with_its_own_parts(session):
    session.step(8)
    copied = copy_of(session.root)
    copied.set_state(snapshot.take_snapshot(session.root))
    assert copied.twin("/wander").now is copied.twin("/body/a")
    copied.step()
    set_count(8)  # the class and the module are the same ones
    type(session.root.wander).calls = 8
    session.step()
    there = copied.root.body.dofs.position.value
    assert there.tobytes() == session.root.body.dofs.position.value.tobytes()


def test_a_state_between_backends_holds_them(session):
    session.step(8)
    copied = copy_of(session.root)
    type(session.root.wander).calls = 0
    apply_state(copied.root, state_of(session.root))
    assert (copied.twin("/wander").n, copied.twin("/wander").late) == (8, 2.0)


def test_an_attribute_that_cannot_be_held_is_named_once(Sofa, caplog):
    class Listed(Sofa.Core.Controller):
        def __init__(self, *args, pushes, **kwargs):
            super().__init__(*args, **kwargs)
            self.path = itertools.count()

    session = Session(create(Sofa, Listed), backend="embedded")
    assert not caplog.messages
    for _ in range(2):
        session.snapshot()
        session.reset()
    assert len(caplog.messages) == 1
    assert "Listed '/wander' has the attribute 'path' (count), which neither" in caplog.text
    assert "give the class snapshot(), restore(values) and reset()" in caplog.text


def test_a_class_that_says_what_its_state_is_keeps_the_word(Sofa, caplog):
    class Own(Sofa.Core.Controller):
        def __init__(self, *args, pushes, **kwargs):
            super().__init__(*args, **kwargs)
            self.path, self.n = itertools.count(), 0

        def onAnimateBeginEvent(self, event):
            self.n += 1

        def snapshot(self):
            return {"n": self.n}

        def restore(self, values):
            self.n = values["n"] + 100

        def reset(self):
            self.n = -1

    caplog.set_level(logging.WARNING)
    session = Session(create(Sofa, Own), backend="embedded")
    session.step(2)
    kept = session.snapshot()
    session.restore(kept)
    assert session.root.wander.n == 102
    session.reset()
    assert session.root.wander.n == -1
    assert not caplog.messages


@pytest.mark.quick
def test_controllers_of_a_real_sofa_have_state_though_their_class_lists_no_data():
    controller = type("Wander", (), {"made_at": "scene.py:3"})()
    controller.level, controller.onKeypressedEvent = 0.0, None
    held = attributes.capture(controller)
    controller.level = 1.0
    assert attributes.changed_attributes(controller, held) == ["level"]


@pytest.mark.quick
def test_what_another_process_has_itself_is_not_sent_and_read_only_arrays_are_replaced():
    """The look-ahead in SOFA sends attributes to a copy in the embedded runtime."""
    controller = type("Wander", (), {"made_at": "scene.py:3"})()
    controller.writers, controller.rate = {"effort": lambda values: values}, np.array([2.0, 3.0])
    held = pickle.loads(pickle.dumps(attributes.capture(controller)))
    writer, controller.rate = controller.writers["effort"], np.array([5.0, 5.0])
    controller.rate.flags.writeable = False
    attributes.put_back(controller, held)
    assert controller.writers == {"effort": writer}
    assert controller.rate.tolist() == [2.0, 3.0]
