"""The same beam, finger and block in other simulators: time of a step beside the error.

    pip install mujoco newton pyelastica
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.peers            # a table; some minutes
    python -m benchmarks.peers --only block --markdown peers.md

The beam (20 x 20 x 100 mm, 300 kPa) and the finger of `scenes/finger.py` (600 kPa) are held at an
end and sag under their weight across their length; the error is that of the mean sag of the tip
over the last second of `--seconds`, when all but oscillations has died out. It is compared with
10-node tetrahedra at rest, whose nodes are those of the mesh with each tetrahedron split in eight;
Timoshenko's beam is a row of the table. The block of 30 mm slides down 20 degrees with a
friction of 0.2; its way in 0.3 s is compared with g (sin - mu cos) t^2 / 2.

Every simulator gets the same nodes and tetrahedra (a rod: the same bending stiffness) and advances
by 10 ms (the block: 5 ms), in substeps where it needs them. Damping is each simulator's own. Rounds
of all simulators alternate; counted is the fastest round's median. All run on one core.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from sofa_softctl import Session, add_constraint_solver, add_elasticity
from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.bench.beam import mesh
from sofa_softctl.runtime.mesh.formats.read import read_mesh
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split, split_edges
from sofa_softctl.view.terminal.table import Table, make_console

GRAVITY = 9.81
"""[m/s^2]"""
DENSITY, POISSON = 1000.0, 0.4
"""[kg/m^3], [-]"""
SLOPE, FRICTION = np.radians(20.0), 0.2
BLOCK_WAY = float(0.5 * GRAVITY * (np.sin(SLOPE) - FRICTION * np.cos(SLOPE)) * 0.3**2)
"""Way of a rigid block after 0.3 s from rest [m]."""
REFERENCE_DAMPING, REFERENCE_SECONDS = 12.0, 2.0
"""Rayleigh damping by mass [1/s] with which the reference comes to rest, and its time [s]."""
SHEAR_FACTOR = 10.0 * (1.0 + POISSON) / (12.0 + 11.0 * POISSON)
"""Of a rectangular section: Cowper 1966."""
ROUNDS = 5
"""Turns of each simulator."""
COLUMNS = ("body", "simulator", "ms a step", "times as long", "motion [mm]", "error", "")


@dataclass(frozen=True)
class Body:
    """A body in SI units."""

    name: str
    nodes: np.ndarray
    """Positions [m], shape (n, 3)."""
    tetrahedra: np.ndarray
    """Shape (m, 4)."""
    young: float
    """[Pa]"""
    gravity: tuple[float, float, float]
    """[m/s^2]"""
    held: np.ndarray
    """Nodes that do not move."""
    tip: np.ndarray
    """Weights of the nodes whose mean motion is measured, shape (n,)."""
    direction: np.ndarray
    """Direction of the measured motion, shape (3,)."""
    step: float = 0.01
    """[s]"""
    on_floor: bool = False
    """On a floor at y = 0, with friction."""

    def motion(self, positions: np.ndarray) -> float:
        """Return the measured motion [m]."""
        return float(self.tip @ ((positions - self.nodes) @ self.direction))

    @property
    def mass(self) -> float:
        """[kg]"""
        a, b, c, d = np.swapaxes(self.nodes[self.tetrahedra], 0, 1)
        return float(
            DENSITY * np.abs(np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a)).sum() / 6
        )


def beam(cells: int = 4) -> Body:
    """Return the beam, 1,575 degrees of freedom with four cells."""
    x, tetrahedra = mesh(cells)
    held, tip = np.flatnonzero(x[:, 2] == 0.0), _mean_of(np.isclose(x[:, 2], 100.0))
    down = np.array([0.0, -1.0, 0.0])
    gravity = (0.0, -GRAVITY, 0.0)
    return Body("beam", 1e-3 * x, tetrahedra, 300e3, gravity, held, tip, down)


def finger() -> Body:
    """Return the finger of `scenes/finger.py`, held at its base, its weight across its length."""
    found = read_mesh(Path(__file__).parents[1] / "scenes" / "meshes" / "finger.vtk")
    x = found.positions
    low, high = np.array([-13, -11, -10]), np.array([1, 11, 10])
    held = np.flatnonzero(((x >= low) & (x <= high)).all(axis=1))
    tip = _mean_of(x[:, 0] < x[:, 0].min() + 2.0)
    down = np.array([0.0, 0.0, -1.0])  # across the notches: no walls touch
    gravity = (0.0, 0.0, -GRAVITY)
    return Body("finger", 1e-3 * x, found.tetrahedra, 600e3, gravity, held, tip, down)


def block() -> Body:
    """Return the block, whose gravity is tilted in place of the floor."""
    x, tetrahedra = mesh(3, 30.0, 150.0)  # the first cells of a beam, whose nodes come first
    tetrahedra = tetrahedra[(x[tetrahedra, 2] < 30.0 + 1e-9).all(axis=1)]
    x = 1e-3 * x[: tetrahedra.max() + 1]
    gravity = (GRAVITY * float(np.sin(SLOPE)), -GRAVITY * float(np.cos(SLOPE)), 0.0)
    tip, along = _mean_of(np.ones(len(x), bool)), np.array([1.0, 0.0, 0.0])
    held = np.empty(0, int)
    return Body("block", x, tetrahedra, 500e3, gravity, held, tip, along, 0.005, True)


BODIES = {"beam": beam, "finger": finger, "block": block}


def _mean_of(chosen: np.ndarray) -> np.ndarray:
    return np.asarray(chosen / chosen.sum(), float)


class Simulator(Protocol):
    """A body in a simulator."""

    def step(self) -> None:
        """Advance by the body's step."""

    def motion(self) -> float:
        """Return the measured motion [m]."""


