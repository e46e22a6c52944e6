"""Efforts and displacements that are implausible by their course in a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sofa_softctl.scene.graph.nodes import body_size, section_of, stiffness_of
from sofa_softctl.scene.watch.drives import Drive
from sofa_softctl.units import symbol


def drive_faults(drive: Drive, tolerance: float) -> Iterator[str]:
    """Return sentences on what is imposed and does not come, or cannot be meant.

    Args:
        drive: An actuator after a run.
        tolerance: See `ConditionSettings.displacement_tolerance`.
    """
    if not drive.steps:
        return
    if not drive.kind.displacement:
        yield beyond_material(drive) or _swing_fault(drive)
        return
    end = float(drive.component.endTime.value)
    if 0.0 <= end < float(drive.root.time.value) and drive.set_steps == drive.steps:
        yield f"{drive.name} acts until its endTime={end:g} only, and is set later: leave that out."
        return
    swing = _swing_fault(drive)
    yield "" if swing else drive.shortfall(tolerance)  # what swings is never reached
    for limit, steps in drive.cut.items():
        value = float(drive.component.findData(limit).value)
        yield (
            f"{drive.name}: its value was cut at {limit}={value:.4g} in {steps} of "
            f"{drive.steps} steps."
        )
    yield (
        beyond_material(drive)
        or _swelling_fault(drive)
        or _faint_fault(drive)
        or _runaway_fault(drive)
        or swing
    )
    yield _suction_fault(drive)
    yield _loose_limit(drive)


def unused_drives(drives: Sequence[Drive], duration: float) -> str:
    """Return a sentence if all actuators of a scene get 0 in every step of a run, else ''.

    Args:
        drives: All of them, after the run.
        duration: The scene's DURATION [time]: one that is shorter may end before the controller
            has begun.
    """
    if any(drive.value_min or drive.value_max for drive in drives):
        return ""
    for drive in drives:
        dt = float(drive.root.dt.value)
        if drive.steps * dt < duration - 0.5 * dt:
            continue
        if drive.set_steps == drive.steps >= drive.settings.steps_min:
            return (
                f"No actuator got anything but 0: '{drive.component.getPathName()}' was set in "
                f"each of {drive.steps} steps, and to 0. Does another controller set it, too, or "
                "does a limit in the controller cut it?"
            )
    return ""


def shared_list(drives: Sequence[Drive]) -> str:
    """Return a sentence if actuators all get one list with a value for each of them, else ''."""
    lists = [np.ravel(drive.component.value.value) for drive in drives if drive.kind.displacement]
    indices = [drive.component.findData("valueIndex") for drive in drives]
    is_shared = 1 < len(lists) == len(drives) and all(
        len(x) == len(lists) and np.array_equal(x, lists[0]) for x in lists
    )
    if not is_shared or not np.ptp(lists[0]) or any(i is None or i.value for i in indices):
        return ""
    return (
        f"{', '.join(drive.component.getPathName() for drive in drives)} each got the list of "
        f"{len(lists)} values, of which each takes the first ({lists[0][0]:.4g}), as its "
        "valueIndex is 0. Give each a list of its own value."
    )


def beyond_material(drive: Drive, ratio: float = 1.0) -> str:
    """Return a sentence if the effort is more than its material bears, else ''.

    Args:
        drive: The actuator, also in a step that has not ended.
        ratio: Fraction of modulus, or modulus times cross-section, above which it is.
    """
    value = max((drive.value, drive.value_min, drive.value_max), key=abs)
    factor, bearable = drive.factor(), _bearable(drive)
    if not drive.is_effort or not factor or not abs(value) / factor > ratio * bearable > 0.0:
        return ""
    of_area = " times its cross-section" if drive.kind.quantity == "force" else ""
    return (
        f"{drive.name}: its {drive.kind.quantity} came to {drive.effort_text(value)}, and the "
        f"modulus of the material{of_area} is {bearable:.4g}: no body bears that. "
        f"{_ask_for_dt(drive)}Is it in another unit?"
    )


def _ask_for_dt(drive: Drive) -> str:
    """Return the question whether dt was forgotten, '' where efforts are taken as they are."""
    factor = drive.factor()
    if factor == 1.0:
        return ""
    return (
        f"SOFA's value is the {drive.kind.quantity} times {factor:g} with this integrator and dt: "
        "was it multiplied by it? "
    )


def _swelling_fault(drive: Drive) -> str:
    """Return a sentence if a pressure above the strength of the material inflates a chamber."""
    value, growth = drive.value_max, drive.travel / (drive.at_rest or np.inf)
    bearable, factor = drive.settings.swelling_ratio * stiffness_of(drive.component), drive.factor()
    if drive.kind.quantity != "pressure" or not drive.is_effort or not factor:
        return ""
    if not value / factor > bearable > 0.0 or growth < drive.settings.swelling_min:
        return ""
    return (
        f"{drive.name}: its pressure came to {drive.effort_text(value)}, where the modulus of the "
        f"material is {stiffness_of(drive.component):.4g}, and its volume grew by {growth:.0%}. "
        f"{_ask_for_dt(drive)}Is it in another unit?"
    )


def _faint_fault(drive: Drive) -> str:
    """Return a sentence if what it imposes at last is too small to be seen, else ''."""
    end = list(drive.recent)[-drive.settings.steps_at_end :]
    value = max(-drive.value_min, drive.value_max)
    is_steady = np.ptp(end) <= 1e-3 * np.abs(end).max()
    if 2 * drive.settings.steps_at_end > drive.steps or not (value > 0.0 and is_steady):
        return ""
    if not drive.is_effort:
        if value > drive.kind.faint_growth * drive.at_rest:
            return ""
        return (
            f"{drive.name}: its {drive.kind.displacement} of up to {value:.3g} "
            f"{symbol(drive.units, drive.kind.unit)} is {value / drive.at_rest:.1g} of the "
            f"{drive.kind.unit} at rest, which nobody sees. Is it in another unit, or a "
            f"{drive.kind.quantity}, for which valueType is '{drive.kind.quantity}'?"
        )
    modulus, factor = stiffness_of(drive.component), drive.factor()
    if drive.kind.quantity == "force":
        length = body_size(drive.component.getContext())
        visible = modulus * section_of(drive.component) ** 1.5 / (3.0 * length)
        is_moved = drive.travel > 1e-3 * drive.at_rest
    else:
        visible, is_moved = modulus, abs(drive.travel) > 0.01 * drive.at_rest
    if not factor or is_moved or not value / factor < drive.kind.faint_ratio * visible:
        return ""
    return (
        f"{drive.name}: its {drive.kind.quantity} of up to {drive.effort_text(value)} does nothing "
        f"that one sees in a material with a modulus of {modulus:.4g}. Is it in another unit?"
    )


def _runaway_fault(drive: Drive) -> str:
    """Return a sentence if its value has risen all the time, and far, else ''."""
    end = list(drive.recent)[-drive.settings.steps_at_end - 1 :]
    if drive.steps < drive.settings.steps_min or not np.isfinite(end).all():
        return ""
    mean = abs(end[-1]) / drive.steps
    still = (abs(end[-1]) - abs(end[0])) / (len(end) - 1)
    is_rising = drive.rising_steps >= drive.settings.rising_fraction_min * (drive.steps - 1)
    imposed = 0.0 if drive.is_effort else max(-end[-1], 0.0)  # slack, so that nothing grows
    growth = max(abs(drive.travel), imposed)
    if not (is_rising and still > 0.5 * mean) or growth < drive.kind.growth_max * drive.at_rest:
        return ""
    value = drive.effort_text(end[-1]) if drive.is_effort else f"{end[-1]:.4g}"
    verb = "rose" if end[-1] > 0.0 else "fell"
    return (
        f"{drive.name}: its value {verb} in {drive.rising_steps} of {drive.steps} steps, to "
        f"{value}, and still does, with a {drive.kind.displacement} of "
        f"{drive.travel:.3g} where {drive.at_rest:.4g} are there at rest. If a feedback "
        "computes it: is its sign right, and does it read a position that changes?"
    )


def _swing_fault(drive: Drive) -> str:
    """Return a sentence if its value swings to and fro every few steps, else ''."""
    x = np.array(drive.recent)
    largest = np.abs(x).max(initial=0.0)
    is_full = len(x) == drive.recent.maxlen and np.isfinite(x).all()
    if not is_full or np.ptp(x) <= drive.settings.swing_min * largest:
        return ""
    if len(np.unique(np.round(x / largest, 3))) < drive.settings.levels_min:
        return ""
    is_relaxed = drive.is_timed is False and 4 * np.count_nonzero(x == 0.0) >= len(x)
    lags = range(1, drive.settings.period_max * (1 + is_relaxed) + 1)
    correlations = np.array([_correlation(x[:-lag], x[lag:]) for lag in lags])
    quarter = int(np.argmax(correlations < 0.0))  # a quarter of a period
    period = quarter + 1 + int(np.argmax(correlations[quarter:]))
    frequency = f"every {period} steps"
    if not correlations.min() < 0.0 or correlations[period - 1] < drive.settings.repetition_min:
        crossings = np.abs(np.diff(x)).sum() / np.ptp(x)  # from one end to the other
        if not drive.is_fed or crossings < 2.0 * len(x) / drive.settings.period_max:
            return ""
        frequency = f"{crossings:.0f} times in {len(x)} steps"
    factor = drive.factor() if drive.is_effort else 1.0
    times = (
        f" SOFA's value is the {drive.kind.quantity} times {factor:g} with this integrator and "
        "dt: without it a feedback is that much stronger."
        if factor not in (0.0, 1.0)
        else ""
    )
    return (
        f"{drive.name}: its value swings between {x.min():.4g} and {x.max():.4g}, {frequency} "
        f"at the end. A feedback that is too strong does so, or a motion that dt is too "
        f"large for.{times}"
    )


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return the correlation of two series, 0 where one is constant."""
    return float(np.corrcoef(x, y)[0, 1]) if np.ptp(x) > 0.0 and np.ptp(y) > 0.0 else 0.0


