"""SOFA's Python API and the embedded runtime's: what is missing, and what behaves differently.

    python tests/parity/api.py                          lists it for the embedded runtime
    python tests/parity/api.py --record EXAMPLES ...    in SOFA: writes api.json anew

EXAMPLES are folders with scenes; the record says beside each name how many of their files use it.
"""

import importlib
import inspect
import json
import os
import signal
import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parent))
import api_probes
import api_usage
from api_differences import ABSENT, DIFFERENT

RECORD = Path(__file__).with_name("api.json")
MODULES = (
    "Sofa",
    "Sofa.Core",
    "Sofa.Core.TaskScheduler",
    "Sofa.Gui",
    "Sofa.Helper",
    "Sofa.Helper.System",
    "Sofa.Simulation",
    "Sofa.SofaBaseTopology",
    "Sofa.SofaConstraintSolver",
    "Sofa.SofaDeformable",
    "Sofa.SofaLinearSolver",
    "Sofa.SofaLinearSystem",
    "Sofa.SoftRobotsInverse",
    "Sofa.Types",
    "Sofa.constants",
    "Sofa.constants.Key",
    "Sofa.constants.KeyCode",
    "SofaRuntime",
    "SofaRuntime.Timer",
)
SPECIAL = ("__contains__", "__enter__", "__getitem__", "__iter__", "__len__", "__setitem__")
"""Special methods that belong to what a class offers."""


def names(Sofa):
    """Every public name: of the modules, their classes' own, and the Data of objects."""
    found = set()
    for module_name in MODULES:
        module = _module(module_name)
        found.add(module_name)
        for name, value in vars(module).items():
            if name.startswith("_") or isinstance(value, ModuleType):
                continue
            found.add(f"{module_name}.{name}")
            if inspect.isclass(value):
                own = [entry for entry in vars(value) if entry in SPECIAL or entry[0] != "_"]
                found |= {f"{module_name}.{name}.{entry}" for entry in own}
    for owner, thing in _objects(Sofa).items():
        data = [entry.getName() for entry in thing.getDataFields()]
        found |= {f"{owner}.{entry}" for entry in (*data, "linkpath")}
    return sorted(found | {"Sofa.Core.Data().value", "Sofa.Core.Data().linkpath"})


def has(Sofa, name):
    """Whether the running backend has a name that `names` gave."""
    owner, _, rest = name.partition("().")
    if rest:
        things = {**_objects(Sofa), "Sofa.Core.Data()": Sofa.Core.Node("root").dt}
        return hasattr(things[f"{owner}()"], rest)
    module = max((m for m in MODULES if f"{name}.".startswith(f"{m}.")), key=len)
    thing = _module(module)
    for step in name.removeprefix(module).split(".")[1:]:
        if not hasattr(thing, step):
            return False
        thing = getattr(thing, step)
    return True


def _module(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:  # SOFA makes SofaRuntime.Timer as an attribute only
        parent, _, last = name.rpartition(".")
        return getattr(importlib.import_module(parent), last)


def _objects(Sofa):
    return {
        "Sofa.Core.Node()": Sofa.Core.Node("root"),
        "Sofa.Core.Controller()": Sofa.Core.Node("root").addObject(Sofa.Core.Controller(name="c")),
    }


def reason(name, table=ABSENT):
    """Why a name is missing on purpose; the table may hold its owner. None when it is not there."""
    starts = (name[:end] for end in range(len(name), 0, -1))
    return next((table[start] for start in starts if start in table), None)


def agrees(recorded, answered):
    """Whether an answer is as good as SOFA's.

    Where both raise, the class may differ (errors.py has this package's own), unless scripts test
    for it: an unknown attribute is an AttributeError. Where SOFA crashes anything is.
    """
    if recorded.startswith("crashes"):
        return True
    if recorded.startswith("raises ") and answered.startswith("raises "):
        return "AttributeError" not in recorded or "AttributeError" in answered
    return recorded == answered


def record(Sofa, examples):
    """What goes into api.json."""
    dotted, attributes = api_usage.count(examples)
    uses = {}
    for name in names(Sofa):
        module = max((m for m in MODULES if f"{name}.".startswith(f"{m}.")), key=len)
        in_class = name.removeprefix(module).count(".") > 1
        uses[name] = attributes[name.rpartition(".")[2]] if in_class else dotted[name]
    unknown = {  # in another SOFA, or of old
        name: dotted[name]
        for name in sorted(dotted)
        if name not in uses and name.rpartition(".")[0] in MODULES
    }
    probes = {code: _answer_apart(Sofa, code) for code in api_probes.PROBES}
    return {"examples use": uses | unknown, "probes": probes}


def _answer_apart(Sofa, code):
    """The answer of a process of its own: some probes end SOFA."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(20)
        os.write(writing, api_probes.answer(Sofa, code).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(process, 0)
    return f"crashes with signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else answer


def report(Sofa, recorded):
    """Lines about what is missing and what is different."""
    for name, count in recorded["examples use"].items():
        if not has(Sofa, name):
            used = f", {count} examples use it" if count else ""
            yield f"missing  {name}{used}: {reason(name) or 'no example needs it'}"
    for code, expected in recorded["probes"].items():
        answered = api_probes.answer(Sofa, code)
        if not agrees(expected, answered):
            yield f"differs  {code!r}: {DIFFERENT.get(code, 'NOT INTENDED')}"
            yield f"             SOFA: {expected}"
            yield f"             here: {answered}"


def main(*examples):
    """See the top of this file."""
    from sofa_softctl.scene.backend.backend import find_backend

    Sofa = find_backend("sofa" if examples else "embedded").Sofa
    importlib.import_module("SofaRuntime").importPlugin("Sofa.Component")
    if examples:
        text = json.dumps(record(Sofa, examples), indent=0, ensure_ascii=False)
        RECORD.write_text(f"{text}\n", encoding="utf-8")
    else:
        print(*report(Sofa, json.loads(RECORD.read_text(encoding="utf-8"))), sep="\n")
    sys.stdout.flush()
    os._exit(0)  # SOFA's libraries do not end well


if __name__ == "__main__":
    main(*[argument for argument in sys.argv[1:] if argument != "--record"])
