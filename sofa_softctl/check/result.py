"""Results of `softctl check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Lack:
    """Something that a scene needs and that is missing here."""

    kind: str
    """'component', 'Data', 'value', 'module' or 'file'; 'process' if the scene's process ended."""
    name: str
    """Name of the missing thing, such as BeamInterpolation or BoxROI.orientedBox."""
    where: str
    """File and line of its first use in the scene."""
    text: str = ""
    """Message about it."""
    needs: str = ""
    """Family of a missing component, such as 'beams (plugin BeamAdapter)', or ""."""

    @property
    def stops(self) -> bool:
        """True if the scene does not run without it."""
        return self.kind not in ("Data", "value")


@dataclass
class SceneCheck:
    """Result of a scene's check: how it ended, missing parts and content."""

    path: str
    """The scene file."""
    runs: bool = False
    """Whether it was loaded, started and stepped as by `softctl run`."""
    steps: int = 0
    """Number of completed steps."""
    error: str = ""
    """Reason for a scene that does not run, or ""."""
    where: str = ""
    """File and line of the scene at which it ended, or ""."""
    lacks: list[Lack] = field(default_factory=list)
    """Missing parts; missing Data and values do not stop the scene."""
    warnings: list[str] = field(default_factory=list)
    """Warnings of loading and of the start, without repetitions."""
    units: str = ""
    """Units that the scene declares."""
    time_step: float = 0.0
    """Time step of the scene [time]."""
    states: int = 0
    """Mechanical states, mapped ones included."""
    dofs: int = 0
    """Number of degrees of freedom of the states that are not mapped."""
    solvers: list[str] = field(default_factory=list)
    """Time integrators, linear solvers, the loop and the constraint solver, by class."""
    rows: dict[str, int] = field(default_factory=dict)
    """Number of constraint rows of the last step by the path of their owner."""

    @property
    def moves(self) -> bool:
        """True if the scene has a mechanical state."""
        return self.states > 0

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> SceneCheck:
        """Return the result from a dict of `to_dict`."""
        return cls(**{**entries, "lacks": [Lack(**values) for values in entries["lacks"]]})


@dataclass(frozen=True)
class Rank:
    """A missing part, counted over many scenes."""

    kind: str
    name: str
    needs: str
    scenes: int
    """Number of scenes that need it."""
    alone: int
    """Number of scenes that only this part stops."""


def rank(checks: Iterable[SceneCheck]) -> Sequence[Rank]:
    """Rank missing parts by the number of scenes that need them, the most needed first."""
    scene_count: Counter[tuple[str, str]] = Counter()
    only_count: Counter[tuple[str, str]] = Counter()
    needs: dict[tuple[str, str], str] = {}
    for check in checks:
        keys = {(lack.kind, lack.name) for lack in check.lacks}
        stopping_keys = {(lack.kind, lack.name) for lack in check.lacks if lack.stops}
        scene_count.update(keys)
        needs.update({(lack.kind, lack.name): lack.needs for lack in check.lacks})
        if len(stopping_keys) == 1:
            only_count.update(stopping_keys)
    return [
        Rank(*key, needs[key], count, only_count[key]) for key, count in scene_count.most_common()
    ]