def _loose_limit(drive: Drive) -> str:
    """Return a sentence if the largest effort of a component is beyond its material, else ''."""
    name, limit = drive.kind.limits[1], drive.component.findData(drive.kind.limits[1])
    factor, bearable = drive.factor(), _bearable(drive)
    effort = float(limit.value) / factor if factor and limit.isSet() else 0.0
    if not drive.settings.unlimited_ratio * bearable > effort > bearable:
        return ""
    times = f", which is SOFA's multiplier, {factor:g} times it," if factor != 1.0 else ""
    return (
        f"{drive.name}: {name}={float(limit.value):g}{times} allows a {drive.kind.quantity} of "
        f"{effort:.4g}, more than its material bears ({bearable:.4g}): it limits nothing."
    )


def _bearable(drive: Drive) -> float:
    """Return Young's modulus, or for a force that times the cross-section; 0 without a modulus."""
    area = section_of(drive.component) if drive.kind.quantity == "force" else 1.0
    return stiffness_of(drive.component) * area


def _suction_fault(drive: Drive) -> str:
    """Return a sentence if a pump has only sucked, else ''."""
    limit_name = drive.kind.limits[0]
    limit = drive.component.findData(limit_name)
    is_meant = limit.isSet() and float(limit.value) < 0.0
    is_pump = drive.kind.quantity == "pressure" and drive.is_effort
    if not is_pump or is_meant or drive.value_max or not drive.travel < 0.0 > drive.value_min:
        return ""
    return (
        f"{drive.name}: its pressure was never positive, and down to "
        f"{drive.effort_text(drive.value_min)}, so that it sucks the chamber empty. Is the sign "
        f"right? A negative {limit_name} says that suction is meant."
    )
