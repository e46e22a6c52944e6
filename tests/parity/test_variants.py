"""Each Data of each component, varied: what it does here and what it does in SOFA."""

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("variants", Path(__file__).with_name("variants.py"))
variants = importlib.util.module_from_spec(spec)
spec.loader.exec_module(variants)

RECORD = variants.load()
KNOWN = variants.known()
KINDS = sorted(kind for kind in RECORD if any("variants" in row for row in RECORD[kind].values()))


@pytest.mark.soak(keep=12)
@pytest.mark.parametrize("kind", KINDS)
def test_every_variant_is_as_in_sofa_or_known_not_to_be(kind, tolerant):
    """What has become equal is to leave the list, unless rounding decides, as on each processor."""
    listed = KNOWN.get(kind, {})
    by_rounding = {
        (scene, name) for scene, rows in listed.items() for name in rows if rows[name] == "rounding"
    }
    different = {}
    for _, scene, values, verdict, where, _ in variants.outcomes([kind]):
        if verdict in variants.SAME or not where:
            continue
        different.setdefault(scene, {})[variants.label(values)] = (verdict, where)
    names, known = (
        {(scene, name) for scene, rows in table.items() for name in rows} - by_rounding
        for table in (different, listed)
    )
    assert names == known, different


def test_reasons_are_given():
    reasons = Counter(
        reason
        for rows in KNOWN.values()
        for names in rows.values()
        for name, reason in names.items()
        if name != "{}"
    )
    assert set(reasons) <= set(variants.REASONS)
    tried = sum(
        len(row["variants"]) for kind in KINDS for row in RECORD[kind].values() if "variants" in row
    )
    assert tried > 5800
    assert sum(reasons.values()) < 0.12 * tried


def test_the_page_is_that_of_the_records():
    """`python tests/parity/agreement.py` makes it."""
    spec = importlib.util.spec_from_file_location(
        "agreement", Path(__file__).with_name("agreement.py")
    )
    agreement = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(agreement)
    text = agreement.PAGE.read_text(encoding="utf-8")
    assert text == agreement.page()
    readme = Path("README.md").read_text(encoding="utf-8")
    components, taken, share = re.search(
        r"Data of (\d+) components SOFA takes (\d+):.*?\(([\d.]+%)\) are equal", text, re.DOTALL
    ).groups()
    assert f"Data of {components} components" in readme
    assert f"{taken} variants in all: {share} are equal" in readme
