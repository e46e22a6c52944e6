"""How often the elastic arm catches all objects with libraries of ten seeds, measured.

python -m benchmarks.pick_place             ten libraries, in a temporary folder
python -m benchmarks.pick_place FOLDER      kept there, and used again

For each library, the scene is run with the objects in their usual places and in random ones, for
the robot that is planned for and for softer and stiffer springs. It takes five minutes.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from sofa_softctl import Session
from sofa_softctl.errors import SceneError
from sofa_softctl.library import Builder, LibraryFile, Program
from sofa_softctl.scene.session.loader import load_scene

FILE = Path(__file__).parents[1] / "scenes" / "elastic_arm_pick_place.py"
SCENE = load_scene(FILE).module
SEEDS = range(10)
"""Of the random tasks of a library, and of random places."""
FAILURE_RATE = 0.03
ERRORS = (0.0, 0.05, -0.05, 0.2, -0.2)
"""How much stiffer than the robot's the planned springs are, as a share."""
STIFFNESS = 0.7
"""Of the planned springs [N m / rad]."""


def built(folder: Path, seed: int) -> Path:
    """The file of a library for this scene, as `softctl library build --seed SEED` makes it."""
    path = folder / f"seed-{seed}.library"
    program = Program(SCENE.experiment())
    new = not path.exists()
    with LibraryFile.create(path, program.model) if new else LibraryFile(path) as file:
        Builder(program, file, failure_rate=FAILURE_RATE, seed=seed).build()
    return path


def run(library: Path, wrong: float, seed: int | str) -> tuple[int, float, str]:
    """Objects that were caught, the largest grasp error [mm], and what was said."""
    robot = {"stiffness": STIFFNESS / (1.0 + wrong), "stiffness_error": wrong}
    given = robot | {"plan": "library", "library": str(library), "seed": seed}
    session, said = Session(FILE, parameters=given), ""
    arm, lead = session.controllers
    try:
        while lead.phase.value not in ("done", "missed") and session.time < SCENE.DURATION:
            session.step()
    except SceneError as error:  # no motion that may be executed
        said = str(error)
    caught = sum(action.closed and action.held >= 0 for action in arm.state.hand.actions)
    return caught, 1e3 * max(lead.grasp_error.value), said or lead.message.value


def measure(folder: Path) -> None:
    """Print a row for each run, then counts."""
    counts = {}
    print("springs, places, library's seed: objects caught, largest grasp error, what was said")
    for seed in SEEDS:
        library = built(folder, seed)
        for error in ERRORS:
            for places, at in (("usual", ""), ("random", seed)):
                caught, far, said = run(library, error, at)
                counts.setdefault((error, places), []).append((caught, far, said))
                print(f"{error:+5.0%} {places:6} {seed:2}: {caught} of 3, {far:5.1f} mm  {said}")
    print("springs, places: runs with all objects, and their largest errors, from least to most")
    for (error, places), rows in counts.items():
        far = [far for _, far, said in rows if not said]
        spread = f"{min(far):.1f} to {max(far):.1f} mm" if far else "none"
        print(f"{error:+5.0%} {places:6}: {len(far)} of {len(rows)}, {spread}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="keep the libraries here")
    kept = parser.parse_args().folder
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
        measure(kept)
    else:
        with TemporaryDirectory() as folder:
            measure(Path(folder))
