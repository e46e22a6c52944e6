"""What `check_component` finds in the step term of a force field that says it has one."""

import numpy as np
import pytest

from sofa_softctl.runtime import ForceField, Real, components
from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.testing import check_component, check_force_field
from sofa_softctl.testing.matrices import displacement, movable
from sofa_softctl.testing.step_term import check_step_term, find_step_term


class CubicSprings(ForceField):
    """f = -k |x|^2 x, with K = k |x|^2 + 2 k x x^T, all of -df/dx."""

    stiffness = Real(0.05, "Of the springs.", unit="force/length^3")
    term = None

    def x(self):
        return self.state.position.get()

    def blocks(self):
        x, k = self.x(), self.stiffness.get()
        return k * (
            (x**2).sum(axis=1)[:, None, None] * np.eye(3) + 2.0 * x[:, :, None] * x[:, None]
        )

    def add_force(self, force):
        x = self.x()
        force -= self.stiffness.get() * (x**2).sum(axis=1, keepdims=True) * x

    def add_product(self, out, v, factor):
        out += factor * np.einsum("nij,nj->ni", self.blocks(), v)

    def pairs(self):
        nodes = np.arange(self.state.count)
        return nodes, nodes

    def add_matrix(self, values, slots, factor):
        values[slots] += factor * self.blocks()

    def check_differentiable(self):
        pass

    def step_term(self):
        return (self.term or CubicTerm)(self)


class CubicTerm(StepTerm):
    """r = -h k |x|^2 x - h (h + beta) k (|x|^2 w + 2 x (x . w))."""

    stiffness_shape = (1,)

    def __init__(self, field):
        self.field = field

    def at(self, x, w, h, beta):
        square, along, s = (x**2).sum(axis=1), (x * w).sum(axis=1), h * (h + beta)
        outer = x[:, :, None] * x[:, None]
        turned = w[:, :, None] * x[:, None] + x[:, :, None] * w[:, None]
        self.by_k = -h * square[:, None] * x - s * (square[:, None] * w + 2.0 * along[:, None] * x)
        self.B = -h * (square[:, None, None] * np.eye(3) + 2.0 * outer) - 2.0 * s * (
            turned + along[:, None, None] * np.eye(3)
        )

    def add_by_positions(self, dx, out):
        out += self.field.stiffness.get() * np.einsum("nij,pnj->pni", self.B, dx)

    def add_transposed(self, y, out, by_stiffness):
        out += self.field.stiffness.get() * np.einsum("nij,ni->nj", self.B, y)
        by_stiffness[0] += np.vdot(self.by_k, y)

    def add_by_stiffness(self, change, out):
        out += change[0] * self.by_k


def springs(**members):
    """The springs with a term that has other members."""
    return type(
        "Springs",
        (CubicSprings,),
        {"__doc__": "Springs.", "term": type("Term", (CubicTerm,), members)},
    )


def forces_alone(self, x, w, h, beta):
    CubicTerm.at(self, x, 0.0 * w, h, beta)


def first_place(self, x, w, h, beta):
    if "B" not in vars(self):
        CubicTerm.at(self, x, w, h, beta)


def overwrites(self, dx, out):
    out[:] = 0.0
    CubicTerm.add_by_positions(self, dx, out)


def half_transposed(self, y, out, by_stiffness):
    CubicTerm.add_transposed(self, 0.5 * y, out, by_stiffness)


def no_stiffness(self, y, out, by_stiffness):
    CubicTerm.add_transposed(self, y, out, 0.0 * by_stiffness)


def changes_y(self, y, out, by_stiffness):
    CubicTerm.add_transposed(self, y, out, by_stiffness)
    y[:] = 0.0


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"at": forces_alone}, "dr/dx by add_by_positions: expected .* from central differences"),
        ({"at": first_place}, "dr/dx by add_by_positions: expected .* from central differences"),
        ({"add_by_positions": overwrites}, "add_by_positions, out = 1 before: expected"),
        ({"add_transposed": half_transposed}, "add_transposed, against add_by_positions: expect"),
        ({"add_transposed": no_stiffness}, "by_stiffness by add_transposed, against y . dr: expe"),
        ({"add_transposed": changes_y}, "add_transposed must not change y: expected"),
    ],
)
def test_what_is_wrong_with_a_step_term_is_found(members, message):
    check_component(springs())
    with pytest.raises(AssertionError, match=message):
        check_component(springs(**members))


@pytest.mark.parametrize(
    ("step_term", "message"),
    [
        (ForceField.step_term, "expected a StepTerm, got NotImplementedError"),
        (lambda self: None, "expected a StepTerm, got None"),
    ],
)
def test_a_field_with_derivatives_has_a_term(step_term, message):
    cls = type("Springs", (CubicSprings,), {"__doc__": "Springs.", "step_term": step_term})
    with pytest.raises(AssertionError, match=f"Springs.step_term, .*: {message}"):
        check_component(cls)


def test_the_corotational_term_passes_away_from_rest():
    """K is not all of -df/dx there, but the term is that of the step, with this K."""
    field = check_component(components.TetrahedronFEMForceField, at_rest=True)
    shape = (field.state.count, field.state.deriv_size)
    with movable(field.state) as move:
        move(displacement(shape, 1.0, seed=5))
        with pytest.raises(AssertionError, match="df/dx by add_product"):
            check_force_field(field, at_rest=True)
        check_step_term(field, find_step_term(field), scale=1.0, tolerance=1e-6)
