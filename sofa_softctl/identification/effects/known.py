"""Numbers that are known with an uncertainty: priors about starts, from text such as '5%'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effect import matches
from sofa_softctl.identification.parameter import Parameter, Prior


def uncertain(
    parameters: Sequence[Parameter], deviations: Mapping[str, float | str]
) -> tuple[Parameter, ...]:
    """Parameters that are known, but not exactly: each with a prior about its start.

    They widen the intervals of the others by as much as they are uncertain.

    Args:
        parameters: All parameters.
        deviations: Names, or patterns such as 'mass.*', to standard deviations, in the unit of
            each or as '5%': of the start, or 0.05 of a relative one, as a mass 5 % off.

    Raises:
        IdentificationError: A name is unknown, or a deviation is no positive number.
    """
    found = {one.name: one for one in parameters}
    for pattern, given in deviations.items():
        names = [name for name in found if matches(name, pattern)]
        if not names:
            raise IdentificationError(
                f"There is no parameter '{pattern}'. There are: {', '.join(found)}."
            )
        for name in names:
            one = found[name]
            found[name] = replace(one, prior=Prior(one.start, _deviation(one, given)))
    return tuple(found.values())


def _deviation(one: Parameter, given: float | str) -> float:
    """A deviation in the parameter's unit."""
    text = str(given).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise IdentificationError(
            f"The uncertainty of '{one.name}' is '{given}'. Expected a positive standard "
            f"deviation, as a number{f' in {one.unit}' if one.unit else ''} or as '5%'."
        )
    if not text.endswith("%"):
        return number
    relative = one.start == 0.0 and one.unit == "-"
    if one.start == 0.0 and not relative:
        raise IdentificationError(
            f"'{one.name}' starts at 0, of which '{given}' is 0. Give its uncertainty in "
            f"{one.unit or 'its unit'}."
        )
    return number / 100.0 * (1.0 if relative else abs(one.start))
