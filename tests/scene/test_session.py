"""Sessions: steps, a reset and snapshots to the bit, recordings that survive, no growing memory."""

import gc
import tracemalloc

import numpy as np
import pytest

from sofa_softctl.errors import DivergedError, RecordError, SceneError, UsageError
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.session.session import Session

STEPS = 8


def value_of(data):
    value = data.get()
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)


def every_data(session):
    """The value of every Data of every node and component, to the bit."""
    owners = [owner for node in session.nodes() for owner in (node, *node.objects)]
    return {data.getPathName(): value_of(data) for owner in owners for data in owner._data.values()}


def differences(one, other):
    return sorted(name for name in one if one[name] != other[name])


@pytest.fixture
def scene(beam, Sofa):
    """createScene of a beam with two cables, one pulled in a wave by a controller, which also pulls
    the other one a little through lambda."""

    class Wave(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            root = self.getContext()
            root.beam.cable_0.cable.value = [20.0 * np.sin(40.0 * root.time.value)]

        def onSolveConstraintSystemEndEvent(self, event):
            self.getContext().constraints.lambda_force()[1] += 3.0

        def reset(self):
            self.getContext().beam.cable_0.cable.value = [0.0]

    def createScene(root, linear_solver="SparseLDLSolver", velocity=0.0, **options):
        node = beam(root, cables=2, linear_solver=linear_solver, **options)
        node.dofs.velocity = [[0.0, 0.0, velocity]]
        node.addObject("BoxROI", name="roi", box=[-1, -1, -1, 21, 21, 31])
        tip = node.addChild("tip")
        tip.addObject("MechanicalObject", name="dofs", position=[[10, 10, 85]])
        tip.addObject(
            "PositionConstraint",
            name="push",
            indices=[0],
            useDirections=[1, 0, 0],
            valueType="force",
            value=[2.0],
        )
        tip.addObject("BarycentricMapping")
        root.addObject(Wave(name="wave"))

    return createScene


@pytest.fixture
def session(scene):
    return Session(scene, backend="embedded")


def trajectory(session, steps=STEPS):
    found = []
    for _ in range(steps):
        session.step()
        found.append(every_data(session))
    return found


# -- stepping ------------------------------------------------------------------------------------


def test_a_session_counts_steps_and_time(session):
    session.step()
    session.step(3)
    session.step(0)
    with pytest.raises(UsageError, match="0 or more steps. Got: -1"):
        session.step(-1)
    assert session.step_count == 4
    assert session.time == pytest.approx(0.04)
    assert session.dt == 0.01
    assert session.dof_count() == 16 * 3
    assert [entry.getName() for entry in session.controllers] == ["wave"]
    assert set(session.phases()) >= {"free motion", "constraint solver", "correction"}


def test_positions_are_copies_by_path(session):
    before = session.positions()
    session.step()
    after = session.positions()
    assert list(before) == [
        "beam/dofs.position",
        "beam/cable_0/dofs.position",
        "beam/cable_1/dofs.position",
        "beam/tip/dofs.position",
    ]
    assert not np.array_equal(before["beam/dofs.position"], after["beam/dofs.position"])


def test_a_session_is_named_after_its_scene(session, tmp_path):
    assert session.name == "createScene"
    file = tmp_path / "empty.py"
    file.write_text("def createScene(root):\n    pass\n")
    assert Session(file, backend="embedded").name == str(file)


# -- reset ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("linear_solver", ["SparseLDLSolver", "CGLinearSolver"])
def test_reset_returns_every_data_to_the_bit_and_the_second_run_is_the_first(scene, linear_solver):
    session = Session(
        scene,
        backend="embedded",
        parameters={"linear_solver": linear_solver, "velocity": 30.0},
    )
    start = every_data(session)
    first = trajectory(session)
    assert differences(start, first[-1])
    session.reset()
    assert differences(start, every_data(session)) == []
    assert (session.time, session.step_count) == (0.0, 0)
    for one, other in zip(first, trajectory(session), strict=True):
        assert differences(one, other) == []


def test_a_reset_run_is_that_of_a_fresh_session(session, scene):
    session.step(5)
    session.reset()
    fresh = Session(scene, backend="embedded")
    assert trajectory(session) == trajectory(fresh)


def test_reset_leaves_alone_what_the_user_changed(session):
    """As SOFA's reset: Data that scripts set stay, so that sweeps can reset and run again."""
    session.root.beam.fem.youngModulus = [800.0]
    session.step()
    session.reset()
    assert session.root.beam.fem.youngModulus.toList() == [[800.0]]


def test_reset_reaches_what_is_switched_off(session):
    """A body that was switched off in a run starts the next one from the start as well."""
    start = session.positions()
    session.step(3)
    session.root.beam.activated = False
    session.reset()
    session.root.beam.activated = True
    session.step(0)
    for name, value in session.positions().items():
        assert np.array_equal(value, start[name]), name


# -- snapshots -----------------------------------------------------------------------------------


@pytest.mark.parametrize("linear_solver", ["SparseLDLSolver", "CGLinearSolver"])
def test_a_snapshot_in_the_middle_is_returned_to_to_the_bit(scene, linear_solver):
    session = Session(scene, backend="embedded", parameters={"linear_solver": linear_solver})
    if linear_solver == "CGLinearSolver":
        session.root.beam.linear.warmStart = True
    session.step(3)
    snapshot = session.snapshot()
    here = every_data(session)
    first = trajectory(session)
    session.restore(snapshot)
    assert differences(here, every_data(session)) == []
    assert (session.time, session.step_count) == (snapshot.time, snapshot.step) == (0.03, 3)
    assert trajectory(session) == first
    session.reset()
    session.step()
    session.restore(snapshot)  # the snapshot is a copy, and may be returned to again
    assert trajectory(session) == first


def test_a_snapshot_holds_the_sign_of_zero(session):
    session.root.beam.dofs.velocity = np.full((16, 3), -0.0)
    snapshot = session.snapshot()
    session.root.beam.dofs.velocity = np.full((16, 3), 0.0)
    session.restore(snapshot)
    assert np.signbit(session.root.beam.dofs.velocity.value).all()


def test_a_snapshot_holds_changed_parameters(session):
    snapshot = session.snapshot()
    expected = trajectory(session, 3)
    session.restore(snapshot)
    session.root.beam.fem.youngModulus = [800.0]
    session.root.beam.fem.reinit()
    session.root.beam.getObject("mass").totalMass = 0.1
    session.root.beam.getObject("mass").reinit()
    changed = trajectory(session, 3)
    assert changed != expected
    session.restore(snapshot)
    assert trajectory(session, 3) == expected


def test_a_snapshot_knows_what_was_switched_off(session):
    snapshot = session.snapshot()
    expected = trajectory(session, 3)
    session.restore(snapshot)
    session.root.beam.tip.activated = False
    session.step()
    session.restore(snapshot)
    assert session.root.beam.tip.activated.value
    assert trajectory(session, 3) == expected


def test_a_snapshot_of_another_graph_is_refused(session, beam):
    snapshot = session.snapshot()
    other = Session(lambda root: beam(root), backend="embedded")
    message = "The snapshot is of another scene, or objects were added or removed since"
    with pytest.raises(SceneError, match=message):
        other.restore(snapshot)
    before = every_data(session)
    session.root.beam.removeObject("roi")
    with pytest.raises(SceneError, match=message):
        session.restore(snapshot)
    assert differences(every_data(session), before) == []  # nothing was half restored


# -- recordings ----------------------------------------------------------------------------------


def test_a_recording_holds_every_step_to_the_bit(session, tmp_path):
    path = tmp_path / "run.mcap"
    expected, times = [], []
    with session.recording(path) as channels:
        for _ in range(STEPS):
            session.step()
            expected.append(session.root.beam.dofs.position.value.copy())
            times.append(session.time)
    session.step()  # no longer recorded
    record = read_record(path)
    assert record.complete
    assert record.time.tolist() == times
    assert np.array_equal(record.channels["beam/dofs.position"], expected)
    assert list(record.channels) == [channel.name for channel in channels]
    assert "beam/cable_0/cable.force" in record.channels
    assert record.metadata["scene"] == "createScene"
    assert record.metadata["backend"].startswith("embedded runtime")
    assert record.metadata["dt"] == "0.01"


def test_parameters_are_in_the_record(scene, tmp_path):
    session = Session(scene, backend="embedded", parameters={"velocity": "3.5"})
    with session.recording(tmp_path / "run.mcap"):
        session.step()
    assert read_record(tmp_path / "run.mcap").metadata["parameter.velocity"] == "3.5"


def test_two_recordings_at_once_are_refused_and_the_first_goes_on(session, tmp_path):
    with session.recording(tmp_path / "one.mcap"):
        session.step()
        with pytest.raises(RecordError, match=r"already records to '.*one\.mcap'"):
            session.recording(tmp_path / "two.mcap").__enter__()
        session.step()
    assert len(read_record(tmp_path / "one.mcap").time) == 2
    assert not (tmp_path / "two.mcap").exists()


@pytest.mark.parametrize("back", ["reset", "restore"])
def test_going_back_ends_a_recording(session, tmp_path, back):
    """Times in a record increase, so the record ends where the session went back."""
    snapshot = session.snapshot()
    with session.recording(tmp_path / "run.mcap"):
        session.step(3)
        session.reset() if back == "reset" else session.restore(snapshot)
        session.step(2)
    record = read_record(tmp_path / "run.mcap")
    assert (len(record.time), record.complete) == (3, True)


def test_an_error_of_the_user_keeps_the_record(session, tmp_path):
    with pytest.raises(KeyboardInterrupt), session.recording(tmp_path / "run.mcap"):
        session.step(3)
        raise KeyboardInterrupt
    record = read_record(tmp_path / "run.mcap")
    assert (len(record.time), record.complete) == (3, False)
    assert record.status == "interrupted"


# -- divergence ----------------------------------------------------------------------------------


def poisoned(beam, Sofa, what, at=4, value=np.nan, **options):
    """createScene of a beam into whose Data a controller writes a NaN in step `at` + 1."""

    class Poison(Sofa.Core.Controller):
        count = 0

        def onAnimateBeginEvent(self, event):
            self.count += 1
            if self.count == at + 1:
                with self.getContext()[what].writeable() as array:
                    array[-1] = value

    def createScene(root):
        beam(root, **options)
        root.addObject(Poison(name="poison"))

    return createScene


@pytest.mark.parametrize("linear_solver", ["SparseLDLSolver", "CGLinearSolver"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("data", ["beam.dofs.position", "beam.dofs.velocity"])
@pytest.mark.parametrize("cables", [0, 2])
def test_a_state_that_is_not_finite_stops_the_run_and_keeps_the_record(
    beam, Sofa, tmp_path, linear_solver, value, data, cables
):
    scene = poisoned(beam, Sofa, data, value=value, cables=cables, linear_solver=linear_solver)
    session = Session(scene, backend="embedded")
    path = tmp_path / "run.mcap"
    with pytest.raises(DivergedError) as caught, session.recording(path):
        session.step(STEPS)
    message = str(caught.value)
    assert "MechanicalObject '/beam/dofs' diverged in the step from t = 0.04 to 0.05" in message
    assert "nodes are NaN or infinite, first node" in message
    assert "Try a smaller dt" in message
    assert session.step_count == 4
    record = read_record(path)
    assert len(record.time) == 4
    assert np.isfinite(record.channels["beam/dofs.position"]).all()
    assert record.status.startswith("stopped: MechanicalObject '/beam/dofs' diverged")
    assert not record.complete


def test_a_divergence_that_the_user_catches_ends_the_record_as_well(beam, Sofa, tmp_path):
    session = Session(poisoned(beam, Sofa, "beam.dofs.position"), backend="embedded")
    with session.recording(tmp_path / "run.mcap"):
        with pytest.raises(DivergedError):
            session.step(STEPS)
        session.reset()
        session.step(2)
    record = read_record(tmp_path / "run.mcap")
    assert (len(record.time), record.complete) == (4, False)


def test_a_free_mass_that_is_not_finite_stops_the_run(Sofa, tmp_path):
    """Without forces a NaN in a position never reaches a velocity."""

    class Poison(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            with self.getContext().body.dofs.position.writeable() as position:
                position[1, 2] = np.nan

    def createScene(root):
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver")
        body.addObject("SparseLDLSolver")
        body.addObject("MechanicalObject", name="dofs", position=np.zeros((3, 3)))
        body.addObject("UniformMass", totalMass=1.0)
        root.addObject(Poison(name="poison"))

    session = Session(createScene, backend="embedded")
    with pytest.raises(DivergedError, match=r"1 of 3 nodes are NaN or infinite, first node 1\."):
        session.step()


def test_a_scene_that_explodes_stops_by_itself(beam):
    """A hundred thousand times the stiffness that explicit treatment of vdamping < 0 can hold."""

    def createScene(root):
        beam(root, vdamping=-3000.0)

    session = Session(createScene, backend="embedded")
    with pytest.raises(DivergedError, match="'/beam' diverged"):
        session.step(200)


@pytest.mark.parametrize(
    "event", ["onBuildConstraintSystemEndEvent", "onSolveConstraintSystemEndEvent"]
)
def test_a_multiplier_that_is_not_finite_stops_the_run(beam, Sofa, event):
    def spoil(self, _):
        solver = self.getContext().constraints
        array = solver.dfree() if "Build" in event else solver.lambda_force()
        array[0] = np.nan

    def createScene(root):
        beam(root, cables=1, value_type="displacement")
        root.addObject(type("Spoil", (Sofa.Core.Controller,), {event: spoil})(name="spoil"))

    session = Session(createScene, backend="embedded")
    with pytest.raises(DivergedError, match="'/beam/dofs' diverged in the step from t = 0 to 0.01"):
        session.step()


def test_after_a_divergence_a_reset_starts_again(beam, Sofa):
    session = Session(poisoned(beam, Sofa, "beam.dofs.position", cables=1), backend="embedded")
    start = every_data(session)
    first = trajectory(session, 4)
    with pytest.raises(DivergedError):
        session.step()
    session.reset()
    assert differences(start, every_data(session)) == []
    assert trajectory(session, 4) == first


def test_inverse_control_tells_a_divergence_as_such(beam, Sofa):
    """The QP never sees the NaN: the run stops with the object that diverged."""
    from sofa_softctl import InverseController, add_effector

    def createScene(root):
        poisoned(beam, Sofa, "beam.dofs.position", at=2, cables=2)(root)
        tip = root.beam.addChild("tip")
        tip.addObject("MechanicalObject", name="dofs", position=[[10, 10, 85]])
        effector = add_effector(tip)
        tip.addObject("BarycentricMapping")
        cables = [root.beam[f"cable_{i}.cable"] for i in range(2)]
        root.addObject(
            InverseController(
                name="inverse", root=root, actuators=cables, effectors=[effector], goal=[10, 5, 85]
            )
        )

    session = Session(createScene, backend="embedded")
    with pytest.raises(DivergedError, match="'/beam/dofs' diverged in the step from t = 0.02"):
        session.step(5)


# -- memory --------------------------------------------------------------------------------------


@pytest.mark.soak
def test_memory_does_not_grow_over_steps_resets_and_snapshots(session):
    """450 steps and 150 resets and snapshots leave no more than the interpreter's lists of freed
    tuples, 60 kB whatever the number; one array of 48 numbers kept a step would be 216 kB."""

    def work(count):
        for _ in range(count):
            session.step()
            session.restore(session.snapshot())
            session.step(2)
            session.reset()
        gc.collect()

    work(20)
    tracemalloc.start()
    try:
        work(20)
        before = tracemalloc.get_traced_memory()[0]
        work(150)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 120_000