class NotPossibleError(Exception):
    """The simulator cannot do that body."""


class Ours:
    """This package; `elements` is 'linear' (SOFA's) or 'smoothed' or 'quadratic' (no locking)."""

    def __init__(self, body: Body, elements: str = "linear", damping: float = 0.1) -> None:
        self.body, self.elements, self.damping = body, elements, damping
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.session = Session(self._create, backend="embedded")

    def _create(self, root: Any) -> None:
        body = self.body
        root.dt = body.step
        root.gravity = [1e3 * g for g in body.gravity]
        root.addObject("FreeMotionAnimationLoop")
        add_constraint_solver(root, maxIterations=1000, tolerance=1e-5)
        node = root.addChild("body")
        damping = {} if body.on_floor else {"rayleighMass": self.damping}
        node.addObject("EulerImplicitSolver", rayleighStiffness=0.05, **damping)
        node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        node.addObject(
            "TetrahedronSetTopologyContainer",
            name="topology",
            position=(1e3 * body.nodes).tolist(),
            tetrahedra=body.tetrahedra.tolist(),
        )
        node.addObject("MechanicalObject", name="dofs", template="Vec3d")
        material = {"young_modulus": 1e-3 * body.young, "poisson_ratio": POISSON}
        if self.elements == "linear":
            node.addObject("UniformMass", totalMass=body.mass)
            node.addObject(
                "TetrahedronFEMForceField",
                method="large",
                youngModulus=material["young_modulus"],
                poissonRatio=POISSON,
            )
        else:
            node.addObject("MeshMatrixMass", totalMass=body.mass)
            add_elasticity(node, quadratic=self.elements == "quadratic", **material)
        if len(body.held):
            node.addObject("FixedProjectiveConstraint", indices=body.held.tolist())
        node.addObject("LinearSolverConstraintCorrection")
        if body.on_floor:
            self._add_floor(root, node)

    def _add_floor(self, root: Any, node: Any) -> None:
        root.addObject("CollisionPipeline")
        root.addObject("BruteForceBroadPhase")
        root.addObject("BVHNarrowPhase")
        root.addObject("LocalMinDistance", alarmDistance=2.0, contactDistance=0.01, angleCone=0.0)
        root.addObject(
            "CollisionResponse",
            response="FrictionContactConstraint",
            responseParams=f"mu={FRICTION}",
        )
        skin = node.addChild("skin")
        low = 1e3 * self.body.nodes[self.body.nodes[:, 1] < 1e-9]
        skin.addObject("MechanicalObject", position=low.tolist())
        skin.addObject("PointCollisionModel")
        skin.addObject("BarycentricMapping")
        floor = root.addChild("floor")
        height = -0.01
        corners = [
            [-500, height, -500],
            [-500, height, 500],
            [2000, height, 500],
            [2000, height, -500],
        ]
        triangles = [[0, 1, 2], [0, 2, 3]]
        floor.addObject("MeshTopology", position=corners, triangles=triangles)
        floor.addObject("MechanicalObject")
        floor.addObject("TriangleCollisionModel", moving=False, simulated=False)

    def step(self) -> None:
        """See `Simulator`."""
        self.session.step()

    def motion(self) -> float:
        """See `Simulator`."""
        return self.body.motion(1e-3 * self.session.positions()["body/dofs.position"])


