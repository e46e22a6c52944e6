"""Estimates with one more parameter: an effect that the model leaves out, or a fixed parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.effects.selection import effects_of
from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.joint_search import JointExperiment
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.model.experiment import Effect, Experiment
from sofa_softctl.identification.model.parameter import Parameter


@dataclass(frozen=True, eq=False)
class ExtendedEstimate:
    """Estimate as the start of an estimate with a further parameter."""

    misfit: StackedResidual
    """Residuals, as functions of the parameters and the further one."""
    fits: tuple[Fit, ...]
    """Fit of each experiment, at `rho`."""
    rho: np.ndarray
    """Estimate, and the value that the model assumes for the further parameter, shape (n,)."""
    free: np.ndarray
    """Mask of the parameters that were fitted, shape (n,)."""
    place: int
    """Index of the further parameter."""
    added: bool
    """True if the further parameter is an effect, False if the caller had fixed it."""

    @property
    def parameter(self) -> Parameter:
        """The further parameter."""
        return self.misfit.parameters[self.place]


def with_effect(
    estimate: Estimate, experiments: Sequence[Experiment], name: str
) -> ExtendedEstimate:
    """Extend the estimate by an effect, whose size is common to all recordings.

    Args:
        estimate: Estimate to extend.
        experiments: Experiments as they were given to the estimate.
        name: Name of the effect.

    Raises:
        IdentificationError: The effect cannot be combined with unknown inputs.
        SimulationError: The model cannot be simulated.
    """
    effects = [
        next((e for e in effects_of(experiment) if e.name == name), None)
        for experiment in experiments
    ]
    rho = np.append(estimate.rho, 0.0)
    extended = list[Experiment]()
    for original, fitted, effect in zip(
        experiments, as_fitted(estimate, experiments), effects, strict=True
    ):
        extended.append(
            fitted if effect is None else _extend_experiment(original, fitted, effect, estimate)
        )
    parameter = next(effect.parameter for effect in effects if effect is not None)
    misfit = StackedResidual(
        extended, (*estimate.parameters, parameter), deviations=noise_of(estimate)
    )
    fits = tuple(
        misfit.fit(k, rho) if effect is not None else _append_zero_sensitivity(fit)
        for k, (effect, fit) in enumerate(zip(effects, estimate.fits, strict=True))
    )
    return ExtendedEstimate(
        misfit, fits, rho, np.append(estimate.free, False), len(estimate.rho), True
    )


def with_fixed(
    estimate: Estimate, experiments: Sequence[Experiment], name: str
) -> ExtendedEstimate:
    """Extend the estimate by a parameter that the caller had fixed."""
    misfit = StackedResidual(
        as_fitted(estimate, experiments), estimate.parameters, deviations=noise_of(estimate)
    )
    place = estimate.names.index(name)
    return ExtendedEstimate(misfit, estimate.fits, estimate.rho, estimate.free, place, False)


def noise_of(estimate: Estimate) -> dict[str, float]:
    """Noise that weights the data of an estimate, by channel."""
    return {channel.name: channel.deviation for fit in estimate.fits for channel in fit.channels}


def _extend_experiment(
    original: Experiment, fitted: Experiment, effect: Effect, estimate: Estimate
) -> Experiment:
    """Return an experiment with an effect, and with the unknown inputs of the fitted one."""
    with_effect_added = effect.add_to(original)
    if not fitted.unknowns:
        return with_effect_added
    with_unknowns = with_effect_added.with_unknown_inputs()
    if with_unknowns is None:
        raise IdentificationError(
            f"{effect.name} cannot be combined with unknown inputs. --exact-inputs tests it."
        )
    if (
        isinstance(with_unknowns, JointExperiment)
        and isinstance(fitted, JointExperiment)
        and fitted.current_state is not None
    ):
        values = {**estimate.values(), effect.name: 0.0}
        rho = np.array([values[parameter.name] for parameter in with_unknowns.parameters])
        try:
            with_unknowns.set_state(with_unknowns.with_parameters(fitted.current_state, rho))
        except SimulationError:
            pass  # it begins with the recorded inputs
    return with_unknowns


def _append_zero_sensitivity(fit: Fit) -> Fit:
    """Return the fit of an experiment that does not depend on the effect."""
    zeros = np.zeros((*fit.sensitivities.shape[:2], 1))
    return replace(fit, sensitivities=np.concatenate([fit.sensitivities, zeros], axis=2))
