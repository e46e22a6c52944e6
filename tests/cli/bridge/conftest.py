"""A robot whose device writes down what it is sent, and answers for commands that ask."""

import os
from pathlib import Path

import pytest

from sofa_softctl import plugins
from sofa_softctl.base import processes
from sofa_softctl.bridge import registry

PLUGIN = Path(__file__).parent / "writing_plugin.py"
TEXT = """\
[safety]
hold = 0.05
stop_file = "stop"

[devices.motors]
type = "writer"
file = "{file}"
at = [1000.0]

[actuators.left]
device = "motors"
channel = 0
quantity = "length"
unit = "mm"
map = {{ type = "linear", factor = 100.0 }}
zero = 1000   # a guess
position = [0.0, 20.0]
rate = 400.0
acceleration = 4000.0
jump = 5.0
rest = 0.0
soft_start = 0.0
"""


class Robot:
    """A configuration file, and what its device was sent."""

    def __init__(self, folder, text=TEXT):
        self.log, self.path = folder / "log.txt", folder / "robot.toml"
        self.path.write_text(text.format(file=self.log))

    def edit(self, old, new):
        text = self.path.read_text()
        assert old in text
        self.path.write_text(text.replace(old, new))

    def words(self):
        """Time and words of each line."""
        rows = [line.split() for line in self.log.read_text().splitlines()]
        return [(float(row[0]), row[1:]) for row in rows]

    def sent(self):
        """Times and values of the commands to the first channel [step]."""
        rows = [(t, float(row[0])) for t, row in self.words() if row[0] not in ("open", "stop")]
        return [t for t, _ in rows], [value for _, value in rows]


@pytest.fixture
def robot(tmp_path):
    return Robot(tmp_path)


@pytest.fixture
def bridge(softctl, monkeypatch):
    """bridge(*words, answers=...) -> (status, out, err): a command with the writing plugin."""
    monkeypatch.setattr(registry.DEVICES, "_added", {})
    monkeypatch.setattr(processes, "_first", {})
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words, answers=""):
        registry.DEVICES._added.pop("writer", None)
        registry.DEVICES._checked.pop("writer", None)
        for name, empty in (("_plugins", []), ("_files", []), ("_paths", set())):
            monkeypatch.setattr(plugins, name, empty)
        read, write = os.pipe()
        os.write(write, answers.encode())
        os.close(write)
        with os.fdopen(read) as pipe:
            monkeypatch.setattr("sys.stdin", pipe)
            return softctl("bridge", *words, "--plugin", PLUGIN)

    return call
