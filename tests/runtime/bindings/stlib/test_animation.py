"""splib3.animation: functions that are called in every step."""

import pytest

from sofa_softctl.errors import SceneError


@pytest.fixture
def animation(monkeypatch):
    import importlib

    module = importlib.import_module("splib3.animation.animate")
    monkeypatch.setattr(module, "manager", None)
    return module


@pytest.fixture
def scene(animation, root):
    """A scene with a manager; dt is a power of 2, so that times are exact."""
    root.dt = 0.125
    root.addObject("DefaultAnimationLoop")
    root.addObject(animation.AnimationManager(root))
    return root


def test_the_factor_goes_from_0_to_1_and_the_end_is_told(animation, scene, run):
    factors, ends = [], []
    animation.animate(
        lambda target, factor: factors.append(factor),
        {"target": scene},
        duration=0.5,
        onDone=lambda target, factor: ends.append((target, factor)),
    )
    run(scene, 7)
    assert factors == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
    assert ends == [(scene, 1.0)]
    assert scene.AnimationManager.animations == []


@pytest.mark.parametrize(
    ("mode", "delay", "expected"),
    [
        ("loop", None, [0, 0.5, 1, 0, 0.5, 1, 0]),
        ("loop", 0.25, [0, 0.5, 1, 0, 0, 0.5, 1]),
        ("pingpong", None, [0, 0.5, 1, 1, 0.5, 0, 0]),
    ],
)
def test_an_animation_repeats(animation, scene, run, mode, delay, expected):
    """With a delay it waits where it begins again; without, it begins in the next step."""
    factors = []
    animation.animate(
        lambda factor: factors.append(factor), {}, 0.25, mode=mode, terminationDelay=delay
    )
    run(scene, 7)
    assert factors == pytest.approx(expected, abs=1e-9)


def test_an_animation_without_a_duration_is_called_once(animation, scene, run):
    factors = []
    animation.animate(lambda factor: factors.append(factor), {}, 0.0)
    run(scene, 3)
    assert factors == [1.0]


def test_an_animation_that_a_callback_starts_is_called_in_the_same_step(animation, scene, run):
    calls = []

    def first(factor):
        calls.append("first")
        animation.animate(lambda factor: calls.append("second"), {}, 0.0)

    animation.animate(first, {}, 0.0)
    run(scene, 1)
    assert calls == ["first", "second"]


def test_animations_can_be_taken_back(animation, scene, run):
    made = animation.Animation(1.0, "once", lambda factor: pytest.fail("called"), {})
    scene.AnimationManager.addAnimation(made)
    animation.removeAnimation(made)
    run(scene, 2)


def test_the_old_name_of_a_parameter_is_taken_with_a_message(animation, caplog):
    made = animation.Animation(duration=1.0, mode="once", cb=dict, params={})
    assert made.onUpdate is dict
    assert "The parameter 'cb' is now called 'onUpdate'." in caplog.text
    with pytest.raises(TypeError, match="'cb' is the old name of 'onUpdate'; give one"):
        animation.Animation(1.0, "once", cb=print, onUpdate=print, params={})


def test_without_a_manager_the_error_says_how_to_add_one(animation):
    with pytest.raises(RuntimeError, match=r"root.addObject\(AnimationManager\(root\)\)"):
        animation.animate(print, {}, 1.0)


def test_each_scene_has_its_manager(animation, Sofa, scene, run):
    """A second call in a scene empties its manager; another scene gets another one."""
    animation.animate(lambda factor: pytest.fail("called"), {}, 1.0)
    assert animation.AnimationManager(scene.addChild("arm")) is scene.AnimationManager
    other = Sofa.Core.Node("other")
    assert animation.AnimationManager(other) is not scene.AnimationManager
    run(scene, 1)
    assert animation.manager is scene.AnimationManager  # the scene that is stepped


def test_easing():
    from splib3.animation import easing

    assert easing.LinearRamp(10.0, 20.0, 0.25) == 12.5


def test_animations_run_in_a_scene_that_only_made_the_manager(animation, root, run):
    """As the examples of the original do: AnimationManager(root), then animate(...)."""
    root.dt = 0.125
    root.addObject("DefaultAnimationLoop")
    animation.AnimationManager(root)
    factors = []
    animation.animate(lambda factor: factors.append(factor), {}, 0.25)
    run(root, 4)
    assert factors == pytest.approx([0.0, 0.5, 1.0])


def test_a_callback_that_does_not_take_the_factor_is_refused(animation, scene):
    def pull(share, cable):
        del share, cable

    with pytest.raises(SceneError, match=r"calls pull with the arguments factor, cable, which it"):
        animation.animate(pull, {"cable": None}, duration=1.0)


def test_an_animation_far_longer_than_a_run_is_named(animation, scene, run):
    from sofa_softctl.scene.watch.motions import late_motions

    animation.animate(lambda factor: None, {}, duration=5000.0)
    run(scene, 2)
    (text,) = late_motions(scene, 1.0)
    assert "an animation lasts 5000, and the run" in text
