"""Parameters of robots that MuJoCo simulates: with another time step, integrator and code.

python -m benchmarks.mujoco agreement     both simulators, without noise
python -m benchmarks.mujoco coverage      do intervals hold the truth?
python -m benchmarks.mujoco comparison    time, beside MuJoCo's rollouts
python -m benchmarks.mujoco write         the records of the tests

Needs MuJoCo: pip install -e '.[mujoco]'. Robots are drawn by seeds: arms of three joints,
and chains of 4 to 10 links that hang from a cart.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.mujoco.comparison import METHODS, compare
from benchmarks.mujoco.coverage import STEPS, measure_coverage
from benchmarks.mujoco.record import STEP, record, with_noise
from benchmarks.mujoco.robots import ROBOTS, arm, chain

ROBOTS_HELP = "Seeds of the robots of each kind."
RECORDS = Path(__file__).parents[2] / "tests" / "data"


def agreement(options):
    """Largest differences of outputs without noise, by the time step of the model."""
    fine = 1e-3
    steps = [k * fine for k in (10, 5, 2, 1)]
    for kind, make in ROBOTS.items():
        for seed in options.robots:
            robot = make(seed, dt=fine)
            exact, implicit = record(robot), record(robot, integrator="implicitfast")
            noise = np.array([one.deviation for one in robot.problem.channels])
            off = [_off(robot, exact, round(dt / fine)) for dt in steps]
            order = np.log(off[0] / off[-1]) / np.log(steps[0] / steps[-1])
            other = np.abs((implicit.outputs - exact.outputs) / noise).max()
            print(
                f"{kind} {seed}, {len(robot.problem.mechanism.coordinates)} coordinates: at "
                f"{', '.join(f'{1e3 * dt:g}' for dt in steps)} ms off by "
                f"{', '.join(f'{one:.2g}' for one in off)} deviations of the noise, order "
                f"{order:.2f}; MuJoCo's implicitfast at {1e3 * STEP:g} ms by {other:.2g}",
                flush=True,
            )


def _off(robot, exact, every):
    """The model's largest difference with each `every`-th sample as step [deviations]."""
    problem = replace(robot.problem, dt=robot.problem.dt * every)
    coarse = replace(
        exact,
        time=exact.time[::every],
        inputs=exact.inputs[::every],
        outputs=exact.outputs[::every],
    )
    noise = np.array([one.deviation for one in problem.channels])
    found = problem.experiment(coarse).outputs(robot.truth)
    return float(np.abs((found - coarse.outputs) / noise).max())


def comparison(options):
    """A line for each robot and method, then the ratios of times."""
    cases = {
        "arms": [arm(k, torque_noise=0.0) for k in options.robots],
        "chains": [chain(k, force_noise=0.0, released=True) for k in options.robots],
    }
    if options.own:
        exact = {"force_noise": 0.0, "released": True, "own": True}
        cases = {"chains, own stiffness": [chain(k, **exact) for k in options.robots]}
    for kind, robots in cases.items():
        ratios = {name: [] for name in METHODS}
        for robot in robots:
            found = compare(robot)
            for one in found.searches:
                ratios[one.method].append(one.near / found.searches[0].near)
                print(
                    f"{found.robot}, {found.coordinates} coordinates, {found.parameters} "
                    f"parameters, {one.method}: {one.near:.2f} s to the precision, "
                    f"{one.whole:.2f} s in all, {one.simulations} simulations, end {one.off:.2g} "
                    "deviations off",
                    flush=True,
                )
        for name, values in ratios.items():
            print(
                f"{kind}, {name}: {np.median(values):.2f} ({min(values):.2f} to "
                f"{max(values):.2f}) times as long as {next(iter(METHODS))}",
                flush=True,
            )


