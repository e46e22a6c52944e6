"""File of a designed motion: inputs to command, and empty columns for measured outputs."""

from __future__ import annotations

import numpy as np

from sofa_softctl.identification.data.table import TIME
from sofa_softctl.identification.design.design import Design
from sofa_softctl.identification.design.limits import InputLimits
from sofa_softctl.identification.model.problem import Problem


def motion_text(problem: Problem, design: Design, units: dict[str, str]) -> str:
    """Return the text of a CSV file with the header of the problem's template, for `--next`.

    Args:
        problem: Declares the columns.
        design: Designed motion.
        units: Units of the parameters, by name.
    """
    lines = [
        f"# Motion to command for {problem.name}: {design.family}, the most informative of "
        f"{design.evaluations} motions, seed {design.seed}.",
        *map(_limit_text, design.limits),
    ]
    if any(limit.widened for limit in design.limits):
        lines.append("# As a range was given, outputs are not limited to recorded ones.")
    lines += [
        "# Each input is limited by itself; whether the robot bears them together is not known.",
        f"# Expected: {design.candidate.gain:.2f} nats of information, "
        f"{design.again.gain:.2f} by {design.again.name}.",
    ]
    for name, width in design.candidate.half_widths.items():
        half_width_now = design.candidate.half_widths_now[name]
        text = f"# Expected 95 % interval of {name}: +- {width:.3g} {units.get(name, '')}".rstrip()
        lines.append(f"{text}, now +- {half_width_now:.3g}")
    lines.append("# Outputs are to be measured: write them into the empty cells.")
    columns = {channel.name: channel.unit for channel in (*problem.inputs, *problem.channels)}
    lines.append(", ".join(f"{name} [{unit}]" for name, unit in {TIME: "s", **columns}.items()))
    input_index = {channel.name: k for k, channel in enumerate(problem.inputs)}
    input_size = np.abs(design.inputs).max(axis=0, initial=0.0)
    inputs = np.where(np.abs(design.inputs) < 1e-12 * input_size, 0.0, design.inputs)
    for t, row in zip(design.time, inputs, strict=True):
        cells = [f"{row[input_index[name]]:.9g}" if name in input_index else "" for name in columns]
        lines.append(", ".join([f"{t:.9g}", *cells]))
    return "\n".join(lines) + "\n"


def _limit_text(limit: InputLimits) -> str:
    if limit.high <= limit.low:
        return f"# {limit.name}: kept at {limit.low:.6g} {limit.unit}, its first recorded value."
    whose = "the range that was asked for" if limit.widened else "the range of the recordings"
    return (
        f"# {limit.name}: {limit.low:.6g} to {limit.high:.6g} {limit.unit}, {whose}; at most "
        f"{limit.rate:.4g} {limit.unit}/s, as in the recordings."
    )
