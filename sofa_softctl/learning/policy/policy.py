"""Policies: small networks, stored as arrays."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.errors import PolicyError
from sofa_softctl.learning.task.quantities import Interface

FORMAT, VERSION = "softctl policy", "1"
"""Identification in the metadata of a file."""


@dataclass(frozen=True, eq=False)
class Policy:
    """Network with hyperbolic tangents from observations to actions.

    It works on fractions: observations and actions run from -1 to 1 between their bounds, and
    actions are clipped.
    """

    interface: Interface
    """Observations and actions of the policy."""
    weights: tuple[np.ndarray, ...]
    """Weights of each layer, shape (out, in)."""
    biases: tuple[np.ndarray, ...]
    """Biases of each layer, shape (out,)."""
    about: dict[str, str] = field(default_factory=dict)
    """Facts of the training, such as the environment's name and the number of steps."""

    def __post_init__(self) -> None:
        sizes = [len(self.interface.observation), *map(len, self.biases)]
        shapes = [weight.shape for weight in self.weights]
        expected = list(zip(sizes[1:], sizes, strict=False))
        if shapes != expected or sizes[-1] != len(self.interface.action):
            raise PolicyError(
                f"A policy from {sizes[0]} observations to {len(self.interface.action)} actions "
                f"needs layers that lead from one to the other. Got weights {shapes}, biases "
                f"{[bias.shape for bias in self.biases]}"
            )
        if not all(np.isfinite(array).all() for array in (*self.weights, *self.biases)):
            raise PolicyError("The weights of a policy must be finite.")

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """Return actions in units, shape (..., n_a), for observations in units, (..., n_o)."""
        quantities = self.interface.observation
        fraction = quantities.share(np.clip(observation, quantities.low, quantities.high))
        return self.interface.action.at(self.shares(fraction))

    def shares(self, observation: np.ndarray) -> np.ndarray:
        """Return actions from -1 to 1 for observations from -1 to 1."""
        values = np.asarray(observation, dtype=float)
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = values @ weight.T + bias
            if k < len(self.weights) - 1:
                values = np.tanh(values)
        return np.clip(values, -1.0, 1.0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .safetensors file, which appears when complete.

        Raises:
            PolicyError: The name has another suffix, or the file cannot be written.
        """
        path = Path(path)
        check_suffix(path)
        from safetensors.numpy import save

        arrays = {}
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays[f"layer_{k}.weight"] = np.ascontiguousarray(weight, np.float32)
            arrays[f"layer_{k}.bias"] = np.ascontiguousarray(bias, np.float32)
        metadata = {
            "format": FORMAT,
            "version": VERSION,
            "interface": json.dumps(self.interface.to_dict()),
            "digest": self.interface.digest,
            "checksum": _checksum(arrays),
            "about": json.dumps(self.about),
        }
        with replace_atomically(path, PolicyError) as name:
            name.write_bytes(save(arrays, metadata))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Policy:
        """Read a file of `save`. Nothing in it is executed.

        Raises:
            PolicyError: The file is missing, damaged or not a policy.
        """
        from safetensors import SafetensorError, safe_open

        path = Path(path)
        if not path.is_file():
            raise PolicyError(f"There is no policy file '{path}'.")
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata() or {}
                arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}
        except (SafetensorError, OSError) as error:
            raise PolicyError(
                f"'{path}' cannot be read as a policy: it is cut short, damaged or another kind of "
                f"file ({error}). softctl train --resume writes it again from its checkpoint."
            ) from error
        if metadata.get("format") != FORMAT:
            raise PolicyError(f"'{path}' holds arrays, but no policy of softctl train.")
        if metadata.get("version") != VERSION:
            raise PolicyError(
                f"'{path}' has version {metadata.get('version')}; this package reads {VERSION}."
            )
        try:
            interface = Interface.of_dict(json.loads(metadata["interface"]))
            layers = range(len(arrays) // 2)
            weights, biases = (
                tuple(arrays[f"layer_{k}.{kind}"].astype(float) for k in layers)
                for kind in ("weight", "bias")
            )
            about = {str(k): str(v) for k, v in json.loads(metadata["about"]).items()}
            if metadata["digest"] != interface.digest:
                raise ValueError("its digest is another one")
            policy = Policy(interface, weights, biases, about)
            if metadata["checksum"] != _checksum(arrays):
                raise ValueError("its weights are others than were written")
            return policy
        except KeyError as error:
            raise PolicyError(f"'{path}' is damaged: it has no {error}.") from error
        except (TypeError, ValueError) as error:
            raise PolicyError(f"'{path}' is damaged: {error}.") from error

    def check_fits(self, interface: Interface, target: str) -> None:
        """Raise PolicyError if the policy is for another interface than a target's."""
        if differences := self.interface.differences(interface):
            raise PolicyError(
                f"The policy is not for {target}: it has {'; '.join(differences)}. Train one for "
                "it, or give the scene the parameters with which this one was trained."
            )


def _checksum(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of arrays with their names, types and shapes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def check_suffix(path: Path) -> None:
    """Raise PolicyError for a file name without the suffix of policies."""
    if path.suffix != ".safetensors":
        raise PolicyError(f"A policy needs a name in .safetensors, got '{path}'.")
