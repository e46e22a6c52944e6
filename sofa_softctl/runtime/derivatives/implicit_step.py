"""Time step of a driven robot as in its integrator, for given tensions and pressures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.runtime.behavior.mechanics import Contribution
from sofa_softctl.runtime.behavior.roles import Cable, Cavity
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.derivatives.contacts import Contacts
from sofa_softctl.runtime.derivatives.drives import StepConstraints
from sofa_softctl.runtime.derivatives.multipliers import multipliers
from sofa_softctl.runtime.kernels.contact.rows import share_in_contact
from sofa_softctl.runtime.simulation.simulation import loop_of


@dataclass(frozen=True, eq=False)
class StepState:
    """A step: its start, its drives and its end."""

    h: float
    """Length of the step [time]."""
    x: np.ndarray
    """Positions at the start [length], shape (n, 3)."""
    v: np.ndarray
    """Velocities at the start [length/time], shape (n, 3)."""
    w: np.ndarray
    """Velocities at the end [length/time], shape (n, 3); the positions are x + h w."""
    lam: np.ndarray
    """Multiplier of each drive and contact, h times tension, pressure or force, (k + c,)."""
    held: np.ndarray
    """True for rows with imposed displacement, cables and contacts only if taut, (k + c,)."""
    slip: np.ndarray
    """delta of each row minus the imposed one; for tangents the slip of contacts, (k + c,)."""
    closing: PreContactSlip | None = None
    """Slip of the free motion before gaps close, or None without friction."""


class ImplicitStep:
    """Linearly implicit Euler with drives: A(x) w = M v + h f(x) + H(x)^T lam, x' = x + h w.

    A = (1 + h alpha) M + h (h + beta) K(x), K SOFA's tangent without derivatives of rotations;
    alpha and beta are the Rayleigh coefficients. This is the step of `EulerImplicitSolver` and its
    correction under `FreeMotionAnimationLoop` with both right-hand sides added. Cables and cavities
    are driven by tension or pressure, lam = h T, or by displacement: delta + h H w is the imposed
    value at the end of the step, delta = L0 - L of a cable, V - V0 of a cavity. H is taken at the
    start of the step, as in SOFA. Cables that are not driven are slack, cavities have no pressure,
    scripts are not run, and limits do not count: drives are applied as given. The scene's pipeline
    detects contacts at the start of the step, with friction, see `multipliers`.

    With `stiffness` the step is also linearised in the directions of the cables: A has
    h (h + beta) T d2L/dx2 of each cable, T its tension in this step.

    It changes the positions in the scene: use a copy of a scene that is to run.

    Args:
        root: Root of an initialised scene of the embedded runtime.
        driven: Cables and cavities.
        imposed: True for drives by displacement; by default none.
        stiffness: Force fields of the scene that add the stiffness of each cable to the matrix,
            with the attribute `tension`, such as `LineStiffness`; without them the step takes the
            directions at its start.

    Raises:
        ValueError: `stiffness` is given, and not only cables are driven, by tension.
        SceneError: The scene has something whose derivative is not known (see `check_step`), or an
            iterative linear solver.
    """

    def __init__(
        self,
        root: Node,
        driven: Sequence[Cable | Cavity] = (),
        imposed: Sequence[bool] | None = None,
        *,
        stiffness: Sequence[Any] = (),
    ) -> None:
        self.root = root
        loop: Any = loop_of(root)
        loop.prepare()
        if len(loop.systems) != 1:
            raise SceneError(
                f"The scene has {len(loop.systems)} time integrators; derivatives of a step are "
                "known for scenes with one."
            )
        self.system: MechanicalSystem = loop.systems[0]
        self.stiffness = list(stiffness)
        check_step(loop, self.system, besides=self.stiffness)
        excluded = set(map(id, self.stiffness))
        self.force_fields = [f for f in self.system.force_fields if id(f) not in excluded]
        self.ode: Any = self.system.solver
        self.linear = self.system.linear_solver.require_direct("derivatives of a step")
        self.drives = StepConstraints(self.system, driven, loop.pipelines)
        count = len(self.drives)
        self.imposed = np.array(imposed if imposed is not None else [False] * count, dtype=bool)
        cables = len(self.drives.cables.cables)
        if self.stiffness and (self.imposed.any() or not len(self.stiffness) == count == cables):
            raise ValueError("stiffness: give one force field for each cable, driven by tension.")
        self.x0 = np.concatenate([s.position.get() for s in self.system.states])
        self.v0 = np.concatenate([s.velocity.get() for s in self.system.states])
        self.system.project(self.v0)
        self.dt = float(root.dt.get())

    @property
    def size(self) -> int:
        """Number of nodes that are not mapped."""
        return self.system.size

    def rows(self, state: MechanicalState) -> slice:
        """Return the rows of an independent state's nodes in arrays of all nodes."""
        start = self.system.offset[id(state)]
        return slice(start, start + state.count)

    @property
    def direction_weight(self) -> float:
        """Weight of d(H^T lam)/dx w in the residual [time]: h + beta with `stiffness`, else 0."""
        return self.h + self.beta if self.stiffness else 0.0

    def evaluate(self, x: np.ndarray, h: float, tension: np.ndarray | None = None) -> None:
        """Evaluate forces, matrix and rows at x for a step of length h.

        Args:
            x: Positions at the start of the step, shape (n, 3).
            h: Length of the step [time].
            tension: Tension of each cable in this step, for its stiffness, shape (k,).
        """
        system = self.system
        for state in system.states:
            np.copyto(state.position.get(), system.part(x, state))
            state.position.touch()
        self.x, self.h = x, h
        self.force = np.zeros_like(x)
        for field in self.force_fields:
            field.add_force(system.part(self.force, field.state))
        for mass in system.masses:
            gravity = mass._context.gravity.get()  # type: ignore[union-attr]
            mass.add_gravity(system.part(self.force, mass.state), gravity)
        self.alpha, self.beta = self.ode.rayleighMass.get(), self.ode.rayleighStiffness.get()
        if self.stiffness:
            system.propagate()
            assert tension is not None
            for field, force in zip(self.stiffness, tension, strict=True):
                field.tension = float(force)
        self.linear.set_matrix(1.0 + h * self.alpha, h * (h + self.beta), h)
        self.drives.measure(x)

    def advance(self, v: np.ndarray, drive: np.ndarray) -> StepState:
        """Make the step from the position of `evaluate`.

        Args:
            v: Velocities at the start, shape (n, 3).
            drive: Tension [force] or pressure, or displacement [length, length^3], shape (k,).

        Raises:
            DivergedError: The state became infinite or NaN.
        """
        drives = self.drives
        lam = drives.with_contacts(np.where(self.imposed, 0.0, self.h * drive), 0.0)
        b = self.mass_product(v) + self.h * self.force
        self.system.project(b)
        closing = None
        if len(drives.friction.first):
            if self.stiffness:
                raise SceneError(
                    "LineStiffness and contacts with friction act together: derivatives of a step "
                    "are known with one of them. Give mu=0, or leave LineStiffness out."
                )
            closing = pre_contact_slip(drives.contacts, self.solve(b), self.h)
        w = self.solve(b + drives.push(lam))
        held, slip = drives.with_contacts(self.imposed, True) & drives.moves, np.zeros(len(lam))
        if held.any():
            Y, W = self.compliance(held)
            missing = drives.with_contacts(drive, 0.0) - drives.displacement
            missing -= self.h * drives.rows(w)
            if closing is not None:
                missing[len(drives) :] -= closing.drift
            solved, is_taut = multipliers(
                W, missing[held], drives.one_sided[held], drives.friction.among(held)
            )
            w = w + np.tensordot(solved, Y, axes=1)
            lam[held], slip[held] = solved, W @ solved - missing[held]
            held[held] = is_taut
        if not np.isfinite(w).all():
            is_diverged = ~np.isfinite(w).all(axis=1)
            raise DivergedError.from_nodes("The robot", 0.0, self.h, is_diverged.tolist())
        return StepState(self.h, self.x, v, w, lam, held, slip, closing)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return A^-1 b, shape (n, 3); b must be 0 at fixed nodes. A is symmetric."""
        return self.linear.solve(b).copy()

    def solve_each(self, b: np.ndarray) -> np.ndarray:
        """Return A^-1 of several right-hand sides, shape (p, n, 3)."""
        columns = np.ascontiguousarray(b.reshape(len(b), -1).T)
        return np.ascontiguousarray(self.linear.solve_columns(columns).T).reshape(b.shape)

    def compliance(self, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Y = A^-1 H^T, shape (q, n, 3), and W = h H Y, shape (q, q), of some rows."""
        units = np.eye(len(held))[held]
        Y = self.solve_each(np.stack([self.drives.push(unit) for unit in units]))
        W = self.h * np.stack([self.drives.rows(y)[held] for y in Y], axis=1)
        return Y, W

    def mass_product(self, v: np.ndarray) -> np.ndarray:
        """Return M v, shape (n, 3)."""
        out = np.zeros_like(v)
        for mass in self.system.masses:
            mass.add_product(
                self.system.part(out, mass.state), self.system.part(v, mass.state), 1.0
            )
        return out

    def stiffness_product(self, v: np.ndarray) -> np.ndarray:
        """Return K v at the position of `evaluate`, shape (n, 3)."""
        out = np.zeros_like(v)
        for field in self.force_fields:
            part = self.system.part(v, field.state)
            field.add_product(self.system.part(out, field.state), part, 1.0)
        return out


