"""Controllers: which events they get, in which order and at what time, and what they may do."""

import traceback

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.event import key_pressed, key_released

DT = 0.01


@pytest.fixture
def animate(Sofa):
    def steps(root, count=1):
        for _ in range(count):
            Sofa.Simulation.animate(root, root.dt.value)

    return steps


@pytest.fixture
def controller(Sofa):
    """Makes a controller of functions: controller(onAnimateBeginEvent=f, ...), f(event)."""

    def make(**functions):
        methods = {name: lambda self, event, f=f: f(event) for name, f in functions.items()}
        return type("Made", (Sofa.Core.Controller,), methods)(name="made")

    return make


def height(dofs):
    """Of the last node; a state has no nodes before init."""
    return dofs.position.value[-1, 1] if len(dofs.position.value) else None


# -- events --------------------------------------------------------------------------------------


def test_the_default_loop_sends_sofas_events_in_sofas_order(Sofa, root, beam, recorder, animate):
    """Semantics 1.3: collision comes before the integration; the time goes on before AnimateEnd,
    and the integrated positions stand at IntegrateEnd already."""
    dofs = beam(root).dofs
    seen = root.addObject(recorder(name="seen", watch=lambda: height(dofs)))
    Sofa.Simulation.init(root)
    start = height(dofs)
    animate(root)
    assert [event[:2] for event in seen.events] == [
        ("SimulationInitStartEvent", 0.0),
        ("SimulationInitDoneEvent", 0.0),
        ("AnimateBeginEvent", 0.0),
        ("CollisionBeginEvent", 0.0),
        ("CollisionEndEvent", 0.0),
        ("IntegrateBeginEvent", 0.0),
        ("IntegrateEndEvent", 0.0),
        ("AnimateEndEvent", DT),
        ("UpdateMappingEndEvent", DT),
    ]
    moved = {name: y != start for name, _, y in seen.events[2:]}
    assert not moved["IntegrateBeginEvent"]
    assert moved["IntegrateEndEvent"]


def test_the_free_motion_loop_sends_sofas_events_in_sofas_order(
    Sofa, root, beam, recorder, animate
):
    """Semantics 1.4: the position is that of the start of the step in both constraint events."""
    dofs = beam(root, cables=1).dofs
    seen = root.addObject(recorder(name="seen", watch=lambda: height(dofs)))
    Sofa.Simulation.init(root)
    start = height(dofs)
    animate(root)
    assert [event[:2] for event in seen.events[2:]] == [
        ("AnimateBeginEvent", 0.0),
        ("CollisionBeginEvent", 0.0),
        ("CollisionEndEvent", 0.0),
        ("BuildConstraintSystemEndEvent", 0.0),
        ("SolveConstraintSystemEndEvent", 0.0),
        ("AnimateEndEvent", DT),
        ("UpdateMappingEndEvent", DT),
    ]
    assert [y != start for _, _, y in seen.events[2:]] == [False] * 5 + [True] * 2


def test_begin_and_end_of_a_step_tell_its_length(Sofa, root, controller, animate):
    found = []
    root.addObject(controller(onAnimateBeginEvent=found.append, onAnimateEndEvent=found.append))
    Sofa.Simulation.init(root)
    root.dt = 0.25
    animate(root)
    assert found == [
        {"type": "AnimateBeginEvent", "isHandled": False, "dt": 0.25},
        {"type": "AnimateEndEvent", "isHandled": False, "dt": 0.25},
    ]


