"""Names and docstrings of the sources say what things are, see `tests/style/rules.py`."""

from collections import Counter

import pytest

from tests.style.count import ROOT, sources_of

pytestmark = pytest.mark.quick

PLAIN = (
    *("acceptance.py", "errors.py", "hooks.py", "offers.py", "plugins.py", "status.py", "units.py"),
    *("base", "batch", "bench", "bridge", "check", "cli", "identification", "inverse", "learning"),
    *("library", "qp", "qpcc", "record", "runtime", "scene", "surrogate", "testing", "view"),
)
"""Packages that keep the rules; the others follow."""
KINDS = ("targets", "parameters", "functions", "classes", "docstrings", "arguments")
"""Kinds of places that are checked."""
EXCEPTIONS = {
    "an entry of a library, of a registry or of a sparse matrix": ["entry"],
    "the two points of a Pin, Clamp, Rod or Distance, in files of users": ["one", "other"],
    "keys of reports in JSON": [
        *("kept", "most", "found", "seen", "each", "known", "where", "beyond")
    ],
    "options of controllers and of scenes": ["every", "given", "most"],
    "interface of devices": ["dropped"],
    "interface of aspects and controllers": ["forget", "look", "about", "follow", "ask"],
    "interface of problems and experiments, which users subclass": [
        *("measured", "recorded", "commanded", "compared", "checked", "allowed", "fed", "held"),
        *("Delayed", "Scaled", "second", "first", "what"),
    ],
    "interface of plans, embeddings and dynamics": [
        *("at", "on", "of", "nearest", "holding", "ahead", "accepted", "passed", "failed"),
        *("balanced", "stuck", "inside", "judged", "widened", "done", "keep", "least"),
    ],
    "readers of tables in TOML, named by their types": ["wrong", "whole", "known", "kept"],
    "a contact mode, which kernels know": ["sticking"],
    "states of a motor that a person moves": ["arrived", "go"],
    "SOFA's vectors": ["normalized"],
}
"""Names that stay, by reason; the list only grows shorter."""
ALLOWED = {name for names in EXCEPTIONS.values() for name in names}


@pytest.mark.parametrize("part", PLAIN)
def test_words_are_plain(part):
    places = [
        place
        for source in sources_of([ROOT / "sofa_softctl" / part])
        for place in source.places()
        if place.kind in KINDS and place.text not in ALLOWED
    ]
    assert not places, "\n".join(map(str, places))


def test_exceptions_are_needed():
    """Each is in the sources: one that is gone is taken from the list."""
    sources = sources_of([ROOT / "sofa_softctl" / part for part in PLAIN])
    used = Counter(place.text for source in sources for place in source.places())
    assert not [name for name in sorted(ALLOWED) if not used[name]]
