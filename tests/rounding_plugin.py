"""A pytest plugin: every number that an assertion compares, and bodies of a slightly other shape.

    pytest -p tests.rounding_plugin -o enable_assertion_pass_hook=true tests/scenes

The environment variable ROUNDING_OUT names the file it writes, a line of JSON for each test:
its name, whether it passed, and for each of its assertions that compare two numbers the value that
came nearest to the limit; of arrays and sequences, the largest error as a share of the tolerance
of `pytest.approx`. ROUNDING_SEED perturbs the rest shape of every scene that a `Session`
loads, see `benchmarks.success_rates.perturbation`.
"""

import contextlib
import json
import os
import re

import numpy as np
import pytest

NUMBER = r"(?:np\.float64\(|np\.int64\()?(-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf))\)?"
COMPARISON = re.compile(rf"^{NUMBER} (<=|<|>=|>|==) {NUMBER}(?: ± ([\d.e+-]+))?$")


def pytest_configure(config):
    figures = _Figures(os.environ["ROUNDING_OUT"])
    config.pluginmanager.register(figures)
    watch_approx(figures)
    seed = int(os.environ.get("ROUNDING_SEED", "0"))
    if seed:
        perturb_scenes(seed)


def perturb_scenes(seed):
    """From now on, sessions load scenes with perturbed rest shapes."""
    from benchmarks.success_rates.perturbation import perturb
    from sofa_softctl.errors import SceneError
    from sofa_softctl.scene.session import session

    build = session.build_scene

    def build_perturbed(create, values=None):
        root = build(create, values)
        with contextlib.suppress(SceneError):  # points and joints alone have no shape
            perturb(root, np.random.default_rng(seed))
        return root

    session.build_scene = build_perturbed


def watch_approx(figures):
    """Let every number that `pytest.approx` compares leave its error over its tolerance."""
    scalar = type(pytest.approx(1.0))  # arrays and sequences are compared by it as well
    equal = scalar.__eq__

    def watched(self, actual):
        try:
            error = float(np.max(np.abs(actual - self.expected), initial=0.0))
            figures.shares.append(error / self.tolerance if self.tolerance else 0.0)
        except (TypeError, ValueError):  # neither numbers nor a tolerance
            pass
        return equal(self, actual)

    scalar.__eq__ = watched


class _Figures:
    """Writes what assertions compared."""

    def __init__(self, path):
        self.path, self.found, self.shares = path, {}, []

    def pytest_assertion_pass(self, item, lineno, orig, expl):
        self.keep(lineno, orig, expl)

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.passed:
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        message = "" if crash is None else crash.message
        if report.failed and message.startswith("assert "):
            self.keep(crash.lineno, "", message.removeprefix("assert "))
        row = {
            "test": report.nodeid,
            "outcome": report.outcome,
            "message": " ".join(message.split())[:300],
            "figures": list(self.found.values()),
        }
        self.found, self.shares = {}, []
        with open(self.path, "a") as file:
            file.write(json.dumps(row) + "\n")

    def keep(self, line, text, explanation):
        """Remember an assertion's value, if it is nearer to the limit than others of its line."""
        compared, shares = comparison(explanation), self.shares
        self.shares = []
        if compared is None and shares:
            share = max(shares)
            compared = share, 1.0 - share
        if compared is None:
            return
        value, margin = compared
        known = self.found.get(line)
        if known is None or margin < known["margin"]:
            self.found[line] = {"line": line, "text": text, "value": value, "margin": margin}


def comparison(explanation):
    """Value and margin of an assertion that compares two numbers, None of any other.

    The value is the difference to the limit for equality, which both sides may change alike, and
    otherwise the first number. The margin is how far it may go on towards the limit: negative where
    the assertion failed, 0 for equality without a tolerance.
    """
    found = COMPARISON.match(explanation.split("\n")[0].strip())
    if found is None:
        return None
    value, sign, limit, tolerance = found[1], found[2], found[3], found[4]
    value, limit = float(value), float(limit)
    if sign == "==":
        return value - limit, float(tolerance or 0.0) - abs(value - limit)
    return value, limit - value if sign[0] == "<" else value - limit
