"""Cables that push in a run, which real ones cannot: said once, at its end."""

from __future__ import annotations

from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.channels import nodes_of
from sofa_softctl.scene.constraints.system import effort_factor
from sofa_softctl.units import Units, symbol

FORCE_RATIO_MIN = 1e-3
"""Least pushing force that counts, relative to the largest force of the cable in the run [-]."""


class PushingCables:
    """Watches the cables of a scene that no inverse controller drives, which judges its own.

    One whose minForce is negative is a rod on purpose.
    """

    def __init__(self, root: Any) -> None:
        entries = [entry for node in nodes_of(root) for entry in node.objects]
        driven = [each for one in entries for each in getattr(_driven(one), "components", ())]
        self._cables: list[tuple[Any, Any, list[tuple[float, float]]]] = [
            (entry, entry.findData("force"), [])
            for entry in entries
            if entry.getClassName() == "CableConstraint" and entry not in driven
            if not (entry.minForce.isSet() and entry.minForce.value < 0.0)
        ]
        self.root = root

    def look(self, time: float) -> None:
        """Keep the multipliers of a step that ends at a time."""
        for _, force, steps in self._cables:
            steps.append((float(force.value), time))

    def warnings(self, units: Units | None) -> list[str]:
        """A sentence for each cable that pushed."""
        found = []
        for cable, _, steps in self._cables:
            floor = FORCE_RATIO_MIN * max((abs(force) for force, _ in steps), default=0.0)
            pushing = [step for step in steps if step[0] < -floor]
            if not pushing:
                continue
            multiplier, time = min(pushing)
            try:
                factor = effort_factor(self.root, cable)
            except SceneError:
                continue
            found.append(
                f"{cable.getPathName()} pushed in {len(pushing)} of {len(steps)} steps, with up to "
                f"{-multiplier / factor:.3g} {symbol(units, 'force')} at t = {time:.4g}, which a "
                "cable cannot. Give it minForce=0: it then goes slack; or a negative one for "
                "a rod."
            )
        return found


def _driven(entry: Any) -> Any:
    """Actuators of an inverse controller; SOFA would look for a Data of that name."""
    return getattr(entry, "__dict__", {}).get("driven")