class PreContactSlip(NamedTuple):
    """Tangential free motion before a gap closes, e = -kappa h H_t w_f, with its derivatives.

    Friction does not act on it. With w_f the free motion's velocity, kappa the fraction of the step
    before a contact closes, and h its length, rows along tangents have c = h H_t w + e, as in SOFA.
    If the gap closes in the step, kappa = -gap / (h H_n w_f).
    """

    free: np.ndarray
    """w_f, shape (n, 3)."""
    normal: np.ndarray
    """Row along the normal of each row's contact, shape (k,)."""
    drift: np.ndarray
    """e of each row, 0 along normals [length], shape (k,)."""
    by_gap: np.ndarray
    """Derivative of e by the gap, shape (k,)."""
    by_normal: np.ndarray
    """Derivative of e by H_n w_f [time], shape (k,)."""
    by_tangent: np.ndarray
    """Derivative of e by the row's H_t w_f [time], shape (k,)."""

    @property
    def is_nonzero(self) -> bool:
        """True if e depends on anything."""
        return bool(self.by_tangent.any())

    def forward(self, gap: np.ndarray, of_free: np.ndarray) -> np.ndarray:
        """Return de for changes of gaps and of H w_f, all of shape (k,)."""
        change = self.by_gap * gap[self.normal] + self.by_normal * of_free[self.normal]
        return np.asarray(change + self.by_tangent * of_free)

    def backward(self, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return derivatives of mu . e by gaps and by H w_f, both of shape (k,)."""
        by_gap, by_free = np.zeros_like(mu), self.by_tangent * mu
        np.add.at(by_gap, self.normal, self.by_gap * mu)
        np.add.at(by_free, self.normal, self.by_normal * mu)
        return by_gap, by_free


def pre_contact_slip(contacts: Contacts, free: np.ndarray, h: float) -> PreContactSlip:
    """Return the slip of contacts at the position of `measure`.

    Args:
        contacts: Contacts.
        free: w_f, shape (n, 3).
        h: Length of the step.
    """
    normal, along = contacts.first[contacts.contact], contacts.rows(free)
    gap, closes = contacts.gap[contacts.first], along[contacts.first]
    fraction = share_in_contact(gap, gap + h * closes, h * contacts.point_path_length(free))
    kappa = np.where(contacts.axis > 0, 1.0 - fraction[contacts.contact], 0.0)
    closing = (kappa > 0.0) & (kappa < 1.0)
    ratio = np.divide(along, along[normal], where=closing, out=np.zeros_like(along))
    slope = np.divide(contacts.gap[normal], along[normal], where=closing, out=np.zeros_like(along))
    return PreContactSlip(free, normal, -kappa * h * along, ratio, -slope * ratio, -kappa * h)


def check_step(loop: Any, system: MechanicalSystem, *, besides: Sequence[Any] = ()) -> None:
    """Raise a SceneError if the derivative of a scene's time step is not known.

    Components check themselves, by `check_differentiable`; this checks the remaining conditions.

    Args:
        loop: Animation loop of the scene, after `prepare`.
        system: The only system of the loop.
        besides: Force fields that are not checked.

    Raises:
        SceneError: A component's derivative is not known, a state is not of points, a force field
            or mass has its own damping or acts on a mapped state, or outer forces act.
    """
    loop.outer.refuse("derivatives of a step")
    by_velocity = loop._data.get("solveVelocityConstraintFirst")
    if by_velocity is not None and by_velocity.get():
        raise loop.fault(
            "has solveVelocityConstraintFirst=True: derivatives are known of the step without it."
        )
    system.solver.check_differentiable()
    for state in system.states:
        if state.kind.name != "Vec3":
            raise state.fault(
                "has bodies or joints: derivatives of a step are known for states of points alone."
            )
    for field in system.force_fields:
        if any(field is excluded for excluded in besides):
            continue
        field.check_differentiable()
        if field.rayleighStiffness.get():
            raise field.fault("has a rayleighStiffness of its own: give it to the integrator.")
        _check_independent(field, system)
    for mass in system.masses:
        mass.check_differentiable()
        if mass.separateGravity.get() or mass.rayleighMass.get():
            raise mass.fault(
                "has separateGravity or a rayleighMass of its own: leave them out, and give the "
                "damping to the integrator."
            )
        _check_independent(mass, system)
    for projection in system.projective:
        projection.check_differentiable()
    for node in loop.root.walk():
        for constraint in node.of("constraint"):
            constraint.check_differentiable()


def _check_independent(contribution: Contribution, system: MechanicalSystem) -> None:
    if id(contribution.state) not in system.offset:
        raise contribution.fault(
            f"acts on {contribution.state.describe()}, which follows another state: put it "
            "on the state that drives."
        )
