"""What scenes/arm_library.py says of itself, measured.

python -m benchmarks.arm_library identify           the reduced model, and its misfit
python -m benchmarks.arm_library measure [LIBRARY]  errors with and without correction
"""

import argparse
from pathlib import Path

import numpy as np

from sofa_softctl import Session
from sofa_softctl.library import Plant, RecordedMotion, identify_chain, record, rollout
from sofa_softctl.scene.session.loader import load_scene

FILE = Path(__file__).parents[1] / "scenes" / "arm_library.py"
SCENE = load_scene(FILE).module
HOLD = 0.5
"""Time at each tension of a recorded motion."""
TRAINING = (
    (0.003, 0, (900, 400, 1200), 0.1),
    (0.005, 600, (1000, 200, 900), 0.15),
    (0.007, 0, (500, 900, 300), 0.1),
    (0.004, 1200, (500, 1400, 200), 0.2),
    (0.006, 300, (900, 0, 700), 0.2),
    (0.005, 1000, (300, 1300, 600), 0.1),
    (0.007, 800, (200, 600, 1000), 0.15),
    (0.003, 1500, (700, 200, 1300), 0.1),
)
"""Payload, tension at rest, then tensions, and the time of a ramp to each."""
FRESH = (
    (0.0035, 0, (1200, 300, 1000), 0.15),
    (0.0045, 900, (300, 800, 1200), 0.1),
    (0.0065, 300, (800, 200, 500), 0.1),
    (0.0055, 0, (1000, 600, 200), 0.2),
    (0.004, 1300, (600, 200, 1000), 0.15),
    (0.0065, 700, (100, 900, 400), 0.2),
)
"""The same, of motions that the model is not identified from."""
TASKS = (
    (0.0, 40.0, 0.005),
    (0.0, 50.0, 0.004),
    (300.0, 45.0, 0.006),
    (1000.0, 15.0, 0.005),
    (600.0, 25.0, 0.0055),
    (1200.0, 35.0, 0.0045),
)
"""Tension at the start, goal, and the payload that the library is asked with."""
ROBOTS = {
    "as identified": {},
    "mass +20 %": {"mass_error": 0.2},
    "modulus -10 %": {"modulus_error": -0.1},
    "payload +1 g": {"payload": 0.001},
    "payload -1 g": {"payload": -0.001},
    "mass, modulus": {"mass_error": 0.2, "modulus_error": -0.1},
    "all, +1 g": {"mass_error": 0.2, "modulus_error": -0.1, "payload": 0.001},
    "all, -1 g": {"mass_error": 0.2, "modulus_error": -0.1, "payload": -0.001},
}
"""What the robot differs in; payloads are differences."""


def recorded(payload: float, start: float, levels: tuple, rise: float) -> RecordedMotion:
    """The arm's motion from rest through some tensions."""
    parameters = {"start": float(start), "payload": payload, "library": "", "ends": ""}
    session = Session(FILE, parameters=parameters)
    session.step(round(SCENE.settle(start) / SCENE.DT))
    times, tensions = [0.0], [start]
    for number, level in enumerate(levels):
        times += [HOLD * number + 1e-9, HOLD * number + rise]
        tensions += [tensions[-1], level]
    at = SCENE.DT * np.arange(round(HOLD * len(levels) / SCENE.DT) + 1)
    arm = session.root.arm
    return record(
        session,
        arm.cable.cable,
        lambda: arm.points.dofs.position.value,
        SCENE.FRAME,
        np.interp(at, times, tensions),
        Plant(payload),
    )


def misses(model, motion: RecordedMotion) -> np.ndarray:
    """Distance of the model's tip from the arm's, shape (K + 1,)."""
    rest = model.equilibrium(motion.tension[0], motion.plant)
    x = rollout(model, rest, 0.0 * rest, motion.tension, motion.plant, dt=model.dt, steps=2)
    tip = np.array(model.tip(list(x[:, : model.count].T), motion.tension))
    return np.linalg.norm(tip.T - motion.points[:, -1], axis=1)


