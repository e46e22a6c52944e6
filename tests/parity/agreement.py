"""Writes docs/reference/agreement-with-sofa.md from the records of this folder.

python tests/parity/agreement.py
"""

import json
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import sofa_examples  # noqa: E402
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

Whole scenes are compared as well: SOFA's examples below, [public ones](public-scenes.md), and those
of `scenes/` by `softctl bench compare`. `python tests/parity/variants.py record` renews SOFA's
results where there is [a SOFA](../how-to/run-in-sofa.md#build-sofa), `python
tests/parity/agreement.py` makes this page.

## SOFA's examples

`python tests/parity/sofa_examples.py FOLDER` runs SOFA's own XML examples in both and compares all
states after 1, 10 and 30 steps. Of {examples} examples {both} run in both, {same} of them equal to
1e-6 of a state's size. The reasons of the other {differing} are shown:

- {rounding} are as far from themselves when the start is disturbed by 1e-14 of a state's size, what
  rounding makes of a few operations: conjugate gradients that are stopped early, contacts that come
  and go, elements that turn over. They are {names}.
- The others are equal with one change in both:

| example | apart | with the change | reason |
|---|---|---|---|
{changed}

{missing} do not run here, for components that are missing or for their templates; {not_sofa} not in
a SOFA without OpenGL.

## Components

| component | Data | variants that SOFA takes | equal | error here | others |
|---|---|---|---|---|---|
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
        others = different - reasons["error"]
        cells = (kind, data, taken, taken - different, reasons["error"], others)
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
        **examples(),
    )
    return head + "".join(f"| {row} |\n" for row in table)


def examples():
    """What the page says of SOFA's examples."""
    outcomes = json.loads(sofa_examples.OUTCOMES.read_text())
    both = {name: row for name, row in outcomes.items() if "apart" in row}
    apart = {name: row for name, row in both.items() if row["apart"] > sofa_examples.EQUAL}
    changed = {name: row for name, row in apart.items() if "changed" in row}
    return {
        "examples": len(outcomes),
        "both": len(both),
        "same": len(both) - len(apart),
        "differing": len(apart),
        "rounding": len(apart) - len(changed),
        "names": ", ".join(f"`{Path(name).stem}`" for name in sorted(apart.keys() - changed)),
        "changed": "\n".join(
            f"| {Path(name).stem} | {row['apart']:.0e} | {row['changed']:.0e} | {row['reason']} |"
            for name, row in sorted(changed.items())
        ),
        "missing": sum("not here" in row for row in outcomes.values()),
        "not_sofa": sum("not in SOFA" in row for row in outcomes.values()),
    }


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
