"""Commands in their form before version 0.2: translated, with a warning."""

from __future__ import annotations

import shlex

import typer

_BENCH = ("batch", "bridge", "cluster", "learning", "scene", "surrogate", "compare", "--help")
_STUDIES = {
    "--planning": "planning",
    "--trajectories": "trajectories",
    "--identification": "identification",
    "--coverage": "identification",
    "--transfer": "inverse",
    "--random": "search",
    "--robust": "robust",
}
"""The study that an option of `softctl papers` asked for."""
_KEPT = ("--coverage", "--transfer")
"""Those that are still options, of their study."""


def renewed(words: list[str]) -> list[str]:
    """The words of a command line in their present form; says so where they are old."""
    new = _renewed(words)
    if new != words:
        old, now = (shlex.join(["softctl", *some]) for some in (words, new))
        typer.echo(f"'{old}' is now '{now}'. The old form ends with version 0.3.", err=True)
    return new


def _renewed(words: list[str]) -> list[str]:
    match words:
        case ["compare", *rest]:
            return ["bench", "compare", *rest]
        case ["bench", first, *rest] if first not in _BENCH:
            return ["bench", "scene", first, *rest]
        case ["papers", *rest] if not rest or (rest[0][:1] == "-" and rest[0] != "--help"):
            options = [word.partition("=")[0] for word in rest]
            asked = [option for option in _STUDIES if option in options] or ["--transfer"]
            others = [word for word in rest if word != asked[0] or word in _KEPT]
            return ["papers", _STUDIES[asked[0]], *others]
    return words
