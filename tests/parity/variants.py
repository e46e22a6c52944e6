"""Every Data of every component, varied one at a time, in SOFA and in the embedded runtime.

    python tests/parity/variants.py record [components]    with the real SOFA v25.06
    python tests/parity/variants.py compare [components]   without it
    python tests/parity/variants.py known                  without it: list what is not equal

A component is tried in small scenes of this folder. For each Data that *SOFA's* component has, with
SOFA's type and default, its scene runs again: the Data left out where the scene gives it, flags
flipped, numbers doubled, zero and negative, each choice, lists too short, too long and empty, and
pairs of Data that exclude each other. What is compared after one and after STEPS steps: positions
and velocities of all states, and every Data of the component itself.

records/variants.json.gz holds SOFA's results, each array as a digest: its size, its largest entry,
and its products with random directions. Only what differs from the unchanged scene is kept.
"""

import contextlib
import gzip
import io
import json
import os
import re
import select
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE / "changed")]
RECORD = HERE / "records" / "variants.json.gz"
KNOWN = HERE / "records" / "variants_known.json"
"""What is not equal, by component and scene: each variant and a reason of REASONS."""
SOFA_VERSION = "25.06.00"
STEPS = 10
SCENES = 2
"""In which a component is tried."""
CANDIDATES = 8
"""Scenes that are tried until so many run in SOFA."""
SECONDS = 60
"""After which a variant counts as one that does not end."""
DIRECTIONS = 3
"""Of a digest. Two arrays that differ have the same products with probability zero."""
OF_ALL = frozenset("name tags printLog listening src template bbox componentState".split())
DRAWN = re.compile(
    "^(show|draw|color|display|is[A-Z].*Visible)|[cC]olors?$|^(scale|handleDynamic)$"
)
"""Data that only pictures show."""
EXCLUDE = (
    ("totalMass", "massDensity", "vertexMass"),
    ("indices", "fixAll"),
    ("rayleighMass", "firstOrder"),
    ("position", "filename"),
    ("stiffness", "angularStiffness"),
)
"""Data of which SOFA takes one when both are given, or which work on one another."""


def build(Sofa, name):
    """Root of a scene 'module/case' that is not initialised."""
    import changed_build

    changed_build.runtime = lambda: Sofa
    return changed_build.build(name)


class Changed:
    """While it is entered, the first component of a class gets other Data than its scene says."""

    def __init__(self, Sofa, kind, values):
        self.node, self.kind, self.values = Sofa.Core.Node, kind, values
        self.component, self.given = None, {}

    def __enter__(self):
        self.plain = plain = self.node.addObject

        def add(node, kind, *parts, **given):
            if self.component is not None or kind != self.kind:
                return plain(node, kind, *parts, **given)
            self.given = given
            values = {**given, **self.values}
            kept = {name: value for name, value in values.items() if value is not None}
            self.component = plain(node, kind, *parts, **kept)
            return self.component

        self.node.addObject = add
        return self

    def __exit__(self, *error):
        self.node.addObject = self.plain


@cache
def directions(size):
    return np.random.default_rng(size).normal(size=(DIRECTIONS, size)) / np.sqrt(max(size, 1))


def digest(value):
    """Of numbers: size, largest entry, products with random directions; texts as they are."""
    if isinstance(value, str):
        return value[:60]
    try:
        numbers = np.asarray(value, float).ravel()
    except (TypeError, ValueError):
        return None
    if not numbers.size:
        return [0]
    if not np.isfinite(numbers).all():
        return "not finite"
    products = directions(numbers.size) @ numbers
    return [numbers.size, float(np.abs(numbers).max()), *map(float, products)]


def nodes_below(root):
    yield root
    for child in root.children:
        yield from nodes_below(child)


def data_of(component):
    return {data.getName(): data for data in component.getDataFields()}


def read(data):
    try:
        return digest(data.value)
    except Exception:  # a type that Python cannot see
        return None


def motion(root):
    """Digests of all states."""
    seen = {}
    for node in nodes_below(root):
        for component in node.objects:
            if component.getClassName() == "MechanicalObject":
                path = component.getPathName()
                for name in ("position", "velocity"):
                    seen[f"{path}.{name}"] = digest(component.findData(name).value)
    return seen