class MujocoFlex:
    """MuJoCo's flex with the integrator `discrete`, which takes its elasticity implicitly."""

    def __init__(self, body: Body) -> None:
        import mujoco

        mujoco.set_mju_user_warning(lambda text: None)
        self.body, self._step = body, mujoco.mj_step
        points = " ".join(f"{value:.9g}" for value in body.nodes.ravel())
        elements = " ".join(map(str, body.tetrahedra.ravel()))
        pins = f'<pin id="{" ".join(map(str, body.held))}"/>' if len(body.held) else ""
        contact = "" if body.on_floor else 'contype="0" conaffinity="0"'
        floor = (
            f'<geom type="plane" size="5 5 1" zaxis="0 1 0" friction="{FRICTION} 0 0"/>'
            if body.on_floor
            else ""
        )
        text = f"""
            <mujoco><option gravity="{" ".join(map(str, body.gravity))}" timestep="{body.step}"
            integrator="discrete" solver="CG" cone="elliptic"/><size memory="1G"/><worldbody>
            {floor}<flexcomp name="body" type="direct" dim="3" mass="{body.mass}" radius="1e-5"
            point="{points}" element="{elements}">
            <elasticity young="{body.young}" poisson="{POISSON}" damping="0.01"/>
            <contact selfcollide="none" friction="{FRICTION} 0 0" {contact}/>{pins}</flexcomp>
            </worldbody></mujoco>"""
        self._model = mujoco.MjModel.from_xml_string(text)
        self._data = mujoco.MjData(self._model)

    def step(self) -> None:
        """See `Simulator`."""
        self._step(self._model, self._data)

    def motion(self) -> float:
        """See `Simulator`."""
        return self.body.motion(self._data.flexvert_xpos)


class NewtonVbd:
    """Newton's vertex block descent on the processor."""

    def __init__(self, body: Body, substeps: int, iterations: int) -> None:
        import newton
        import warp

        warp.config.quiet = True
        warp.set_device("cpu")
        self.body, self._substeps = body, substeps
        builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=body.gravity)
        builder.add_soft_mesh(
            pos=(0.0, 0.0, 0.0),
            rot=warp.quat_identity(),
            scale=1.0,
            vel=(0.0, 0.0, 0.0),
            vertices=[warp.vec3(*point) for point in body.nodes],
            indices=body.tetrahedra.ravel().tolist(),
            density=DENSITY,
            k_mu=body.young / (2.0 + 2.0 * POISSON),
            k_lambda=body.young * POISSON / (1.0 + POISSON) / (1.0 - 2.0 * POISSON),
            k_damp=100.0,
            particle_radius=1e-4,
        )
        for index in body.held:
            builder.particle_mass[index] = 0.0
        if body.on_floor:
            builder.add_ground_plane(height=-1e-4)
        builder.color()
        model = builder.finalize()
        model.soft_contact_mu = FRICTION
        model.soft_contact_ke = 1e4
        self._solver = newton.solvers.SolverVBD(model, iterations=iterations)
        self._pipeline = newton.CollisionPipeline(model) if body.on_floor else None
        self._contacts = self._pipeline.contacts() if self._pipeline else None
        self._control = model.control()
        self._now, self._next = model.state(), model.state()

    def step(self) -> None:
        """See `Simulator`."""
        for _ in range(self._substeps):
            if self._pipeline is not None:
                self._pipeline.collide(self._now, self._contacts)
            h = self.body.step / self._substeps
            self._solver.step(self._now, self._next, self._control, self._contacts, h)
            self._now, self._next = self._next, self._now

    def motion(self) -> float:
        """See `Simulator`."""
        return self.body.motion(self._now.particle_q.numpy().astype(float))


