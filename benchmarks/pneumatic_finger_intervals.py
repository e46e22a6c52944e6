"""How often intervals of the pneumatic finger's moduli hold the truth, and how wide they are.

python -m benchmarks.pneumatic_finger_intervals --seeds 20
python -m benchmarks.pneumatic_finger_intervals --seeds 20 --problem neo_hookean
python -m benchmarks.pneumatic_finger_intervals --cost        time of a step and its derivatives

The problem of scenes/pneumatic_finger_identification.py, the markers' frame among its unknowns,
from a simulated run of both pulses in steps of 0.05 s. Each seed draws new noise of markers
(0.5 mm) and of the pressure readings (0.1 kPa), and a start up to a factor of 1.5 off.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

from sofa_softctl.identification import estimate
from sofa_softctl.identification.model.parameter import starts
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.uncertainty.identifiability import identifiability
from sofa_softctl.scene.session.loader import load_scene

SCENE = Path(__file__).parents[1] / "scenes" / "pneumatic_finger_identification.py"
TRUTH = np.array([130.0, 180.0])
DT = 0.05


def exact_recording(scene, problem):
    """Both pulses without noise."""
    time = np.arange(0.0, 2.0 + 1e-9, DT)
    inputs = np.array([[scene.pressure(t)] for t in time])
    empty = Recording("pulses", time, inputs, np.full((len(time), len(problem.channels)), np.nan))
    plain = replace(problem, register_by=())
    rho = starts(problem.parameters)
    rho[: len(TRUTH)] = TRUTH
    return replace(empty, outputs=plain.experiment(empty).outputs(rho))


def noisy(recording, problem, random):
    """The same with noise of every column, as declared."""
    ends = {}
    for name, channels in (("inputs", problem.inputs), ("outputs", problem.channels)):
        values = getattr(recording, name)
        ends[name] = values + random.normal(size=values.shape) * [c.deviation for c in channels]
    return replace(recording, **ends)


def cost(problem, exact):
    """Least CPU time by step [ms]: plain, with two derivatives forward, with the adjoint."""
    own = replace(problem, register_by=(), parameters=problem.parameters[:2], settled=False)
    run, ones = own.experiment(exact), np.ones_like
    runs = (run.outputs, run.sensitivities, lambda rho: run.pull_back(rho, ones))
    best = np.full(3, np.inf)
    for repetition in range(4):  # the first one compiles
        for k, one in enumerate(runs):
            begin = process_time()
            one(TRUTH + 1e-3 * (3 * repetition + k))  # no motion is kept
            best[k] = min(best[k], 1e3 * (process_time() - begin) / run.steps)
    print("ms a step: plain {:.1f}, forward {:.1f}, adjoint {:.1f}".format(*best))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--problem", default="finger", choices=("finger", "neo_hookean"))
    parser.add_argument("--cost", action="store_true")
    given = parser.parse_args()
    scene = load_scene(SCENE).module
    material = {"material": "NeoHookean"} if given.problem == "neo_hookean" else {}
    problem = scene.finger(dt=DT, **material)
    exact = exact_recording(scene, problem)
    if given.cost:
        cost(problem, exact)
        return
    rows = []
    for seed in range(given.seeds):
        random = np.random.default_rng(seed)
        own = replace(problem)  # a frame of its own, fitted to its markers
        experiment = own.experiment(noisy(exact, own, random))
        factors = 1.5 ** random.uniform(-1.0, 1.0, len(TRUTH))
        moduli = [
            replace(p, start=p.start * f) for p, f in zip(own.parameters, factors, strict=False)
        ]
        begin = (*moduli, *own.parameters[len(TRUTH) :])
        found = estimate([experiment], begin)
        trust = identifiability(found, [experiment])
        rows.append([one[: len(TRUTH)] for one in (found.rho, trust.low, trust.high)])
        print(seed, found.status.name, *np.round(np.ravel(rows[-1]), 2), flush=True)
    rho, low, high = np.moveaxis(np.array(rows), 1, 0)
    held = ((low <= TRUTH) & (high >= TRUTH)).sum(axis=0)
    width = 0.5 * (high - low).mean(axis=0) / TRUTH
    spread = (rho / TRUTH - 1.0).std(axis=0)
    for name, k in (("base", 0), ("tip", 1)):
        print(
            f"{name}: within {held[k]} of {len(rows)} intervals of 95 %, half-width "
            f"{100.0 * width[k]:.2g} %, spread of estimates (one standard deviation) "
            f"{100.0 * spread[k]:.2g} %, mean {100.0 * (rho[:, k].mean() / TRUTH[k] - 1.0):+.2g} %"
        )


if __name__ == "__main__":
    main()