def results(Sofa, kind, scene, values):
    """What one variant does: digests by name."""
    with Changed(Sofa, kind, values) as changed:
        root = build(Sofa, scene)
        if changed.component is None:
            raise LookupError(f"{scene} has no {kind}")
    Sofa.Simulation.init(root)
    seen = {}
    for step in range(STEPS):
        Sofa.Simulation.animate(root, root.dt.value)
        if step in (0, STEPS - 1):
            seen |= {f"{step + 1} {name}": entry for name, entry in motion(root).items()}
    for name, data in data_of(changed.component).items():
        if not (name in OF_ALL or DRAWN.search(name)) and (entry := read(data)):
            seen[f"own {name}"] = entry
    unload(Sofa, root)
    return seen


def unload(Sofa, root):
    if hasattr(Sofa.Simulation, "unload"):
        Sofa.Simulation.unload(root)


# What SOFA's components have.


def described(Sofa, kind, scene):
    """Data of a component as SOFA declares them, and what the scene gives."""
    with Changed(Sofa, kind, {}) as changed:
        root = build(Sofa, scene)
    rows = {}
    for name, data in data_of(changed.component).items():
        if name in OF_ALL:  # to read the state of some ends SOFA's process
            continue
        rows[name] = {
            "type": data.getValueTypeString(),
            "help": data.getHelp(),
            "read_only": bool(data.isReadOnly()),
            "value": to_plain(data),
        }
    given = {name: jsonable(value) for name, value in changed.given.items()}
    unload(Sofa, root)
    return {"data": rows, "given": given}


def to_plain(data):
    try:
        return jsonable(data.value)
    except Exception:  # a type that Python cannot see
        return None