def write(options):
    """Recordings with noise as CSV, with where they come from."""
    for kind in ROBOTS:
        robot = ROBOTS[kind](options.seed)
        found = with_noise(record(robot), robot, options.seed)
        columns = (*robot.problem.inputs, *robot.problem.channels)
        header = [f"{one.name} [{one.unit}]" for one in columns]
        path = options.folder / f"mujoco_{kind}.csv"
        truth = ", ".join(
            f"{one.name} {value:.6g} {one.unit}"
            for one, value in zip(robot.problem.parameters, robot.truth, strict=True)
        )
        with path.open("w", encoding="utf-8") as file:
            file.write(f"# {found.name}, noise of seed {options.seed}.\n# Truth: {truth}.\n")
            file.write("# Made by python -m benchmarks.mujoco write.\n")
            file.write(", ".join(["time [s]", *header]) + "\n")
            rows = np.column_stack([found.time, found.inputs, found.outputs])
            np.savetxt(file, rows, fmt="%.6g", delimiter=", ")
        print(f"{path}: {len(rows)} samples, {path.stat().st_size / 1e3:.0f} kB")


def coverage(options):
    """A line for each robot and time step, then one for each kind and time step."""
    done = []
    runs = measure_coverage(
        kinds=options.kinds,
        robots=options.robots,
        steps=options.steps,
        repetitions=options.repetitions,
        widened=options.widened,
    )
    for one in runs:
        done.append(one)
        held = ", ".join(
            f"{name} {count} ({bias:+.2f}, {100 * width:.1f} %)"
            for name, count, bias, width in zip(
                one.names, one.held, one.bias, one.half_width, strict=True
            )
        )
        wide = f", widened {one.held_widened.tolist()}" if options.widened else ""
        print(
            f"{one.robot}, dt {1e3 * one.dt:g} ms: of {len(one.found)} held {held}{wide}",
            flush=True,
        )
    print("held: intervals that hold the truth (mean error [deviations], half-width)")
    for dt in options.steps:
        for kind in options.kinds:
            group = [one for one in done if one.dt == dt and one.robot.startswith(kind)]
            print(f"{kind}s, dt {1e3 * dt:g} ms: {_together(group, options.widened)}")


def _together(group, widened):
    """Shares of all intervals of a group that hold the truth, mean errors and half-widths."""
    total = sum(one.found.size for one in group)
    share = 100.0 * sum(one.held.sum() for one in group) / total
    wide = 100.0 * sum(one.held_widened.sum() for one in group) / total
    also = f"{wide:.1f} % of widened ones, " if widened else ""
    bias = np.concatenate([one.bias for one in group])
    width = 100 * np.concatenate([one.half_width for one in group])
    return (
        f"{share:.1f} % of {total} intervals hold the truth, {also}mean errors {bias.min():+.2f} "
        f"to {bias.max():+.2f} deviations (rms {np.sqrt(np.mean(bias**2)):.2f}), half-widths "
        f"{width.min():.2g} to {width.max():.2g} %, {sum(one.solved for one in group)} of "
        f"{sum(len(one.found) for one in group)} searches converged"
    )


def main():
    """The study that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    studies = parser.add_subparsers(required=True)
    for study in (agreement, comparison):
        one = studies.add_parser(study.__name__, help=study.__doc__)
        one.add_argument("--robots", type=int, nargs="+", default=range(5), help=ROBOTS_HELP)
        one.set_defaults(study=study)
    one.add_argument("--own", action="store_true", help="Chains with a stiffness for each joint.")
    one = studies.add_parser("write", help=write.__doc__)
    one.add_argument("--seed", type=int, default=0, help="Of robots and noise.")
    one.add_argument("--folder", type=Path, default=RECORDS)
    one.set_defaults(study=write)
    one = studies.add_parser("coverage", help="Do intervals hold the truth?")
    one.add_argument("--kinds", nargs="+", default=["arm", "chain"])
    one.add_argument("--robots", type=int, nargs="+", default=range(5), help=ROBOTS_HELP)
    one.add_argument(
        "--steps", type=float, nargs="+", default=list(STEPS), help="Of the models [s]."
    )
    one.add_argument("--repetitions", type=int, default=20, help="With new noise and start.")
    one.add_argument(
        "--widened", action="store_true", help="Intervals with the error of the time step as well."
    )
    one.set_defaults(study=coverage)
    options = parser.parse_args()
    options.study(options)


if __name__ == "__main__":
    main()
