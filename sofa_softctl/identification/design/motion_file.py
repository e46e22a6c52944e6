"""The file of a designed motion: what to command, and columns for what is measured."""

from __future__ import annotations

import numpy as np

from sofa_softctl.identification.data.table import TIME
from sofa_softctl.identification.design.design import Design
from sofa_softctl.identification.design.limits import InputLimits
from sofa_softctl.identification.model.problem import Problem

ROUNDING = 1e-12
"""Inputs below this share of the largest are zero [-]."""


def motion_text(problem: Problem, design: Design, units: dict[str, str]) -> str:
    """Text of a CSV file with the header of the problem's template, which `--next` reads.

    Args:
        problem: Declares the columns.
        design: The motion.
        units: Of the parameters, by name.
    """
    lines = [
        f"# Motion to command for {problem.name}: {design.family}, the most informative of "
        f"{design.evaluations} motions, seed {design.seed}.",
        *map(_limits, design.limits),
    ]
    if any(one.widened for one in design.limits):
        lines.append("# As a range was given, outputs are not limited to recorded ones.")
    lines += [
        "# Each input is limited by itself; whether the robot bears them together is not known.",
        f"# Expected: {design.candidate.gain:.2f} nats of information, "
        f"{design.again.gain:.2f} by {design.again.name}.",
    ]
    for name, width in design.candidate.half_widths.items():
        now = design.candidate.half_widths_now[name]
        text = f"# Expected 95 % interval of {name}: +- {width:.3g} {units.get(name, '')}".rstrip()
        lines.append(f"{text}, now +- {now:.3g}")
    lines.append("# Outputs are to be measured: write them into the empty cells.")
    columns = {one.name: one.unit for one in (*problem.inputs, *problem.channels)}
    lines.append(", ".join(f"{name} [{unit}]" for name, unit in {TIME: "s", **columns}.items()))
    at = {one.name: k for k, one in enumerate(problem.inputs)}
    size = np.abs(design.inputs).max(axis=0, initial=0.0)
    inputs = np.where(np.abs(design.inputs) < ROUNDING * size, 0.0, design.inputs)
    for t, row in zip(design.time, inputs, strict=True):
        cells = [f"{row[at[name]]:.9g}" if name in at else "" for name in columns]
        lines.append(", ".join([f"{t:.9g}", *cells]))
    return "\n".join(lines) + "\n"


def _limits(one: InputLimits) -> str:
    if one.high <= one.low:
        return f"# {one.name}: kept at {one.low:.6g} {one.unit}, its first recorded value."
    whose = "the range that was asked for" if one.widened else "the range of the recordings"
    return (
        f"# {one.name}: {one.low:.6g} to {one.high:.6g} {one.unit}, {whose}; at most "
        f"{one.rate:.4g} {one.unit}/s, as in the recordings."
    )