def jsonable(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def variants_of(row, given):
    """Other values of a Data, by SOFA's type and value; None leaves it out."""
    value = given if given is not None else row["value"]
    others = [] if given is None else [None]
    if isinstance(value, str) and isinstance(row["value"], list | float | int):
        value = row["value"]
    if row["type"] in ("bool", "b"):
        return [*others, not value]
    if isinstance(value, bool):
        return [*others, not value]
    if isinstance(value, int | float):
        return [*others, *{2 * value or 1, 0, -value or -1} - {value}]
    if isinstance(value, list):
        return [*others, *lists(value)]
    return others


def lists(value):
    if not value:
        return []
    numbers = np.asarray(value, float) if not isinstance(value[0], str) else None
    if numbers is None or numbers.dtype == object:
        return []
    whole = all(isinstance(entry, int) for entry in np.ravel(np.array(value, object)))
    again = numbers.astype(int) if whole else numbers
    changed = [] if whole else [(2 * again).tolist(), (0 * again).tolist()]
    return [*changed, value[:-1], [*value, value[-1]], []]


def pairs(described):
    """Two Data at once of those that exclude each other."""
    rows, given = described["data"], described["given"]
    for names in EXCLUDE:
        known = [name for name in names if name in rows]
        for i, first in enumerate(known):
            for second in known[i + 1 :]:
                yield {name: given.get(name, nonzero(rows[name])) for name in (first, second)}


def nonzero(row):
    value = row["value"]
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return value or 0.3
    return value or [0.3]


def variants(described):
    """All changes of a component in a scene, each as Data by name."""
    rows, given = described["data"], described["given"]
    for name, row in rows.items():
        if name in OF_ALL or DRAWN.search(name) or row["read_only"]:
            continue
        for choice in row.get("choices", []):
            yield {name: choice}
        if not row.get("choices"):
            yield from ({name: value} for value in variants_of(row, given.get(name)))
    yield from pairs(described)


# A process of its own for each component, since a value can end SOFA's process.


def worker():
    """Answer jobs, a line of JSON each, until the input ends."""
    out = os.fdopen(os.dup(1), "w")
    capture = tempfile.TemporaryFile()  # noqa: SIM115, as long as the process
    os.dup2(capture.fileno(), 1)
    os.dup2(capture.fileno(), 2)
    os.chdir(tempfile.mkdtemp())  # scenes write files
    Sofa = start_sofa()
    for line in sys.stdin:
        job = json.loads(line)
        capture.seek(0)
        capture.truncate()
        try:
            if job["do"] == "describe":
                answer = described(Sofa, job["kind"], job["scene"])
            else:
                answer = results(Sofa, job["kind"], job["scene"], job["values"])
        except Exception as error:
            answer = {"raised": f"{type(error).__name__}: {error}"[:200]}
        sys.stdout.flush()
        capture.seek(0)
        said = capture.read().decode(errors="replace")
        out.write(json.dumps({"answer": answer, "said": messages(said)}) + "\n")
        out.flush()
    os._exit(0)


def start_sofa():
    import Sofa
    import Sofa.Core
    import Sofa.Simulation
    import SofaRuntime

    for plugin in ("Sofa.Component", "MultiThreading", "SoftRobots", "SoftRobots.Inverse"):
        SofaRuntime.importPlugin(plugin)
    return Sofa


def messages(text):
    """Warnings and errors that SOFA printed, shortened."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    rows = re.findall(r"\[(WARNING|ERROR|FATAL)\]\s*(.*)", plain)
    return [f"{kind}: {text[:160]}" for kind, text in dict.fromkeys(rows)][:6]


class Worker:
    """A process with SOFA that answers jobs; one that died or hangs is started anew."""

    def __init__(self):
        self.process = None

    def ask(self, **job):
        if self.process is None or self.process.poll() is not None:
            command = [sys.executable, __file__, "worker"]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        try:
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # it has ended since its last answer
            self.process = None
            return self.ask(**job)
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline() if ready else b""
        if line:
            return json.loads(line)
        self.process.kill()
        self.process = None
        reason = "ended SOFA's process" if ready else f"did not end within {SECONDS} s"
        return {"answer": {"raised": reason}, "said": []}


def record_component(worker, kind, scenes):
    """SOFA's results of one component: for each scene the unchanged one, and what differs."""
    rows = {}
    for scene in scenes:
        if sum("variants" in row for row in rows.values()) == SCENES:
            break
        description = worker.ask(do="describe", kind=kind, scene=scene)["answer"]
        if "raised" in description:
            rows[scene] = {"raised": description["raised"]}
            continue
        choose(worker, kind, scene, description)
        plain = worker.ask(do="run", kind=kind, scene=scene, values={})
        if "raised" in plain["answer"]:
            rows[scene] = {"raised": plain["answer"]["raised"]}
            continue
        tried = []
        for values in variants(description):
            reply = worker.ask(do="run", kind=kind, scene=scene, values=values)
            answer = reply["answer"]
            if "raised" not in answer:
                base = plain["answer"]
                changed = {key: entry for key, entry in answer.items() if entry != base.get(key)}
                gone = [key for key in base if key not in answer]
                answer = changed | dict.fromkeys(gone)
            new = [text for text in reply["said"] if text not in plain["said"]]
            tried.append([values, answer, new])
        rows[scene] = {"data": description["data"], "plain": plain, "variants": tried}
    return rows


def choose(worker, kind, scene, description):
    """Add SOFA's choices to the Data that have some: a wrong one makes SOFA name them."""
    for name, row in description["data"].items():
        if "OptionsGroup" in row["type"] or "SelectableItem" in row["type"]:
            values = {name: "no such choice"}
            said = worker.ask(do="run", kind=kind, scene=scene, values=values)["said"]
            row["choices"] = sorted(choices_in(" ".join(said)))
            row["said"] = said


def choices_in(text):
    return set(re.findall(r"[\"'\[,] ?([A-Za-z][\w ]*?)(?=[\"'\],])", text)) - {"no such choice"}


def load():
    if not RECORD.exists():
        return {}
    with gzip.open(RECORD, "rt") as file:
        return json.load(file)


def save(record):
    text = json.dumps(record, sort_keys=True)
    with open(RECORD, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
        file.write(text.encode())


def check_version():
    """End unless the SOFA of this process's Python is the one that the records are of.

    Records of two versions in one file would be compared as if they were of one.
    """
    from sofa_softctl.scene.backend.installation import find_installation

    installation = find_installation()
    version = installation.version if installation else "none: set SOFA_ROOT"
    if version != SOFA_VERSION:
        sys.exit(f"The records are of SOFA {SOFA_VERSION}, found {version}. Nothing was written.")


def record(kinds):
    from changed_data import classes, scenes_with

    check_version()
    worker, known = Worker(), load()
    for kind in kinds or [cls.__name__ for cls in classes()]:
        scenes = scenes_with().get(kind, [])
        spread = [*scenes[:1], *scenes[len(scenes) // 2 :], *scenes[1:]][:CANDIDATES]
        known[kind] = record_component(worker, kind, list(dict.fromkeys(spread)))
        counts = [len(row.get("variants", [])) for row in known[kind].values()]
        print(kind, counts, flush=True)
        save(known)


# The comparison.

EQUAL, EQUAL_ITERATED = 1e-9, 1e-6
"""Relative differences that are none, without and with iterations that stop at a tolerance."""
ITERATE = frozenset(
    "CGLinearSolver PCGLinearSolver MinResLinearSolver ParallelCGLinearSolver".split()
)
SAME = frozenset(("equal", "refused in both", "refused in SOFA"))
"""Verdicts that need no reason."""
REST = 1e-9
"""Velocity [1/s] by the largest coordinate that is rest."""


@contextlib.contextmanager
def elsewhere():
    """A folder of their own for scenes that write files."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


def embedded(kind, scene, values):
    """Results of a variant here, and what was said."""
    import logging

    from sofa_softctl.scene.backend.backend import find_backend

    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        with contextlib.redirect_stderr(said), elsewhere(), np.errstate(all="ignore"):
            answer = results(find_backend("embedded").Sofa, kind, scene, values)
    except Exception as error:
        answer = {"raised": f"{type(error).__name__}: {error}"[:300]}
    finally:
        logging.getLogger().removeHandler(handler)
    return answer, said.getvalue().splitlines()


def difference(theirs, ours, scales, key):
    """Of two digests, relative; infinite where their sizes or texts differ."""
    if isinstance(theirs, str) and isinstance(ours, str):
        return 0.0 if as_printed(theirs) == as_printed(ours) else np.inf
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return 0.0 if theirs == ours else np.inf
    if theirs[0] != ours[0]:
        return np.inf
    if theirs[0] == 0:
        return 0.0
    scale = max(theirs[1], ours[1], scales.get(key.rsplit(".")[-1], 0.0))
    scale = scale if scale > np.finfo(float).tiny else 1.0
    return float(np.abs(np.subtract(theirs[1:], ours[1:])).max()) / scale


def as_printed(text):
    """A text without blanks at its end, and with the six digits that SOFA gives a number."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):g}", text.rstrip())


def scales_of(answer):
    """Largest coordinates and velocities of all states together."""
    scales = {"position": 0.0, "velocity": 0.0}
    for key, entry in answer.items():
        name = key.rsplit(".")[-1]
        if name in scales and isinstance(entry, list) and entry[0]:
            scales[name] = max(scales[name], entry[1])
    scales["velocity"] = max(scales["velocity"], REST * scales["position"])
    return scales


def differences(theirs, ours):
    """Relative differences by name, of what both have."""
    scales = scales_of(theirs)
    return {
        key: difference(entry, ours.get(key), scales, key)
        for key, entry in theirs.items()
        if entry is not None and key in ours  # SOFA shows the states of contacts, too
    }


def is_refused(answer, said):
    """Whether SOFA ended, reported an error, or got no numbers."""
    lost = any(key[:4] != "own " and entry == "not finite" for key, entry in answer.items())
    return lost or "raised" in answer or any(text.startswith("ERROR") for text in said)


def verdict_of(theirs, said, ours, apart, tolerance):
    """What the two results of a variant are to each other, and where they differ most.

    Args:
        theirs, said: SOFA's, and what it said.
        ours: The embedded runtime's.
        apart: Data of the component that differ in the unchanged scene already.
        tolerance: Relative difference that is none.
    """
    if is_refused(theirs, said):
        return ("refused in both" if "raised" in ours else "refused in SOFA"), ""
    if "raised" in ours:
        return "refused here", ours["raised"]
    sizes = {key: size for key, size in differences(theirs, ours).items() if key not in apart}
    key = max(sizes, key=sizes.get, default="")
    if sizes.get(key, 0.0) <= tolerance:
        return "equal", ""
    moves = max((size for name, size in sizes.items() if name[:4] != "own "), default=0.0)
    verdict = "other motion" if moves > tolerance else "other Data"
    return verdict, f"{sizes[key]:.1e} {key}"


def outcomes(kinds=()):
    """Each variant of the record here: component, scene, values, verdict, where, what was said."""
    os.environ["SOFTCTL_SOFA_DEFECTS"] = "1"  # what is otherwise on purpose is as in SOFA then
    for kind, rows in load().items():
        if kinds and kind not in kinds:
            continue
        for scene, row in rows.items():
            if "raised" in row:
                continue
            base = row["plain"]["answer"]
            plain, plainly_said = embedded(kind, scene, {})
            tolerance = EQUAL_ITERATED if ITERATE & classes_of(scene) else EQUAL
            apart = {key for key, size in differences(base, plain).items() if size > tolerance}
            yield kind, scene, {}, "unchanged", " ".join(sorted(apart)), []
            for values, changed, said in row["variants"]:
                theirs = changed if "raised" in changed else {**base, **changed}
                ours, words = embedded(kind, scene, values)
                verdict, where = verdict_of(theirs, said, ours, apart, tolerance)
                new = [line for line in words if line not in plainly_said]
                yield kind, scene, values, verdict, where, new


@cache
def classes_of(scene):
    """Names of the classes of a scene's components."""
    from sofa_softctl.scene.backend.backend import find_backend

    with elsewhere():
        root = build(find_backend("embedded").Sofa, scene)
    return frozenset(
        component.getClassName() for node in nodes_below(root) for component in node.objects
    )


def compare(kinds):
    counts = Counter()
    for kind, scene, values, verdict, where, said in outcomes(kinds):
        spoken = ", said" if said and verdict[:5] == "other" else ""
        counts[verdict + spoken] += 1
        if where:
            print(f"{verdict}{spoken} | {kind} | {scene} | {values} | {where} | {said[:1]}"[:900])
    print(counts)


REASONS = {
    "error": "SOFA goes on with a value that makes no sense, and here it is an error at its line.",
    "page": "It is [different on purpose](../explanation/where-we-differ.md).",
    "contacts": "1e-12 at the start gives as much here: contacts come and go at a threshold.",
    "nonsense": "A number that no scene has, such as a negative thickness; a warning names it.",
    "memory": "SOFA reads beyond the end of a list: its numbers are those of some other memory.",
    "qp": "As near as a QP solver comes to its answer, 1e-9, often beside a zero.",
    "undetermined": "The QP has many solutions, or none: nothing moves the effector, say.",
    "rounding": "1e-16 of noise in each product of the iterations gives as much here.",
    "warned": "A warning says that it is not read.",
    "open": "Not looked into.",
}


def known():
    with open(KNOWN) as file:
        return json.load(file)


def label(values):
    """A variant as a text."""
    return json.dumps(values, sort_keys=True)


def list_known():
    """Write the list of what is not equal; reasons that it has stay."""
    before = known() if KNOWN.exists() else {}
    listed = {}
    for kind, scene, values, verdict, where, _ in outcomes():
        if verdict in SAME or not where:
            continue
        name = label(values)
        reason = before.get(kind, {}).get(scene, {}).get(name)
        guess = {"refused here": "error", "unchanged": where}
        listed.setdefault(kind, {}).setdefault(scene, {})[name] = (
            where if verdict == "unchanged" else reason or guess.get(verdict, "open")
        )
    with open(KNOWN, "w") as file:
        json.dump(listed, file, indent=0, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    command, *rest = sys.argv[1:] or ["compare"]
    {
        "record": record,
        "compare": compare,
        "known": lambda _: list_known(),
        "worker": lambda _: worker(),
    }[command](rest)