def test_controllers_are_called_in_the_order_of_the_graph(Sofa, root, animate):
    order = []

    class Named(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            order.append(self.getName())

    left, right = root.addChild("left"), root.addChild("right")
    both = left.addChild("both")
    right.addChild(both)
    for node, name in ((both, "4"), (right, "3"), (left, "2"), (root, "0"), (root, "1")):
        node.addObject(Named(name=name))
    Sofa.Simulation.init(root)
    animate(root)
    assert order == ["0", "1", "2", "3", "4"]
    right.activated = False
    order.clear()
    animate(root)
    assert order == ["0", "1", "2"]


def test_init_goes_down_and_nothing_calls_bwd_init_as_in_sofa(Sofa, root):
    order = []

    class Named(Sofa.Core.Controller):
        def init(self):
            order.append(f"init {self.getName()}")

        def bwdInit():  # SOFA's own example of an empty controller has it so
            raise AssertionError

        def reinit(self):
            order.append(f"reinit {self.getName()}")

        def reset(self):
            order.append(f"reset {self.getName()}")

    for name in ("a", "b"):
        root.addObject(Named(name=name))
    below = root.addChild("child").addObject(Named(name="c"))
    Sofa.Simulation.init(root)
    assert order == ["init a", "init b", "init c"]
    order.clear()
    below.reinit()
    Sofa.Simulation.reset(root)
    assert order == ["reinit c", "reset a", "reset b", "reset c"]


def test_keys_reach_their_own_methods(Sofa, root, controller):
    found = []
    root.addChild("child").addObject(
        controller(onKeypressedEvent=found.append, onKeyreleasedEvent=found.append)
    )
    Sofa.Simulation.init(root)
    root.send(key_pressed(Sofa.constants.Key.uparrow))
    root.send(key_pressed("A"))
    root.send(key_released("A"))
    assert found == [
        {"type": "KeypressedEvent", "isHandled": False, "key": "\x13"},
        {"type": "KeypressedEvent", "isHandled": False, "key": "A"},
        {"type": "KeyreleasedEvent", "isHandled": False, "key": "A"},
    ]


def test_a_script_can_send_events_with_any_content(Sofa, root, controller):
    """As SofaPython3's Node.sendEvent: a PythonScriptEvent to all below."""
    found, other = [], []
    child = root.addChild("child")
    child.addObject(controller(onPythonScriptEvent=found.append))
    root.addObject(controller(onPythonScriptEvent=other.append))
    child.sendEvent({"pressure": 3}, "pump")
    assert found == [
        {
            "type": "PythonScriptEvent",
            "isHandled": False,
            "sender": child,
            "event_name": "pump",
            "userData": {"pressure": 3},
        }
    ]
    assert other == []


def test_on_event_gets_only_what_has_no_method_of_its_own(Sofa, root, animate):
    found = []

    class Both(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            found.append("begin")

        def onEvent(self, event):
            found.append(event["type"])

    root.addObject(Both(name="both"))
    Sofa.Simulation.init(root)
    found.clear()
    animate(root)
    assert found[0] == "begin"
    assert "AnimateBeginEvent" not in found
    assert "AnimateEndEvent" in found


def test_a_method_may_be_set_on_the_instance(Sofa, root, animate):
    """SofaPython3 looks the method up on the object, so what a script hangs there counts."""
    found = []
    made = root.addObject(Sofa.Core.Controller(name="made"))
    made.onAnimateBeginEvent = found.append
    Sofa.Simulation.init(root)
    animate(root)
    assert [event["type"] for event in found] == ["AnimateBeginEvent"]


def test_a_controller_that_does_not_listen_gets_nothing(Sofa, root, controller, animate):
    found = []
    made = root.addObject(controller(onAnimateBeginEvent=found.append))
    assert made.listening.value
    made.listening = False
    Sofa.Simulation.init(root)
    animate(root)
    assert found == []


def test_arguments_that_are_no_data_are_left_to_the_controller(Sofa, root):
    class Own(Sofa.Core.Controller):
        def __init__(self, *args, **kwargs):
            Sofa.Core.Controller.__init__(self, *args, **kwargs)
            self.pump = kwargs["pump"]

    own = root.addObject(Own(name="own", printLog=True, pump=3))
    assert (own.getName(), own.printLog.value, own.pump) == ("own", True, 3)


# -- inside the step -----------------------------------------------------------------------------


def run(Sofa, beam, steps=3, event=None, act=None, **options):
    """Positions of a beam with cables after some steps in which act(solver) is called at event."""
    root = Sofa.Core.Node("root")
    node = beam(root, **options)
    if event is not None:
        made = type("Made", (Sofa.Core.Controller,), {event: lambda self, _: act(root.constraints)})
        root.addObject(made(name="made"))
    Sofa.Simulation.init(root)
    for _ in range(steps):
        Sofa.Simulation.animate(root, DT)
    return node.dofs.position.value.copy()


def test_what_stands_in_lambda_after_the_solver_is_applied(Sofa, beam):
    def release(solver):
        assert solver.lambda_force() == pytest.approx([30.0, 30.0], rel=1e-12)
        solver.lambda_force()[:] = 0.0

    pulled = run(Sofa, beam, cables=2, value=30.0)
    released = run(
        Sofa, beam, event="onSolveConstraintSystemEndEvent", act=release, cables=2, value=30.0
    )
    free = run(Sofa, beam, cables=2, value=0.0)
    assert np.array_equal(released, free)  # the same operations on the same numbers
    assert np.abs(pulled - free).max() > 0.1


def test_lambda_written_by_a_controller_moves_as_the_solvers_own(Sofa, beam):
    def pull(solver):
        solver.lambda_force()[0] = 30.0

    by_hand = run(Sofa, beam, event="onSolveConstraintSystemEndEvent", act=pull, cables=1)
    by_solver = run(Sofa, beam, cables=1, value=30.0)
    assert by_hand == pytest.approx(by_solver, abs=1e-12)  # lambda is exact to rounding


def test_delta_free_written_after_the_build_is_what_the_solver_sees(Sofa, beam):
    """displacement = W lambda + delta_free: 2 more in delta_free is 2 less to be pulled."""

    def shift(solver):
        solver.dfree()[:] += 2.0

    options = {"cables": 1, "value_type": "displacement", "steps": 1}
    shifted = run(
        Sofa, beam, event="onBuildConstraintSystemEndEvent", act=shift, value=5, **options
    )
    assert shifted == pytest.approx(run(Sofa, beam, value=3.0, **options), abs=1e-8)


def test_w_written_after_the_build_is_what_the_solver_sees(Sofa, beam):
    """One row: lambda = (value - delta_free) / W, so twice the W gives half the lambda."""
    found = []

    def double(solver):
        solver.W()[:] *= 2.0

    for event, act in (("onBuildConstraintSystemEndEvent", double), ("onEvent", lambda _: None)):
        root = Sofa.Core.Node("root")
        node = beam(root, cables=1, value_type="displacement", value=5.0)
        made = type(
            "M", (Sofa.Core.Controller,), {event: lambda s, _, a=act, r=root: a(r.constraints)}
        )
        root.addObject(made(name="made"))
        Sofa.Simulation.init(root)
        Sofa.Simulation.animate(root, DT)
        found.append(node.cable_0.cable.force.value)
    assert found[0] == pytest.approx(found[1] / 2.0, rel=1e-9)


def test_the_views_are_the_solvers_own_arrays_in_every_step(Sofa, root, beam, controller, animate):
    beam(root, cables=2)
    seen = []

    def look(event):
        solver = root.constraints
        seen.append((solver.W(), solver.dfree(), solver.lambda_force()))

    root.addObject(
        controller(onBuildConstraintSystemEndEvent=look, onSolveConstraintSystemEndEvent=look)
    )
    Sofa.Simulation.init(root)
    animate(root, 2)
    for views in zip(*seen, strict=True):
        assert all(np.shares_memory(views[0], view) for view in views)
        assert all(view.flags.writeable for view in views)
    W, dfree, lam = seen[-1]
    assert (W.shape, dfree.shape, lam.shape) == ((2, 2), (2,), (2,))
    assert np.allclose(W, W.T, rtol=1e-12, atol=0.0)
    assert np.linalg.eigvalsh(W).min() > 0.0


def test_lambda_is_zero_when_the_system_has_been_built(Sofa, root, beam, controller, animate):
    beam(root, cables=1, value=5.0)
    found = []
    root.addObject(
        controller(
            onBuildConstraintSystemEndEvent=lambda _: found.append(
                root.constraints.lambda_force().copy()
            )
        )
    )
    Sofa.Simulation.init(root)
    animate(root, 3)
    assert not np.any(found)


# -- errors of controllers -----------------------------------------------------------------------

EVENTS = [
    "onSimulationInitDoneEvent",
    "onAnimateBeginEvent",
    "onBuildConstraintSystemEndEvent",
    "onSolveConstraintSystemEndEvent",
    "onAnimateEndEvent",
    "onEvent",
]


@pytest.mark.parametrize("event", EVENTS)
def test_an_error_in_a_controller_comes_out_as_it_is_at_its_own_line(
    Sofa, root, beam, controller, animate, event
):
    beam(root, cables=1)

    def fail(event):
        return 1 / 0

    root.addObject(controller(**{event: fail}))
    with pytest.raises(ZeroDivisionError) as caught:
        Sofa.Simulation.init(root)
        animate(root)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == __file__
    assert last.line == "return 1 / 0"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_after_an_error_the_scene_can_go_on_from_a_reset(Sofa, root, beam, controller, animate):
    node = beam(root, cables=1, value=2.0)
    fail = [False]

    def maybe(event):
        if fail[0]:
            raise RuntimeError("stop")

    root.addObject(controller(onSolveConstraintSystemEndEvent=maybe))
    Sofa.Simulation.init(root)
    animate(root, 3)
    expected = node.dofs.position.value.copy()
    fail[0] = True
    with pytest.raises(RuntimeError, match="stop"):
        animate(root)
    fail[0] = False
    Sofa.Simulation.reset(root)
    animate(root, 3)
    assert np.array_equal(node.dofs.position.value, expected)


# -- changing the scene while it runs ------------------------------------------------------------


def add_cable(body, **values):
    cable = body.addChild("late")
    cable.addObject("MechanicalObject", name="dofs", position=[[10, 10, 5], [10, 10, 85]])
    cable.addObject(
        "CableConstraint", name="cable", indices=[0, 1], pullPoint=[10, 10, 0], **values
    )
    cable.addObject("BarycentricMapping")
    return cable


def test_a_cable_may_be_added_and_removed_while_the_scene_runs(
    Sofa, root, beam, controller, animate
):
    """With it the tip is pulled towards the base; without it the system is as before."""
    body = beam(root, cables=1)
    counts, step = [], [0]

    def change(event):
        step[0] += 1
        if step[0] == 3:
            add_cable(body, valueType="force", value=[40.0]).init()
        if step[0] == 5:
            body.removeChild("late")

    root.addObject(
        controller(
            onAnimateBeginEvent=change,
            onAnimateEndEvent=lambda _: counts.append(len(root.constraints.dfree())),
        )
    )
    Sofa.Simulation.init(root)
    animate(root, 4)
    pulled = body.dofs.position.value[-1, 2]
    animate(root, 2)
    assert counts == [1, 1, 2, 2, 1, 1]
    assert pulled < 89.9 < 90.0


def test_what_is_added_to_a_running_scene_must_be_initialised(Sofa, root, beam, animate):
    body = beam(root, cables=1)
    Sofa.Simulation.init(root)
    animate(root)
    late = add_cable(body, valueType="force", value=[1.0])
    message = (
        r"test_controller\.py:\d+: MechanicalObject '/beam/late/dofs' was not there, or switched "
        r"off, when the scene was initialised: call init\(\) of it or of its node"
    )
    with pytest.raises(SceneError, match=message):
        animate(root)
    late.init()
    animate(root)
    extra = body.addObject("RestShapeSpringsForceField", name="soft", stiffness=[0.1])
    with pytest.raises(SceneError, match=r"RestShapeSpringsForceField '/beam/soft' was not there"):
        animate(root)
    extra.init()
    animate(root)


def test_a_force_field_may_be_removed_while_the_scene_runs(Sofa, root, beam, animate):
    """Without elasticity all that is free falls: v grows by dt g a step."""
    body = beam(root)
    Sofa.Simulation.init(root)
    animate(root, 2)
    body.removeObject("fem")
    body.ode.rayleighMass = 0.0
    before = body.dofs.velocity.value[-1].copy()
    animate(root)
    change = body.dofs.velocity.value[-1] - before
    assert change == pytest.approx([0.0, -98.1, 0.0], abs=1e-9)  # rounding of v, about 1e2


def test_a_controller_may_remove_itself_and_those_after_it(Sofa, root, animate):
    order = []

    class Named(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            order.append(self.getName())
            if self.getName() == "first":
                root.removeObject("second")
                root.removeObject(self)

    for name in ("first", "second", "third"):
        root.addObject(Named(name=name))
    Sofa.Simulation.init(root)
    animate(root, 2)
    assert order == ["first", "third", "third"]


def test_what_was_added_to_a_running_scene_returns_with_reset_to_its_own_start(
    Sofa, root, beam, animate
):
    body = beam(root, cables=1)
    Sofa.Simulation.init(root)
    animate(root, 3)
    late = add_cable(body, valueType="force", value=[4.0])
    late.init()
    animate(root, 3)
    Sofa.Simulation.reset(root)
    assert (late.cable.force.value, late.cable.displacement.value) == (0.0, 0.0)
    assert not late.dofs.velocity.value.any()
    expected = np.zeros((2, 3))
    late.BarycentricMapping.apply(body.dofs.rest_position.value, expected)
    assert np.array_equal(late.dofs.position.value, expected)  # carried by the body at its start


def test_a_controller_may_call_its_attributes_what_it_likes(Sofa, root, animate):
    """None of the names that the runtime uses inside may be in its way."""

    class Own(Sofa.Core.Controller):
        def __init__(self, *args, **kwargs):
            Sofa.Core.Controller.__init__(self, *args, **kwargs)
            self.initialised = self.where = self.context = self.version = None
            self.state = self.node = self.outputs = self.follows = self._start = 0
            self.calls = 0

        def onAnimateBeginEvent(self, event):
            self.calls += 1

    own = root.addObject(Own(name="own"))
    Sofa.Simulation.init(root)
    animate(root, 2)
    assert own.calls == 2
    Sofa.Simulation.reset(root)
    assert (own.calls, own.getPathName(), own.state) == (0, "/own", 0)


def test_an_event_whose_name_is_no_method_goes_to_on_event(Sofa, root):
    heard = []

    class Odd(Sofa.Core.Controller):
        onAnimateEndEvent = "a text"

        def onEvent(self, event):
            heard.append(event["type"])

    root.addObject("DefaultAnimationLoop")
    root.addObject(Odd(name="odd"))
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    assert "AnimateEndEvent" in heard


def test_a_method_with_other_arguments_is_a_fault_of_the_scene(Sofa, root):
    """What its own code raises stays what it is."""

    class Short(Sofa.Core.Controller):
        def onAnimateBeginEvent(self):
            """Forgot the event."""

    class Wrong(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            len(1)

    root.addObject("DefaultAnimationLoop")
    controller = root.addObject(Short(name="short"))
    Sofa.Simulation.init(root)
    with pytest.raises(SceneError, match=r"Write def onAnimateBeginEvent\(self, event\)"):
        Sofa.Simulation.animate(root, 0.01)
    root.removeObject(controller)
    root.addObject(Wrong(name="wrong"))
    with pytest.raises(TypeError, match="has no len"):
        Sofa.Simulation.animate(root, 0.01)