class ElasticaRod:
    """PyElastica's Cosserat rod, explicit, with the beam's square section."""

    def __init__(self, body: Body, elements: int = 40) -> None:
        import elastica

        if body.name != "beam":
            raise NotPossibleError("rods only")
        self.body = body

        class Scene(
            elastica.BaseSystemCollection,
            elastica.Constraints,
            elastica.Forcing,
            elastica.Damping,
        ):
            pass

        length, side = 0.1, 0.02
        radius, shear = side / np.sqrt(np.pi), body.young / (2.0 + 2.0 * POISSON)
        along, normal = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
        self._rod = elastica.CosseratRod.straight_rod(
            elements,
            np.zeros(3),
            along,
            normal,
            length,
            radius,
            DENSITY,
            youngs_modulus=body.young,
            shear_modulus=shear,
        )
        for axis in range(2):  # of a square, not of a circle of the same area
            self._rod.bend_matrix[axis, axis] *= np.pi / 3.0
        step_max = 0.4 * length / elements / np.sqrt(body.young / DENSITY)
        self._substeps = int(np.ceil(body.step / step_max))
        self._h, self._time = body.step / self._substeps, np.float64(0.0)
        self._scene = Scene()
        self._scene.append(self._rod)
        self._scene.constrain(self._rod).using(
            elastica.OneEndFixedBC,
            constrained_position_idx=(0,),
            constrained_director_idx=(0,),
        )
        self._scene.add_forcing_to(self._rod).using(
            elastica.GravityForces, acc_gravity=np.array(body.gravity)
        )
        node_mass = body.mass / elements
        self._scene.dampen(self._rod).using(
            elastica.AnalyticalLinearDamper,
            translational_damping_constant=15.0 * node_mass,
            rotational_damping_constant=1e-7,
            time_step=self._h,
        )
        self._scene.finalize()
        self._stepper = elastica.PositionVerlet()

    def step(self) -> None:
        """See `Simulator`."""
        for _ in range(self._substeps):
            self._time = self._stepper.step(self._scene, self._time, self._h)

    def motion(self) -> float:
        """See `Simulator`."""
        return -float(self._rod.position_collection[1, -1])


SIMULATORS: dict[str, Callable[[Body], Simulator]] = {
    "softctl, SOFA's elements": Ours,
    "softctl, add_elasticity": partial(Ours, elements="smoothed"),
    "MuJoCo flex, discrete": MujocoFlex,
    "Newton VBD, 10 iterations": partial(NewtonVbd, substeps=1, iterations=10),
    "Newton VBD, 10 substeps of 10": partial(NewtonVbd, substeps=10, iterations=10),
    "PyElastica rod, 40 elements": ElasticaRod,
}


@dataclass
class Row:
    """A simulator with a body."""

    body: str
    simulator: str
    ms: float = np.nan
    """Wall time of a step [ms]."""
    ratio: float = np.nan
    """Time divided by that of the first simulator [-]."""
    motion: float = np.nan
    """[mm]"""
    error: float = np.nan
    """Of the motion, by the reference [-]."""
    note: str = ""

    def cells(self) -> list[str]:
        """Return the cells of a table."""
        numbers = [
            f"{self.ms:.3g}",
            f"{self.ratio:.2g}",
            f"{self.motion:.2f}",
            f"{self.error:+.1%}",
        ]
        return [
            self.body,
            self.simulator,
            *(n if "nan" not in n else "" for n in numbers),
            self.note,
        ]


