"""Files that hold the mass of a body: a first line that is skipped, then words and numbers."""

from __future__ import annotations

from dataclasses import replace

from sofa_softctl.runtime.components.mass.rigid_mass import RigidMass

_NUMBERS = {
    "vertexMass": 1,
    "volm": 1,
    "inrt": 9,
    "cntr": 3,
    "center": 3,
    "frme": 4,
    "grav": 3,
    "visc": 1,
    "stck": 1,
    "step": 1,
    "prec": 1,
}
"""How many numbers follow a word; of the later ones nothing is taken, as in SOFA."""


def read_rigid_mass(path: str, given: RigidMass) -> tuple[RigidMass, bool]:
    """Mass, volume and inertia of a file, and whether it names a mass.

    Args:
        path: The file; lines that begin with another word are skipped.
        given: What holds where the file says nothing.

    Raises:
        OSError: it cannot be opened.
        ValueError: numbers are missing, by its message.
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()[1:]
    values: dict[str, tuple[float, ...]] = {}
    for number, line in enumerate(lines, 2):
        words = line.split()
        if not words or words[0] not in _NUMBERS:
            continue
        word, count = words[0], _NUMBERS[words[0]]
        try:
            numbers = tuple(float(entry) for entry in words[1 : 1 + count])
        except ValueError:
            numbers = ()
        if len(numbers) < count:
            raise ValueError(
                f"line {number} of {path}: expected '{word}' and {count} numbers, got "
                f"'{line.strip()[:60]}'."
            )
        values[word] = numbers
    body = replace(
        given,
        mass=values.get("vertexMass", (given.mass,))[0],
        volume=values.get("volm", (given.volume,))[0],
        inertia=values.get("inrt", given.inertia),
    )
    return body, "vertexMass" in values
