"""Proximal policy optimisation of stable-baselines3, an iteration at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecNormalize

from sofa_softctl.learning.policy.policy import Policy
from sofa_softctl.learning.task.quantities import Interface
from sofa_softctl.learning.training.settings import Settings
from sofa_softctl.learning.training.vector import VectorAdapter


class IteratedPPO(PPO):  # type: ignore[misc]
    """PPO whose iterations are called one by one."""

    def begin(self, steps: int, begun: int) -> None:
        """Prepare a training of `steps` decisions, of which `begun` are done."""
        _, self._callback = self._setup_learn(steps - begun, None, begun == 0)
        self._total_timesteps, self.num_timesteps = steps, begun

    def iterate(self) -> None:
        """Collect the decisions of an iteration, and learn from them."""
        assert self.env is not None  # given to the constructor
        self.collect_rollouts(self.env, self._callback, self.rollout_buffer, self.n_steps)
        self._update_current_progress_remaining(self.num_timesteps, self._total_timesteps)
        self.train()


class ScaledRewards(VecNormalize):  # type: ignore[misc]
    """Rewards divided by the standard deviation of discounted returns."""

    def __init__(self, adapter: VectorAdapter, discount: float) -> None:
        super().__init__(adapter, norm_obs=False, norm_reward=True, gamma=discount)

    def scale(self) -> list[float]:
        """Return the statistics of returns, for `set_scale`."""
        statistics = self.ret_rms
        return [float(statistics.mean), float(statistics.var), float(statistics.count)]

    def set_scale(self, values: list[float]) -> None:
        """Restore the statistics of `scale`."""
        self.ret_rms = RunningMeanStd(shape=())
        mean, variance, self.ret_rms.count = values
        self.ret_rms.mean, self.ret_rms.var = np.array(mean), np.array(variance)


def make_model(
    adapter: VectorAdapter, settings: Settings, begun: int
) -> tuple[IteratedPPO, ScaledRewards]:
    """Return a new model, ready for its next iteration."""
    torch.set_num_threads(1)  # these networks are small: more threads wait for each other
    wrapped = ScaledRewards(adapter, settings.discount)
    layers = list(settings.layers)
    model = IteratedPPO(
        "MlpPolicy",
        wrapped,
        learning_rate=lambda left: settings.learning_rate * left,
        n_steps=settings.iteration // settings.envs,
        batch_size=settings.minibatch,
        n_epochs=settings.epochs,
        gamma=settings.discount,
        gae_lambda=settings.trace,
        clip_range=settings.clip,
        ent_coef=settings.entropy,
        policy_kwargs={
            "net_arch": {"pi": layers, "vf": layers},
            "activation_fn": torch.nn.Tanh,
            "log_std_init": math.log(settings.spread),
        },
        seed=settings.seed,
        device="cpu",
        verbose=0,
    )
    model.begin(settings.steps, begun)
    return model, wrapped


def policy_of(model: IteratedPPO, interface: Interface, about: dict[str, str]) -> Policy:
    """Return the mean of a model's actions as a policy."""
    network: Any = model.policy
    hidden = [layer for layer in network.mlp_extractor.policy_net if hasattr(layer, "weight")]
    layers = [*hidden, network.action_net]
    weights = tuple(layer.weight.detach().numpy().astype(float) for layer in layers)
    biases = tuple(layer.bias.detach().numpy().astype(float) for layer in layers)
    return Policy(interface, weights, biases, about)
