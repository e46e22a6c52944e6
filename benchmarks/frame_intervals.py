"""How often intervals of a robot's moduli hold the truth, its markers seen in a camera's frame.

python -m benchmarks.frame_intervals finger --seeds 40
python -m benchmarks.frame_intervals trunk --seeds 30
python -m benchmarks.frame_intervals trunk --seeds 13 --frame-as-registered

Problems of scenes/finger_identification.py and scenes/trunk_identification.py, from runs that their
models simulate. Each seed draws a frame of the camera, noise of markers (0.5 mm), and a start up to
a factor of 1.5 off. With --frame-as-registered the frame is taken as fitted to three markers on the
clamp; otherwise its error is among the unknowns.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from sofa_softctl.identification import estimate
from sofa_softctl.identification.fem.parameter import FemParameter
from sofa_softctl.identification.model.parameter import starts
from sofa_softctl.identification.model.problem import load_problem
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.uncertainty.identifiability import identifiability

SCENES = Path(__file__).parents[1] / "scenes"
TRUTHS = {
    "finger": {"base": 500.0, "middle": 600.0, "tip": 700.0},
    "trunk": {"lower": 1800.0, "middle": 2100.0, "upper": 2500.0, "total_mass": 0.0656},
}
TENSIONS = {"finger": 450.0, "trunk": 2500.0}
"""Largest tensions [mN]."""
DT, PULSE, APART = 0.01, 0.6, 0.25
"""Step, length of a cable's pulse, and time until that of the next one [s]."""


def exact_recording(name, problem):
    """A pulse of each cable after another, without noise, in the robot's frame."""
    count = len(problem.inputs)
    time = np.arange(0.0, (count - 1) * APART + 2.0 * PULSE, DT)
    phase = np.clip((time[:, None] - APART * np.arange(count)) / PULSE, 0.0, 1.0)
    pulls = TENSIONS[name] * np.sin(np.pi * phase) ** 2
    empty = Recording("pulses", time, pulls, np.full((len(time), len(problem.channels)), np.nan))
    truth = starts(problem.parameters)
    truth[: len(TRUTHS[name])] = list(TRUTHS[name].values())
    return replace(empty, outputs=replace(problem, register_by=()).experiment(empty).outputs(truth))


def seen(recording, problem, random):
    """The same in a camera's frame, with noise."""
    points = recording.outputs.reshape(len(recording.time), -1, 3)
    turned = points @ Rotation.random(rng=random).as_matrix().T + random.uniform(-500.0, 500.0, 3)
    noise = np.array([one.deviation for one in problem.channels])
    values = turned.reshape(recording.outputs.shape)
    return replace(recording, outputs=values + noise * random.standard_normal(values.shape))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("robot", choices=TRUTHS)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--frame-as-registered", action="store_true")
    given = parser.parse_args()
    truth = np.array(list(TRUTHS[given.robot].values()))
    problem = load_problem(f"{SCENES / given.robot}_identification.py:{given.robot}")
    exact = exact_recording(given.robot, problem)
    if given.frame_as_registered:
        kept = tuple(one for one in problem.parameters if isinstance(one, FemParameter))
        problem = replace(problem, parameters=kept)
    held, widths = np.zeros(len(truth), dtype=int), np.zeros(len(truth))
    for seed in range(given.seeds):
        random = np.random.default_rng(seed)
        own = replace(problem)  # a frame of its own, fitted to its markers
        experiment = own.experiment(seen(exact, own, random))
        factors = np.ones(len(own.parameters))
        factors[: len(truth)] = 1.5 ** random.uniform(-1.0, 1.0, len(truth))
        begin = [
            replace(p, start=p.start * f) for p, f in zip(own.parameters, factors, strict=True)
        ]
        found = estimate([experiment], begin)
        trust = identifiability(found, [experiment])
        rho, low, high = (one[: len(truth)] for one in (found.rho, trust.low, trust.high))
        inside = (low <= truth) & (truth <= high)
        held, widths = held + inside, widths + 0.5 * (high - low) / truth / given.seeds
        print(seed, found.status.name, *np.round(rho, 4), *inside, flush=True)
    for name, count, width in zip(TRUTHS[given.robot], held, widths, strict=True):
        print(f"{name}: within {count} of {given.seeds} intervals of 95 %, half-width {width:.1%}")
    print(f"in all: {held.sum()} of {held.size * given.seeds}")


if __name__ == "__main__":
    main()
