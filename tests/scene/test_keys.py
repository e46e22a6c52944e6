"""Keys pressed by a script."""

import pytest

from sofa_softctl.errors import UsageError
from sofa_softctl.scene.session.session import Session

SCENE = """
import Sofa.Core
from Sofa.constants import Key

class Mover(Sofa.Core.Controller):
    def __init__(self, *args, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.seen = []

    def onKeypressedEvent(self, event):
        self.seen.append(("down", event["key"], round(self.getContext().time.value, 6)))

    def onKeyreleasedEvent(self, event):
        self.seen.append(("up", event["key"] == Key.uparrow))

def createScene(root):
    root.addObject(Mover(name="mover"))
"""


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.py"
    path.write_text(SCENE)
    return path


def test_keys_reach_the_controllers_at_the_step_that_begins_at_their_time(scene):
    from sofa_softctl.scene.control.keys import KeyPress, KeyPresses

    keys = [KeyPress.parse("t=0.02:up"), KeyPress.parse("t=0:+"), KeyPress.parse("0.015:a")]

    def add(root):
        root.addObject(KeyPresses(name="keys", root=root, keys=keys))

    with Session(scene, backend="embedded", add=add) as session:
        session.step(2)
        assert session.root.mover.seen == [("down", "+", 0.0), ("up", False)]
        session.step(2)
        assert session.root.mover.seen[2:] == [
            ("down", "a", 0.02),
            ("up", False),
            ("down", "\x13", 0.02),
            ("up", True),
        ]
        session.reset()
        session.step()
        assert session.root.mover.seen[-2:] == [("down", "+", 0.0), ("up", False)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("+", r"--key takes a time and a key such as t=1\.5:\+ or t=2:up, got '\+'"),
        ("t=x:+", "takes a time and a key"),
        ("t=-1:+", "takes a time and a key"),
        ("t=nan:+", "takes a time and a key"),
        ("t=1:", "takes a time and a key"),
        ("t=1:upp", r"there is no key 'upp'\. Did you mean 'up'\? A key is one character"),
    ],
)
def test_what_is_no_key_is_refused(Sofa, text, message):
    from sofa_softctl.scene.control.keys import KeyPress

    with pytest.raises(UsageError, match=message):
        KeyPress.parse(text)


def test_the_command_presses_keys(softctl, scene):
    scene.write_text(SCENE.replace("self.seen.append", "print"))
    status, out, _ = softctl("run", scene, "--steps", 3, "--key", "t=0.01:+", "--quiet")
    assert status == 0
    assert "('down', '+', 0.01)" in out


@pytest.mark.parametrize(("heard", "keys"), [(True, []), (True, ["--key", "t=0:+"]), (False, [])])
def test_a_run_without_keys_says_how_to_press_those_that_the_scene_hears(
    softctl, scene, heard, keys
):
    if not heard:
        scene.write_text("def createScene(root):\n    root.addObject('DefaultAnimationLoop')\n")
    _, out, _ = softctl("run", scene, "--steps", 1, *keys)
    assert ("hears keys. There is no window here: --key t=1.5:+" in out) == (heard and not keys)


@pytest.mark.usefixtures("tolerant")
def test_a_key_whose_time_never_comes_is_said(softctl, scene, caplog):
    scene.write_text(SCENE)
    keys = ("--key", "t=0.01:+", "--key", "t=10:-")
    softctl("run", scene, "--steps", 3, *keys, "--quiet")
    text = "1 of 2 keys were never pressed: the run ended at t = 0.03, before t = 10"
    assert text in caplog.text


def test_a_parameter_given_twice_is_refused(softctl, scene):
    scene.write_text(SCENE)
    status, _, err = softctl("run", scene, "--set", "a=1", "--set", "a=2")
    assert status == 2
    assert "--set a is given twice, as '1' and '2': give it once" in err


@pytest.mark.usefixtures("tolerant")
@pytest.mark.parametrize(("method", "heard"), [("onKeypressedEvent", True), ("onKeydown", False)])
def test_a_key_that_nobody_hears_is_warned_of_once(tmp_path, caplog, method, heard):
    from sofa_softctl.scene.control.keys import KeyPress, KeyPresses

    path = tmp_path / "scene.py"
    path.write_text(SCENE.replace("def onKeypressedEvent", f"def {method}"))
    keys = [KeyPress.parse("t=0:+"), KeyPress.parse("t=0.01:-")]
    with Session(
        path,
        backend="embedded",
        add=lambda root: root.addObject(KeyPresses(name="keys", root=root, keys=keys)),
    ) as session:
        session.step(3)
    assert caplog.text.count("nothing in the scene hears it") == (0 if heard else 1)


@pytest.mark.parametrize(("compared", "is_said"), [("A", True), ("a", False)])
def test_a_key_of_the_other_case_is_named(softctl, scene, caplog, compared, is_said):
    scene.write_text(SCENE.replace('self.seen.append(("d', f"event['key'] == '{compared}', ((\"d"))
    softctl("run", scene, "--steps", 3, "--key", "t=0:a", "--key", "t=0.01:a", "--quiet")
    text = "key 'a' is pressed, and only 'A' is in a method"
    assert caplog.text.count(text) == is_said
