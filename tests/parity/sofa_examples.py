"""SOFA's own XML examples, in SOFA and in the embedded runtime: how far apart all states are.

    python tests/parity/sofa_examples.py FOLDER [WORD ...]

beside a SOFA v25.06 that can be imported. FOLDER is `examples` of SOFA's sources; words choose
examples by their paths. What comes out is kept in records/sofa_examples.json.

An example that differs has its reason shown, in one of two ways: it is EQUAL in both with what
CHANGES says, for example a tolerance that leaves nothing; or a disturbance of the start grows to
as much here alone.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from variants import check_version  # noqa: E402

OUTCOMES = Path(__file__).parent / "records" / "sofa_examples.json"
EQUAL = 1e-6
"""Difference by the size of a state that is none."""
AFTER = (1, 10, 30)
"""Steps after which states are compared."""
NOISE = 1e-14
"""Of the disturbance, by the size of a state: what rounding leaves after a few operations."""
SEEDS = (1, 2, 3)
SECONDS = 180
"""After which an example counts as one that does not end."""
SOLVED = 'tolerance="1e-12" maxIt="100000" initial_guess="false"'
FRICTION = "contacts, more than hold a body: friction has several solutions"
WITHOUT_FRICTION = {'tolerance="[^"]*" maxIt="1000"': f'{SOLVED} mu="1e-6"'}
CHANGES = {
    "Benchmark/Performance/BuildLCP/BuiltConstraintCorrection.scn": (FRICTION, WITHOUT_FRICTION),
    "Benchmark/Performance/BuildLCP/NonBuiltConstraintCorrection.scn": (FRICTION, WITHOUT_FRICTION),
    "Component/AnimationLoop/FreeMotionAnimationLoop.scn": (FRICTION, WITHOUT_FRICTION),
    "Component/Constraint/Lagrangian/NonBuiltConstraintCorrection.scn": (
        FRICTION,
        WITHOUT_FRICTION,
    ),
    "Component/Constraint/Lagrangian/FrictionContact_LCP_with_friction.scn": (
        f"{FRICTION}, and SOFA starts from the last step's, here from zero",
        {'tolerance="[^"]*" maxIt="1000" initial_guess="true"': SOLVED},
    ),
    "Component/AnimationLoop/MultiStepAnimationLoop.scn": (
        "steps of 1 s: contacts throw the bodies 400 times their size away",
        {'dt="1.0"': 'dt="0.1"'},
    ),
    "Component/Constraint/Lagrangian/BilateralLagrangianConstraint_UGS.scn": (
        "SOFA's unbuilt Gauss-Seidel leaves out the factor of the time step: nothing holds",
        {
            "<UncoupledConstraintCorrection": r"\g<0> useOdeSolverIntegrationFactors='0'",
            'tolerance="0.001" maxIterations="1000"': 'tolerance="1e-12" maxIterations="100000"',
        },
    ),
    "Component/Constraint/Projective/AttachProjectiveConstraintMatrix.scn": (
        "SOFA's matrix holds those nodes of object1 that have the numbers of the attached ones",
        {"<EigenSimplicialLDLT[^>]*>": '<CGLinearSolver iterations="1000" tolerance="1e-15"/>'},
    ),
    "Component/SolidMechanics/Spring/RestShapeSpringsForceField2.scn": (
        "a frame of eight numbers: its quaternion is 0 in SOFA, and no rotation here",
        {r"0 0 0 1(?=\")": "0 0 1"},
    ),
    "Component/LinearSolver/Direct/FEMBAR_AsyncSparseLDLSolver.scn": (
        "SOFA's factors are ready some steps later, as its other thread comes",
        {"AsyncSparseLDLSolver": "SparseLDLSolver"},
    ),
}
"""For examples that differ: a reason, and what is replaced in their text."""


def record(file, backend, out, seed):
    """In a process of its own: states of an example after some of its steps, by path."""
    from sofa_softctl.scene.backend.backend import find_backend

    Sofa = find_backend(backend).Sofa
    if backend == "sofa":
        import SofaRuntime

        SofaRuntime.importPlugin("Sofa.Component")
        for folder in os.environ["SOFTCTL_DATA"].split(os.pathsep):
            SofaRuntime.DataRepository.addLastPath(folder)
    root = Sofa.Simulation.load(file)
    if root is None:
        raise ValueError("it cannot be loaded")
    Sofa.Simulation.init(root)
    if seed:
        disturb(root, np.random.default_rng(seed))
    seen = {}
    for step in range(1, AFTER[-1] + 1):
        Sofa.Simulation.animate(root, root.dt.value)
        if step in AFTER:
            for name, state in states(root):
                seen.setdefault(name, []).append(np.array(state.position.value, float))
    whole = {name: rows for name, rows in seen.items() if len({row.shape for row in rows}) == 1}
    np.savez(out, **{name: np.array(rows) for name, rows in whole.items()})
    sys.stdout.flush()
    os._exit(0)  # SOFA may fail when it ends


CONTACT = re.compile("[%$#!]")
"""In the names of states that SOFA makes for contacts."""


def states(node, path=""):
    for component in node.objects:
        name = f"{path}{component.name.value}"
        if component.getClassName() == "MechanicalObject" and not CONTACT.search(name):
            yield name, component
    for child in node.children:
        yield from states(child, f"{path}{child.name.value}/")


def disturb(root, rng):
    places = [(state, np.array(state.position.value, float)) for _, state in states(root)]
    size = max(extent(position) for _, position in places)
    for state, position in places:
        if position.size:
            state.position.value = position + NOISE * size * rng.normal(size=position.shape)


def run(file, backend, folder, seed=0):
    """States of an example by path, or why there are none."""
    out = Path(folder) / "states.npz"
    out.unlink(missing_ok=True)
    command = [sys.executable, __file__, "--record", file, backend, str(out), str(seed)]
    environment = {**os.environ, "SOFTCTL_SOFA_DEFECTS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{SECONDS} s were not enough"
    if not out.exists():
        errors = re.findall(r"^(?:[\w.]*Error: |\[ERROR\]).*", done.stderr + done.stdout, re.M)
        return shorten((errors or ["its process ended"])[-1])
    with np.load(out) as saved:
        return dict(saved)


def shorten(error):
    """An error in a few words, without folders."""
    missing = re.search(r"has no component '(\w+)'", error)
    return f"no {missing[1]}" if missing else re.sub(r"\S*/", "", error)[:120]


def extent(rows):
    """Largest side of the box around all places of a state."""
    return float(np.ptp(rows.reshape(-1, rows.shape[-1])[:, :3], axis=0).max(initial=0.0))


def apart(theirs, ours):
    """Largest difference of two runs by the size of the state, and where it is."""
    scene = max([1e-3, *map(extent, theirs.values())])
    worst, where = 0.0, ""
    for name, there in theirs.items():
        here = ours.get(name)
        if here is None or here.shape != there.shape:
            return np.inf, f"{name} is missing or has another size"
        size = extent(there) if there.shape[1] > 1 else scene
        difference = float(np.abs(here - there).max(initial=0.0) / (size or scene))
        if not difference <= worst:
            worst, where = difference, name
    return worst, where


def compare(file, name):
    """Outcome of an example: how far apart it is, or where and why it does not run."""
    with tempfile.TemporaryDirectory() as folder:
        theirs = run(str(file), "sofa", folder)
        if isinstance(theirs, str):
            return {"not in SOFA": theirs}
        ours = run(str(file), "embedded", folder)
        if isinstance(ours, str):
            return {"not here": ours}
        difference, where = apart(theirs, ours)
        outcome = {"apart": float(f"{difference:.1e}")}
        if difference > EQUAL:
            outcome |= {"where": where, **shown(file, name, folder, ours)}
        return outcome


def shown(file, name, folder, ours):
    """What shows the reason of a difference: the changed example, or a disturbed start."""
    if name not in CHANGES:
        runs = [run(str(file), "embedded", folder, seed) for seed in SEEDS]
        grown = max(apart(ours, states)[0] for states in runs)
        return {"reason": "rounding", "disturbed": float(f"{grown:.1e}")}
    reason, replaced = CHANGES[name]
    text = file.read_text()
    for pattern, value in replaced.items():
        text, count = re.subn(pattern, value, text)
        assert count, (name, pattern)
    changed = file.with_name(f"changed_{file.name}")  # beside it, for what it includes
    changed.write_text(text)
    try:
        runs = [run(str(changed), backend, folder) for backend in ("sofa", "embedded")]
        return {"reason": reason, "changed": float(f"{apart(*runs)[0]:.1e}")}
    finally:
        changed.unlink()


def main(examples, *words):
    check_version()
    examples = Path(examples).resolve()
    folders = [examples, examples.parent / "share"]
    os.environ["SOFTCTL_DATA"] = os.pathsep.join(map(str, folders))
    files = [file for file in sorted(examples.rglob("*.scn"))
             if not words or any(word in str(file) for word in words)]  # fmt: skip
    outcomes = json.loads(OUTCOMES.read_text()) if OUTCOMES.exists() else {}
    names = [file.relative_to(examples).as_posix() for file in files]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, outcome in zip(names, pool.map(compare, files, names), strict=True):
            outcomes[name] = outcome
            print(name, outcome, flush=True)
            OUTCOMES.write_text(json.dumps(outcomes, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        record(*sys.argv[2:5], int(sys.argv[5]))
    main(*sys.argv[1:])
