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
TELLING = changed_data.TELLING
TRIED_MIN = 0.99
"""Share of the Data that are tried."""


@pytest.fixture(autouse=True)
def without_defects(monkeypatch, sofa_defects):
    """The record is of what users get."""
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", "0")


BY_READER = {("MechanicalObject", name) for name in ("rest_position", "force", "externalForce")}
"""Data of which others decide: springs follow the rest, elasticity does not; forces are results,
or those of the next step."""


def declared(cls, name):
    otherwise = getattr(cls, "follows_otherwise", {})
    return otherwise.get(name, cls.data_types[name].follows)


def told_late(answer):
    """Return True if setting it in a run is warned of."""
    return answer in ("reinit", "start", "unchecked")


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
        if answer in (*TELLING, "unchecked") and (kind, name) not in BY_READER
        if (
            answer != declared(CLASSES[kind], name)
            if answer != "unchecked"
            else declared(CLASSES[kind], name) == "step"
        )
    }
    assert not wrong


def test_hardly_any_data_are_untried():
    answers = [answer for row in RECORD.values() for answer, *_ in row.values()]
    assert answers.count("untried") <= (1.0 - TRIED_MIN) * len(answers)


TOLD = [
    kind
    for kind, row in RECORD.items()
    if any(answer in (*TELLING, "unchecked") for answer, *_ in row.values())
]


@pytest.mark.soak(keep=len(TOLD[::12]))
@pytest.mark.parametrize("kind", [*TOLD[::12], *sorted({*TOLD} - {*TOLD[::12]})])
def test_a_change_does_what_the_record_says(kind, tolerant):
    """In the telling scene of each Data: it counts as it did, or it is warned of."""
    trials = {}
    wrong = {}
    for name, (answer, scene, number) in RECORD[kind].items():
        if answer in (*TELLING, "unchecked"):
            if scene not in trials:
                trials[scene] = changed_data.Trial(scene, kind)
            trial = trials[scene]
            present = trial.answer(name, trial.values[name][number])
            told = name in trial.told
            if present.replace("part", "step") != answer.replace("part", "step"):
                wrong[name] = (present, answer)
            elif (
                told != told_late(answer)
                and (kind, name) not in BY_READER
                and not (
                    told and CLASSES[kind].data_types[name].per  # its length does not fit
                )
            ):
                wrong[name] = (present, "warned of" if told else "not warned of")
    assert not wrong


def test_the_table_of_the_reference_is_that_of_the_record():
    assert changed_data.PAGE.read_text() == changed_data.page(RECORD)
