"""JSON messages: what is accepted, and what is not."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sofa_softctl.bridge.protocol.json_messages import SIZE_MAX, Inbox, encode

GOOD = {
    "softctl": 1,
    "type": "feedback",
    "sequence": 5,
    "time": 1.5,
    "acknowledged": 3,
    "to": "b2f1",
    "positions": {"left": 1.0, "7": 2.0},
    "efforts": {"left": 0.1},
    "signals": {"tip": [1, 2.5]},
    "stopped": "",
}
texts = st.text("ab1", max_size=5)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner),
    max_leaves=8,
)


def accept(said, inbox=None):
    data = said if isinstance(said, bytes) else json.dumps(said).encode()
    return (inbox or Inbox({"left": 0})).accept(data)


def test_a_feedback_is_understood():
    found = accept(GOOD)
    assert (found.time, found.acknowledged, found.to, found.stopped) == (1.5, 3, "b2f1", "")
    assert found.positions == {0: 1.0, 7: 2.0} and found.efforts == {0: 0.1}
    assert found.signals["tip"].tolist() == [1.0, 2.5]


def test_little_suffices_and_unknown_content_is_left_alone():
    found = accept({"softctl": 1, "type": "feedback", "sequence": 0, "battery": {"V": 12}})
    assert found.positions == {} and found.acknowledged is None and found.time is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"softctl": 2}, "version"),
        ({"softctl": True}, "version"),
        ({"softctl": 1.0}, "version"),
        ({"softctl": None}, "version"),
        ({"type": "command"}, "malformed"),
        ({"sequence": -1}, "malformed"),
        ({"sequence": 1.0}, "malformed"),
        ({"sequence": True}, "malformed"),
        ({"sequence": 2**70}, "malformed"),
        ({"time": "now"}, "malformed"),
        ({"time": float("nan")}, "not finite"),
        ({"time": float("inf")}, "not finite"),
        ({"acknowledged": "3"}, "malformed"),
        ({"to": None}, "malformed"),
        ({"positions": [1.0]}, "malformed"),
        ({"positions": {"left": None}}, "malformed"),
        ({"positions": {"left": True}}, "malformed"),
        ({"positions": {"left": 10**400}}, "malformed"),
        ({"positions": {"left": 1e999}}, "not finite"),
        ({"signals": {"tip": []}}, "malformed"),
        ({"signals": {"tip": [[1]]}}, "malformed"),
        ({"signals": {"tip": [0.0] * 1025}}, "malformed"),
        ({"session": 5}, "malformed"),
        ({"more": "x" * SIZE_MAX}, "oversized"),
    ],
)
def test_what_is_wrong_is_dropped_by_its_reason(change, reason):
    inbox = Inbox({"left": 0})
    assert accept(GOOD | change, inbox) is None
    assert inbox.dropped[reason] == sum(inbox.dropped.values()) == 1
    assert accept(GOOD, inbox) is not None  # and it changed nothing


@pytest.mark.parametrize(
    ("stopped", "reason"),
    [
        ("a finger", "a finger"),
        ("x" * 7000, "x" * 200),
        (True, "True"),
        (7, "7"),
        (["fault", 3], "['fault', 3]"),
        ({"a": [[[[[[[[["deep"]]]]]]]]]}, "{'a': [[[[[[...]]]]]]}"),
        *((nothing, "") for nothing in (None, False, 0, "", [], {})),
    ],
)
def test_whatever_a_program_calls_stopped_is_a_stop(stopped, reason):
    assert accept(GOOD | {"stopped": stopped}).stopped == reason


@pytest.mark.parametrize(
    "bad", [{"positions": {"left": float("nan")}}, {"to": 5}, {"signals": 3}, {"time": "x"}]
)
def test_a_stop_is_heard_beside_what_cannot_be_used(bad):
    found = accept(GOOD | bad | {"stopped": "the drive is off"})
    assert found.stopped == "the drive is off" and not found.positions and not found.signals
    assert found.acknowledged is None


def test_an_old_stop_is_none():
    """Such as one that comes late, after the program was opened again."""
    inbox = Inbox({})
    assert accept(GOOD, inbox) is not None
    assert accept(GOOD | {"stopped": "then", "sequence": 4}, inbox) is None


def test_order_is_kept_within_a_session_and_ended_sessions_stay_ended():
    inbox = Inbox({})
    taken = []
    for session, sequence in [
        *(("a", 1), ("a", 3), ("a", 2), ("a", 3), ("a", 9)),
        *(("b", 0), ("a", 10), ("b", 1), ("c", 5), ("b", 2), ("c", 6)),
    ]:
        said = {"softctl": 1, "type": "feedback", "session": session, "sequence": sequence}
        if accept(said, inbox) is not None:
            taken.append((session, sequence))
    assert taken == [("a", 1), ("a", 3), ("a", 9), ("b", 0), ("b", 1), ("c", 5), ("c", 6)]
    assert inbox.dropped["old"] == 4


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_dropped(data):
    assert accept(data) is None


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(GOOD)), anything))
def test_any_json_in_any_place_is_dropped_or_finite(change):
    """`json` writes NaN, which no standard has: it must not come through."""
    found = accept(GOOD | change)
    if found is not None:
        numbers = [*found.positions.values(), *found.efforts.values()]
        for array in found.signals.values():
            numbers += array.tolist()
        assert all(abs(number) < float("inf") for number in numbers)


def test_what_we_send_is_json_without_nan():
    assert json.loads(encode("command", "s", sequence=1, values={"left": 2.0})) == {
        "softctl": 1,
        "type": "command",
        "session": "s",
        "sequence": 1,
        "values": {"left": 2.0},
    }
    with pytest.raises(ValueError):
        encode("command", "s", values={"left": float("nan")})
