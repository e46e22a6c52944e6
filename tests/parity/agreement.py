"""Writes docs/reference/agreement-with-sofa.md from the records of variants.py.

python tests/parity/agreement.py
"""

import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import variants  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "reference" / "agreement-with-sofa.md"
HEAD = """# What agrees with SOFA, and how we know

Each component is put in up to {scenes} small scenes, and each Data that SOFA v25.06's component
has is varied there, one at a time: left out, a flag flipped, a number doubled, zero and negative,
each choice, lists too short, too long and empty, and pairs of Data that exclude each other.
SOFA's results of {steps} steps are kept with the tests: positions and velocities of all states,
and the Data of the component. A test runs all of it here.

Of {variants} variants of {data} Data of {components} components SOFA takes {taken}: it makes no
error, and numbers come out. Of these {equal} ({share:.1%}) are equal here, to 1e-9 (1e-6 where a
solver iterates to a tolerance). The others, by reason:

{reasons}

Names and defaults of all {defaults} Data of {known} components are SOFA's, but for outputs.

Whole scenes are compared as well: [public ones](public-scenes.md), and those of `scenes/` by
`softctl bench compare`. `python tests/parity/variants.py record` renews SOFA's results where
there is a SOFA, `python tests/parity/agreement.py` makes this page.

| component | Data | variants that SOFA takes | equal | error here | Data differ | motion differs |
|---|---|---|---|---|---|---|
"""


def rows():
    """Of each component: its name and numbers of Data, variants, and outcomes."""
    record, known = variants.load(), variants.known()
    for kind in sorted(record):
        scenes = {scene: row for scene, row in record[kind].items() if "variants" in row}
        if not scenes:
            continue
        taken = sum(
            not variants.is_refused(answer, said)
            for row in scenes.values()
            for _, answer, said in row["variants"]
        )
        reasons = Counter(
            reason
            for scene, names in known.get(kind, {}).items()
            for name, reason in names.items()
            if name != "{}"
        )
        every = sum(len(row["variants"]) for row in scenes.values())
        data = len(next(iter(scenes.values()))["data"])
        yield kind, data, every, taken, reasons


def page():
    import test_defaults

    table, total = [], Counter()
    for kind, data, every, taken, reasons in rows():
        different = sum(reasons.values())
        moves = different - reasons["error"] - reasons["shown"]
        cells = (kind, data, taken, taken - different, reasons["error"], reasons["shown"], moves)
        table.append(" | ".join(map(str, cells)))
        total += Counter(data=data, variants=every, taken=taken, components=1) + reasons
    equal = total["taken"] - sum(total[reason] for reason in variants.REASONS)
    reasons = [f"- {total[name]}: {text}" for name, text in variants.REASONS.items() if total[name]]
    head = HEAD.format(
        scenes=variants.SCENES,
        steps=variants.STEPS,
        equal=equal,
        share=equal / total["taken"],
        defaults=sum(map(len, test_defaults.SOFA.values())),
        known=len(test_defaults.KINDS),
        **{name: total[name] for name in ("variants", "data", "components", "taken")},
        reasons="\n".join(reasons),
    )
    return head + "".join(f"| {row} |\n" for row in table)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
