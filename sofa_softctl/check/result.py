"""What `softctl check` says of a scene."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Lack:
    """Something that a scene wants and that is not here."""

    kind: str
    """'component', 'Data', 'value', 'module', 'file'; 'process' where that ended by itself."""
    name: str
    """Its name, such as BeamInterpolation or BoxROI.orientedBox."""
    where: str
    """File and line at which the scene first asks for it."""
    text: str = ""
    """What is said of it."""
    needs: str = ""
    """For a component: what it belongs to, such as 'beams (plugin BeamAdapter)'."""

    @property
    def stops(self) -> bool:
        """Whether the scene does not run for the want of it."""
        return self.kind not in ("Data", "value")


@dataclass
class SceneCheck:
    """How a scene ends here, and what it lacks and holds."""

    path: str
    """The scene file."""
    runs: bool = False
    """Whether it was loaded, started and stepped as `softctl run` does it."""
    steps: int = 0
    """Steps that were done."""
    error: str = ""
    """Why it does not run."""
    where: str = ""
    """File and line of the scene's own at which it ended."""
    lacks: list[Lack] = field(default_factory=list)
    """What it lacks; Data and values alone do not stop it."""
    warnings: list[str] = field(default_factory=list)
    """Of loading and of the start, each once."""
    units: str = ""
    """Units that the scene declares."""
    time_step: float = 0.0
    """Its dt [time]."""
    states: int = 0
    """Mechanical states, mapped ones included."""
    dofs: int = 0
    """Degrees of freedom of the states that are not mapped."""
    solvers: list[str] = field(default_factory=list)
    """Time integrators, linear solvers, the loop and the constraint solver, by class."""
    rows: dict[str, int] = field(default_factory=dict)
    """Constraint rows of the last step by the path of their owner."""

    @property
    def moves(self) -> bool:
        """Whether it has a mechanical state."""
        return self.states > 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> SceneCheck:
        """What `to_dict` gave."""
        return cls(**{**entries, "lacks": [Lack(**entry) for entry in entries["lacks"]]})


@dataclass(frozen=True)
class Rank:
    """One lack over many scenes."""

    kind: str
    name: str
    needs: str
    scenes: int
    """Scenes that want it."""
    alone: int
    """Scenes that want nothing else of what stops them."""


def rank(checks: Iterable[SceneCheck]) -> Sequence[Rank]:
    """What is lacking, by the number of scenes that want it, most wanted first."""
    wanted: Counter[tuple[str, str]] = Counter()
    alone: Counter[tuple[str, str]] = Counter()
    needs: dict[tuple[str, str], str] = {}
    for check in checks:
        keys = {(lack.kind, lack.name) for lack in check.lacks}
        stopping = {(lack.kind, lack.name) for lack in check.lacks if lack.stops}
        wanted.update(keys)
        needs.update({(lack.kind, lack.name): lack.needs for lack in check.lacks})
        if len(stopping) == 1:
            alone.update(stopping)
    return [Rank(*key, needs[key], count, alone[key]) for key, count in wanted.most_common()]
