"""Values that are set while a scene runs: what their declarations say, and what they do."""

import importlib.util
import json
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location(
    "changed_data", Path(__file__).with_name("changed_data.py")
)
changed_data = importlib.util.module_from_spec(spec)
spec.loader.exec_module(changed_data)

RECORD = json.loads(changed_data.RECORD.read_text())
CLASSES = {cls.__name__: cls for cls in changed_data.classes()}
TELLING = ("step", "part", "reinit", "start")


BY_READER = {("MechanicalObject", "rest_position"), ("MechanicalObject", "force")}
"""Data of which others decide: springs follow the rest, elasticity does not; forces are results."""


def declared(cls, name):
    otherwise = getattr(cls, "follows_otherwise", {})
    return otherwise.get(name, cls.data_types[name].follows)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_data_was_tried_and_is_declared_as_it_was_found(kind):
    """One that takes effect is not warned of, and one that does not is."""
    row = RECORD.get(kind, {})
    assert list(row) == sorted(changed_data.data_of(CLASSES[kind])), (
        f"run 'python tests/parity/changed_data.py {kind}'"
    )
    found = {name: answer.replace("part", "step") for name, (answer, *_) in row.items()}
    wrong = {
        name: (answer, declared(CLASSES[kind], name))
        for name, answer in found.items()
        if answer in TELLING and (kind, name) not in BY_READER
        if answer != declared(CLASSES[kind], name)
    }
    assert not wrong


@pytest.mark.parametrize(
    "kind",
    [kind for kind, row in RECORD.items() if {entry[0] for entry in row.values()} & {*TELLING}],
)
def test_a_change_does_what_the_record_says(kind, tolerant):
    """The telling scene of each Data; some components have 20 of them, each four short runs."""
    trials = {}
    wrong = {}
    for name, (answer, scene, number) in RECORD[kind].items():
        if answer in TELLING:
            if scene not in trials:
                trials[scene] = changed_data.Trial(scene, kind)
            trial = trials[scene]
            found = trial.answer(name, trial.values[name][number])
            if found.replace("part", "step") != answer.replace("part", "step"):
                wrong[name] = (found, answer)
    assert not wrong


def test_the_table_of_the_reference_is_that_of_the_record():
    assert changed_data.PAGE.read_text() == changed_data.page(RECORD)