def measure(body: Body, reference: float, seconds: float, names: list[str]) -> list[Row]:
    """Run simulators in rounds, and return a row each; those that cannot have a note."""
    rows, running = [], {}
    for name in names:
        row = Row(body.name, name)
        rows.append(row)
        try:
            running[name] = SIMULATORS[name](body)
        except ImportError as error:
            row.note = f"not installed: {error.name}"
        except NotPossibleError as error:
            row.note = f"not possible: {error}"
    steps = round((0.3 if body.on_floor else seconds) / body.step)
    times: dict[str, list[list[float]]] = {name: [] for name in running}
    motions: dict[str, list[float]] = {name: [] for name in running}
    for part in np.array_split(np.arange(steps), ROUNDS):
        for name, simulator in running.items():
            times[name].append([])
            for _ in part:
                start = perf_counter()
                simulator.step()
                times[name][-1].append(perf_counter() - start)
                motions[name].append(simulator.motion())
    for row in rows:
        if row.simulator in running:
            last = 1 if body.on_floor else round(1.0 / body.step)
            row.ms = 1e3 * min(map(np.median, times[row.simulator]))
            row.motion = 1e3 * float(np.mean(motions[row.simulator][-last:]))
            row.error = row.motion / (1e3 * reference) - 1.0
            row.ratio = row.ms / rows[0].ms
            if not np.isfinite(row.motion):
                row.note = "diverged"
    return rows


def reference_of(body: Body) -> float:
    """Return the motion that all should have [m]."""
    if body.on_floor:
        return BLOCK_WAY
    simulator = Ours(refine(body), "quadratic", REFERENCE_DAMPING)
    for _ in range(round(REFERENCE_SECONDS / body.step)):
        simulator.step()
    return simulator.motion()


def refine(body: Body) -> Body:
    """Return the body with each tetrahedron in eight; the measured points stay."""
    coarse = Mesh(body.nodes, tetrahedra=body.tetrahedra)
    fine, ends = split(coarse), split_edges(coarse)
    is_held = np.isin(ends, body.held).all(axis=1)
    held = np.append(body.held, len(body.nodes) + np.flatnonzero(is_held))
    tip = np.pad(body.tip, (0, len(fine.positions) - len(body.tip)))
    return replace(body, nodes=fine.positions, tetrahedra=fine.tetrahedra, held=held, tip=tip)


def theory(body: Body) -> Row | None:
    """Return Timoshenko's sag of the beam, for small motions; None of another body."""
    if body.name != "beam":
        return None
    length, side = 0.1, 0.02
    load = body.mass * GRAVITY / length
    bending = body.young * side**4 / 12.0
    shear = body.young / (2.0 + 2.0 * POISSON) * side**2 * SHEAR_FACTOR
    motion = load * length**4 / (8.0 * bending) + load * length**2 / (2.0 * shear)
    return Row(body.name, "Timoshenko's beam", motion=1e3 * motion, note="theory, small motions")


def show(rows: list[Row], markdown: Path | None) -> None:
    """Print the table, and write it as Markdown."""
    table = Table()
    for number, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if 1 < number < 6 else "left")
    for row in rows:
        table.add_row(*row.cells())
    make_console().print(table)
    if markdown is not None:
        rule = ("---", "---", *["---:"] * 4, "---")
        lines = [COLUMNS, rule, *(row.cells() for row in rows)]
        markdown.write_text("".join(f"| {' | '.join(line)} |\n" for line in lines))


def main() -> None:
    """Measure the bodies that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=BODIES, default=list(BODIES))
    parser.add_argument("--simulators", nargs="+", choices=SIMULATORS, default=list(SIMULATORS))
    parser.add_argument("--seconds", type=float, default=3.0, help="Simulated time of sags [s].")
    parser.add_argument("--markdown", type=Path, help="File of the table.")
    options = parser.parse_args()
    rows = []
    with one_blas_thread():
        for name in options.only:
            body = BODIES[name]()
            reference = reference_of(body)
            rows.append(Row(name, "reference", motion=1e3 * reference, error=0.0))
            for row in (
                theory(body),
                *measure(body, reference, options.seconds, options.simulators),
            ):
                if row is not None:
                    rows.append(row)
                    if row.simulator.startswith("Timoshenko"):
                        row.error = row.motion / (1e3 * reference) - 1.0
    show(rows, options.markdown)


if __name__ == "__main__":
    main()