def identify() -> None:
    """Print the model, and how far its tip is from the arm's in other motions."""
    training = [recorded(*each) for each in TRAINING]
    model = identify_chain(training, SCENE.MODEL, SCENE.AT, weights=(0.3, 0.3, 1.0))
    print(model)
    for name, motions in (("training", training), ("fresh", [recorded(*each) for each in FRESH])):
        for motion in motions:
            far, ways = misses(model, motion), motion.points[:, -1, 1]
            print(
                f"{name}: payload {1e3 * motion.plant.payload:.1f} g, tip from {ways.min():.0f} to "
                f"{ways.max():.0f} mm aside: rms {np.sqrt(np.mean(far**2)):.2f} mm, at rest "
                f"{far[0]:.2f}, at most {far.max():.2f}"
            )


def run(seconds: float = 0.7, **parameters) -> tuple[np.ndarray, np.ndarray, Session]:
    """The tip aside and the tension, from the end of the first motion on; the session."""
    session = Session(FILE, parameters=parameters)
    settled = SCENE.settle(parameters["start"])
    session.step(round((settled + SCENE.HORIZON) / SCENE.DT) - 1)
    aside, tension = [], []
    for _ in range(round(seconds / SCENE.DT) + 1):
        session.step()
        points = session.root.arm.points.dofs.position.value
        aside.append(SCENE.FRAME.coordinates(points)[-1, 1])
        tension.append(session.root.arm.cable.cable.value.value[0] / SCENE.DT)
    return np.array(aside), np.array(tension), session


def figures(aside: np.ndarray, goal: float) -> tuple[float, float, float]:
    """Error at the end of a motion, the largest after it, and half of what the tip swings."""
    return abs(aside[0] - goal), float(np.abs(aside - goal).max()), 0.5 * float(np.ptp(aside))


def measure(library: str) -> None:
    """Print errors for all tasks and robots, and what ramps and steps leave."""
    table: dict[str, list] = {}
    for start, goal, payload in TASKS:
        print(f"from {start:.0f} mN to {goal:.0f} mm with {1e3 * payload:.1f} g")
        for name, robot in ROBOTS.items():
            for correct in (False, True):
                own = dict(robot) | {"payload": payload + robot.get("payload", 0.0)}
                asked = {"start": start, "goals": str(goal), "asked": payload, "library": library}
                aside, tension, session = run(**own, **asked, correct=correct)
                text = ""
                if correct:
                    outputs = session.root.library.outputs
                    load, stiffness, misfit = outputs["estimate"].value
                    text = (
                        f" payload {1e3 * load:.2f} g, stiffness {stiffness:.3f}, misfit "
                        f"{misfit:.2f} mm, in {outputs['correction_time'].value[0]:.2f} s"
                    )
                elif name == "as identified":
                    for kind, rise in (("ramp", SCENE.HORIZON), ("step", 0.0)):
                        given = {"library": "", "ends": str(tension[-1]), "rise": rise}
                        other, _, _ = run(payload=payload, start=start, **given)
                        show(table, kind, figures(other, goal))
                show(
                    table,
                    f"{name}, {'corrected' if correct else 'open loop'}",
                    figures(aside, goal),
                    text,
                )
    print("over all tasks, mean and largest: error at the end, largest after it, swing [mm]")
    for name, rows in table.items():
        values = np.array(rows)
        pairs = zip(values.mean(axis=0), values.max(axis=0), strict=True)
        print(f"{name:28}", "  ".join(f"{mean:5.2f} {most:5.2f}" for mean, most in pairs))


def show(table: dict, name: str, found: tuple, text: str = "") -> None:
    """Keep and print a row."""
    table.setdefault(name, []).append(found)
    print(f"  {name:28}", " ".join(f"{each:5.2f}" for each in found) + text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("identify")
    commands.add_parser("measure").add_argument("library", nargs="?", default=SCENE.LIBRARY)
    given = parser.parse_args()
    if given.command == "identify":
        identify()
    else:
        measure(given.library)
