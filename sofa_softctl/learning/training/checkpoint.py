"""Checkpoints of a training: arrays and numbers, from which it resumes after a kill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.errors import PolicyError

FORMAT, VERSION = "softctl training", "1"
"""Identification in the metadata of a file."""


def checkpoint_of(policy: Path) -> Path:
    """Return the path of the checkpoint of a policy file's training."""
    return policy.with_suffix(".checkpoint.safetensors")


def save_checkpoint(path: Path, model: Any, about: dict[str, Any]) -> None:
    """Write weights, optimiser and random generators of a stable-baselines3 model."""
    import torch
    from safetensors.torch import save

    tensors = {f"policy.{name}": tensor for name, tensor in model.policy.state_dict().items()}
    for number, values in model.policy.optimizer.state_dict()["state"].items():
        for name, tensor in values.items():
            tensors[f"optimizer.{number}.{name}"] = torch.as_tensor(tensor)
    tensors["random.torch"] = torch.get_rng_state()
    _, keys, *position = np.random.get_state(legacy=True)  # noqa: NPY002 - of stable-baselines3
    tensors["random.numpy"] = torch.from_numpy(np.asarray(keys, np.int64))
    tensors = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
    values = {**about, "random": position}
    metadata = {"format": FORMAT, "version": VERSION, "about": json.dumps(values)}
    with replace_atomically(path, PolicyError) as name:
        name.write_bytes(save(tensors, metadata))


def read_about(path: Path) -> dict[str, Any]:
    """Return the `about` of `save_checkpoint`.

    Raises:
        PolicyError: The file is missing, damaged or not a checkpoint.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise PolicyError(f"There is no checkpoint '{path}' to go on from.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
        if metadata.get("format") != FORMAT or metadata.get("version") != VERSION:
            raise ValueError("it is no checkpoint of this version")
        about: dict[str, Any] = json.loads(metadata["about"])
        return about
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise PolicyError(
            f"'{path}' cannot be read as a checkpoint: it is cut short, damaged or another kind of "
            f"file ({error}). Begin again with --force."
        ) from error


def load_checkpoint(path: Path, model: Any) -> None:
    """Restore the state of a training in a new model of the same settings.

    Raises:
        PolicyError: The file does not fit the model.
    """
    import torch
    from safetensors.torch import load_file

    about, tensors = read_about(path), load_file(path)
    try:
        policy_tensors = {
            name.removeprefix("policy."): t for name, t in tensors.items() if "policy." in name
        }
        model.policy.load_state_dict(policy_tensors)
        optimizer = model.policy.optimizer.state_dict()
        optimizer["state"] = _optimizer_state(tensors)
        model.policy.optimizer.load_state_dict(optimizer)
        torch.set_rng_state(tensors["random.torch"])
        keys = tensors["random.numpy"].numpy().astype(np.uint32)
        position = about["random"]
        np.random.set_state(("MT19937", keys, *position))  # noqa: NPY002
    except (KeyError, RuntimeError, ValueError) as error:
        raise PolicyError(f"'{path}' is of another training: {error}") from error


def _optimizer_state(tensors: dict[str, Any]) -> dict[int, dict[str, Any]]:
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, number, key = name.split(".")
            state.setdefault(int(number), {})[key] = tensor
    return state
