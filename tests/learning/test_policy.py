"""Policies: arrays in files, which fit one interface and are checked when they are read."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from sofa_softctl.errors import PolicyError
from sofa_softctl.learning import Interface, Policy, Quantities
from sofa_softctl.learning.task.spaces import QuantityBox


def interface(**changes):
    seen = Quantities(("a", "b"), ("mm", ""), np.array([0.0, -1.0]), np.array([10.0, 1.0]))
    return Interface(**{"observation": seen, "action": driven_from(), "interval": 0.1, **changes})


def driven_from(idle=2.0):
    """A cable of 0 to 4 mN."""
    return Quantities(("/cable",), ("mN",), np.array([0.0]), np.array([4.0]), np.array([idle]))


def policy(seed=0, **about):
    random = np.random.default_rng(seed)
    weights = (random.standard_normal((3, 2)), random.standard_normal((1, 3)))
    weights = tuple(w.astype(np.float32).astype(float) for w in weights)
    biases = (np.array([0.5, -0.25, 0.0]), np.array([0.125]))
    return Policy(interface(), weights, biases, about)


def test_it_is_the_network_that_it_holds():
    one = policy()
    x = np.array([7.5, 0.5])
    share = np.array([0.5, 0.5])
    hidden = np.tanh(one.weights[0] @ share + one.biases[0])
    expected = np.clip(one.weights[1] @ hidden + one.biases[1], -1.0, 1.0)
    assert one(x) == pytest.approx(2.0 + 2.0 * expected)
    many = one(np.tile(x, (4, 1)))
    assert many.shape == (4, 1) and many == pytest.approx(np.tile(one(x), (4, 1)))


def test_answers_keep_to_the_bounds_whatever_is_seen():
    seen = np.random.default_rng(0).uniform(-1e6, 1e6, (100, 2))
    found = policy()(seen)
    assert (found >= 0.0).all() and (found <= 4.0).all()


def test_a_file_gives_back_the_same_policy(tmp_path):
    one = policy(environment="claw")
    one.save(tmp_path / "one.safetensors")
    again = Policy.load(tmp_path / "one.safetensors")
    assert again.about == {"environment": "claw"}
    assert again.interface.digest == one.interface.digest
    seen = np.array([3.0, 0.25])
    assert again(seen).tobytes() == one(seen).tobytes()


def test_files_that_are_none_are_named(tmp_path):
    path = tmp_path / "p.safetensors"
    with pytest.raises(PolicyError, match="There is no policy file"):
        Policy.load(path)
    path.write_bytes(b"\x80\x04cposix\nsystem\n")
    with pytest.raises(PolicyError, match="cannot be read as a policy"):
        Policy.load(path)
    save_file({"a": np.zeros(2)}, path)
    with pytest.raises(PolicyError, match="no policy of softctl train"):
        Policy.load(path)
    with pytest.raises(PolicyError, match=r"in \.safetensors"):
        policy().save(tmp_path / "p.pkl")


def changed(tmp_path, change):
    from safetensors import safe_open

    path = tmp_path / "p.safetensors"
    policy().save(path)
    with safe_open(path, framework="numpy") as file:
        metadata = dict(file.metadata())
        arrays = {name: file.get_tensor(name) for name in file.keys()}
    change(metadata, arrays)
    save_file(arrays, path, metadata)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, a: m.update(version="9"), "version 9"),
        (lambda m, a: m.update(digest="0"), "is damaged: its digest is another one"),
        (lambda m, a: m.update(interface="{"), "is damaged"),
        (lambda m, a: a.pop("layer_1.bias"), "is damaged"),
        (
            lambda m, a: a["layer_0.bias"].__setitem__(0, 9.0),
            "weights are others than were written",
        ),
        (lambda m, a: a.update(other=a["layer_0.bias"]), "is damaged"),
        (lambda m, a: a.update({"layer_0.weight": np.zeros((3, 5), "f4")}), r"needs layers"),
        (lambda m, a: a["layer_0.weight"].fill(np.nan), "must be finite"),
    ],
)
def test_damage_is_named(tmp_path, change, message):
    with pytest.raises(PolicyError, match=message):
        Policy.load(changed(tmp_path, change))


@pytest.mark.parametrize("size", [0, 5, 300, -1])
def test_a_file_that_is_cut_short_is_named(tmp_path, size):
    path = tmp_path / "p.safetensors"
    policy().save(path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(PolicyError, match="cut short, damaged or another.*train --resume writes"):
        Policy.load(path)


def test_what_it_does_not_fit_is_said():
    one = policy()
    one.check_fits(interface(), "the same")
    seen = one.interface.observation
    cases = {
        "observation a, b (2), here a (1)": interface(
            observation=Quantities(("a",), ("mm",), seen.low[:1], seen.high[:1])
        ),
        "units of its observation": interface(
            observation=Quantities(seen.names, ("m", ""), seen.low, seen.high)
        ),
        "'a' from 0 to 10, here from 0 to 11": interface(
            observation=Quantities(seen.names, seen.units, seen.low, seen.high + [1.0, 0.0])
        ),
        "'/cable' that idles at 2, here at 0": interface(action=driven_from(idle=0.0)),
        "a decision each 0.1, here each 0.2": interface(interval=0.2),
    }
    for message, other in cases.items():
        with pytest.raises(PolicyError, match="is not for the scene: it has") as caught:
            one.check_fits(other, "the scene")
        assert message in str(caught.value)
        assert other.digest != one.interface.digest


def test_an_interface_survives_json():
    one = interface()
    again = Interface.of_dict(json.loads(json.dumps(one.to_dict())))
    assert again.digest == one.digest and again.differences(one) == []
    one = interface(action=driven_from(idle=0.0))
    again = Interface.of_dict(json.loads(json.dumps(one.to_dict())))
    assert again.digest == one.digest and again.differences(one) == []


def test_shares_are_linear_below_and_above_the_idle_value():
    share = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])[:, None]
    values = {1.0: [0.0, 0.5, 1.0, 2.5, 4.0], 0.0: [0, 0, 0, 2, 4], 4.0: [0, 2, 4, 4, 4]}
    for idle, expected in values.items():
        driven = driven_from(idle)
        assert driven.at(share)[:, 0].tolist() == expected
        assert driven.at(driven.share(driven.at(share))) == pytest.approx(driven.at(share))
        space = QuantityBox(driven)
        assert space.in_units(share) == pytest.approx(driven.at(share))
        assert driven.is_outside(space.in_units(np.array([-1.01, 1.01])[:, None])).all()
