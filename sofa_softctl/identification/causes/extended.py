"""Estimates with one more parameter: an effect that the model leaves out, or a fixed parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.effects.selection import effects_of
from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.joint_search import Lifted
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.model.effect import Effect
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter


@dataclass(frozen=True, eq=False)
class Extended:
    """An estimate as the start of one with another parameter."""

    misfit: StackedResidual
    """Residuals, as functions of the parameters and the other one."""
    fits: tuple[Fit, ...]
    """Of each experiment, at `rho`."""
    rho: np.ndarray
    """The estimate, and the value that the model assumes for the other one, shape (n,)."""
    free: np.ndarray
    """Mask of the parameters that were fitted, shape (n,)."""
    place: int
    """Index of the other parameter."""
    added: bool
    """Whether that is an effect, the last parameter; otherwise the caller had fixed it."""

    @property
    def parameter(self) -> Parameter:
        """The other parameter."""
        return self.misfit.parameters[self.place]


def effect_names(estimate: Estimate, experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """Names of the effects of all experiments that are not switched on."""
    names = [effect.name for one in experiments for effect in effects_of(one)]
    return tuple(name for name in dict.fromkeys(names) if name not in estimate.names)


def with_effect(estimate: Estimate, experiments: Sequence[Experiment], name: str) -> Extended:
    """The estimate with an effect; recordings share its size.

    Args:
        estimate: Where to begin.
        experiments: Those of the estimate, as they were given.
        name: Name of the effect.

    Raises:
        IdentificationError: It cannot be combined with unknown inputs.
        SimulationError: The model cannot be simulated.
    """
    effects = [next((e for e in effects_of(one) if e.name == name), None) for one in experiments]
    rho = np.append(estimate.rho, 0.0)
    extended = list[Experiment]()
    for given, fitted, effect in zip(
        experiments, as_fitted(estimate, experiments), effects, strict=True
    ):
        extended.append(fitted if effect is None else _extended(given, fitted, effect, estimate))
    parameter = next(effect.parameter for effect in effects if effect is not None)
    misfit = StackedResidual(
        extended, (*estimate.parameters, parameter), deviations=noise_of(estimate)
    )
    fits = tuple(
        misfit.fit(k, rho) if effect is not None else _padded(fit)
        for k, (effect, fit) in enumerate(zip(effects, estimate.fits, strict=True))
    )
    return Extended(misfit, fits, rho, np.append(estimate.free, False), len(estimate.rho), True)


def with_fixed(estimate: Estimate, experiments: Sequence[Experiment], name: str) -> Extended:
    """The estimate with a parameter that the caller had fixed."""
    misfit = StackedResidual(
        as_fitted(estimate, experiments), estimate.parameters, deviations=noise_of(estimate)
    )
    place = estimate.names.index(name)
    return Extended(misfit, estimate.fits, estimate.rho, estimate.free, place, False)


def noise_of(estimate: Estimate) -> dict[str, float]:
    """Noise that weights the data of an estimate, by channel."""
    return {one.name: one.deviation for fit in estimate.fits for one in fit.channels}


def _extended(
    given: Experiment, fitted: Experiment, effect: Effect, estimate: Estimate
) -> Experiment:
    """An experiment with an effect, and with the unknown inputs of the fitted one."""
    found = effect.of(given)
    if not fitted.unknowns:
        return found
    unknown = found.with_unknown_inputs()
    if unknown is None:
        raise IdentificationError(
            f"{effect.name} cannot be combined with unknown inputs. --exact-inputs tests it."
        )
    if isinstance(unknown, Lifted) and isinstance(fitted, Lifted) and fitted.kept is not None:
        values = {**estimate.values(), effect.name: 0.0}
        rho = np.array([values[one.name] for one in unknown.parameters])
        try:
            unknown.keep(unknown.resumed(fitted.kept, rho))
        except SimulationError:
            pass  # it begins with the recorded inputs
    return unknown


def _padded(fit: Fit) -> Fit:
    """The fit of an experiment that does not depend on the effect."""
    none = np.zeros((*fit.sensitivities.shape[:2], 1))
    return replace(fit, sensitivities=np.concatenate([fit.sensitivities, none], axis=2))
