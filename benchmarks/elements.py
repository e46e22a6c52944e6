"""Errors and times of elements on meshes of robots: linear ones and those without locking.

    python -m benchmarks.elements                      # robots of scenes/, ratio 0.45
    python -m benchmarks.elements finger trunk --poisson 0.3 0.49
    python -m benchmarks.elements --meshes FOLDER      # SoftRobots's finger, trunk and wheel too

Tip motion by small loads, K u = f at rest. The converged answer is that of 10-node tetrahedra on
the mesh split once and twice, extrapolated with order 1.5: between 1, of notches, and 2. Clamps are
the same parts of the body on every mesh, weight is by volume, so that only the elements differ.
Steps are of implicit Euler, the least CPU time of 30, to be run with OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg
from scipy.spatial import cKDTree

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.mesh.formats.read import read_mesh
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split, split_edges
from sofa_softctl.runtime.simulation import simulation
from sofa_softctl.runtime.simulation.system_matrix import SystemMatrix

SCENE_MESHES = Path(__file__).parents[1] / "scenes" / "meshes"
ORDER = 1.5
"""Order of convergence that the extrapolation assumes."""
DIRECT_DOFS_MAX = 25_000
"""Degrees of freedom up to which systems are factorised."""


@dataclass(frozen=True)
class Body:
    """A robot, its clamp and its loads."""

    mesh: Path
    clamp: Callable[[np.ndarray], np.ndarray]
    """True for the nodes (n, 3) that are held."""
    tip: Any
    """Point that is looked at [mm], shape (3,)."""
    weight: tuple[float, float, float]
    """Direction of the weight."""
    cables: dict[str, np.ndarray] = field(default_factory=dict)
    """Points of cables [mm], shape (k, 3) each."""
    chamber: Path | None = None
    """Surface of a cavity under pressure."""


def _box(low: Any, high: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return a test for points (n, 3) in a box, to 1e-6 mm."""
    low, high = np.asarray(low) - 1e-6, np.asarray(high) + 1e-6
    return lambda x: np.asarray(((x >= low) & (x <= high)).all(axis=1))


def bodies(folder: Path | None) -> dict[str, Body]:
    """Return the robots by name; those of SoftRobots only with a folder of its meshes."""
    names = ("trunk", "finger", "gripper")
    trunk, finger, gripper = (import_module(f"scenes.{name}") for name in names)
    robots = {
        "trunk": Body(
            SCENE_MESHES / "trunk.vtk",
            _box([-20, -20, -1], [20, 20, 16]),
            trunk.TIP,
            (0, -1, 0),
            {"long cable": trunk.cable_points(0, 10), "short cable": trunk.cable_points(0, 5)},
        ),
        "finger": Body(
            SCENE_MESHES / "finger.vtk",
            _box([-13, -11, -10], [1, 11, 10]),
            finger.TIP,
            (0, -1, 0),
            {"cable": finger.cable_points()},
        ),
        "gripper": Body(
            SCENE_MESHES / "gripper.vtk",
            lambda x: (x[:, 1] > -8.1) & (np.abs(x[:, 0]) < 21.1),
            gripper.on_finger(gripper.TIP, 0.0)[0],
            (1, 0, 0),
            {"cable": gripper.on_finger(gripper.CABLE, 2.5)},
        ),
        "pneumatic_finger": Body(
            SCENE_MESHES / "pneumatic_finger.vtk",
            _box([-11, -11, -1], [11, 11, 1]),
            [0, 0, -87],
            (0, -1, 0),
            chamber=SCENE_MESHES / "pneumatic_finger_chamber.obj",
        ),
    }
    if folder is not None:
        robots |= softrobots_bodies(folder)
    return robots


def softrobots_bodies(folder: Path) -> dict[str, Body]:
    """Return the finger, the trunk and the circular robot of SoftRobots, held as there."""
    along = np.array([-17.5, -32.5, -47.5, -62.5, -77.5])
    down = [[x, 12.5, 2.5] for x in along]
    around = [[-83.5, 12.5, 4.5], [-85.5, 12.5, 6.5], [-85.5, 12.5, 8.5], [-83.5, 12.5, 10.5]]
    back = [[x, 12.5, 12.5] for x in along[::-1]]
    finger = np.array([[0.0, 12.5, 2.5], *down, *around, *back, [0.0, 12.5, 12.5]])
    direction = np.array([0.0, -8.0, 195.0]) / np.hypot(8.0, 195.0)
    heights = (21.0 + 17.5 * np.arange(10)[:, None] + [0.0, 6.0]).ravel()
    trunk = [0.0, 10.0, 0.0] + np.concatenate([[0.0], heights])[:, None] * direction
    return {
        "softrobots_finger": Body(
            folder / "finger.vtk",
            _box([-15, 0, 0], [5, 10, 15]),
            [-100, 7, 7],
            (0, 1, 0),
            {"cable": finger},
        ),
        "softrobots_trunk": Body(
            folder / "trunk.vtk",
            _box([-20, -20, 0], [20, 20, 20]),
            [0, 0, 195],
            (0, -1, 0),
            {"long cable": trunk, "short cable": trunk[:11]},
        ),
        "softrobots_wheel": Body(
            folder / "wheel.vtk",
            lambda x: x[:, 1] < -18.5,
            [7.27, 17.55, 5],
            (0, -1, 0),
            {
                "cable 1": np.array([[16.0, 0, 5], [-16, 0, 5]]),
                "cable 2": np.array([[0, 16.0, 5], [0, -16, 5]]),
            },
        ),
    }


@dataclass(frozen=True)
class Level:
    """A body's mesh after some splits."""

    body: Body
    x: np.ndarray
    tetrahedra: np.ndarray
    is_held: np.ndarray
    prolongation: sparse.csr_array | None
    """Displacements of the free nodes from those of the mesh before, if there was one."""
    splits: int

    @classmethod
    def read(cls, body: Body) -> Level:
        """Return a body on the mesh that it has."""
        mesh = read_mesh(body.mesh)
        return cls(body, mesh.positions, mesh.tetrahedra, body.clamp(mesh.positions), None, 0)

    def split(self) -> Level:
        """Return the same body with each tetrahedron in eight."""
        mesh = Mesh(self.x, tetrahedra=self.tetrahedra)
        ends, fine, count = split_edges(mesh), split(mesh), len(self.x)
        is_held = np.append(self.is_held, self.is_held[ends].all(axis=1))
        middles = np.repeat(count + np.arange(len(ends)), 2)
        rows = np.concatenate([np.arange(count), middles])
        columns = np.concatenate([np.arange(count), ends.ravel()])
        weights = np.concatenate([np.ones(count), np.full(len(middles), 0.5)])
        nodes = sparse.csr_array((weights, (rows, columns)))[~is_held][:, ~self.is_held]
        prolongation = sparse.csr_array(sparse.kron(nodes, sparse.eye_array(3)))
        splits = self.splits + 1
        return Level(self.body, fine.positions, fine.tetrahedra, is_held, prolongation, splits)

    def weights_of(self, points: Any) -> sparse.csr_array:
        """Return barycentric weights of points in their tetrahedra, shape (k, n)."""
        points = np.atleast_2d(np.asarray(points, dtype=float))
        corners = self.x[self.tetrahedra]
        _, near = cKDTree(corners.mean(axis=1)).query(points, min(80, len(corners)))
        edges = np.swapaxes(corners[near, 1:] - corners[near, :1], 2, 3)
        b = np.linalg.solve(edges, (points[:, None] - corners[near, 0])[..., None])[..., 0]
        b = np.concatenate([1.0 - b.sum(axis=2, keepdims=True), b], axis=2)
        best = b.min(axis=2).argmax(axis=1)
        row = np.arange(len(points))
        nodes = self.tetrahedra[near[row, best]]
        shape = (len(points), len(self.x))
        entries = b[row, best].ravel(), (np.repeat(row, 4), nodes.ravel())
        return sparse.csr_array(entries, shape=shape)

    def loads(self) -> dict[str, np.ndarray]:
        """Return forces on the nodes by name, shape (n, 3)."""
        corners = self.x[self.tetrahedra]
        volumes = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / 24.0
        volume = np.bincount(self.tetrahedra.ravel(), np.repeat(volumes, 4))
        loads = {"weight": np.outer(volume, self.body.weight)}
        for name, points in self.body.cables.items():
            pull = np.diff(points, axis=0)
            pull /= np.linalg.norm(pull, axis=1)[:, None]
            forces = np.zeros_like(points)
            forces[:-1] += pull
            forces[1:] -= pull
            loads[name] = self.weights_of(points).T @ forces
        if self.body.chamber is not None:
            wall = read_mesh(self.body.chamber)
            for _ in range(self.splits):
                wall = split(wall)
            a, b, c = wall.positions[wall.triangles.T]
            area = np.cross(b - a, c - a) / 6.0
            area *= np.sign(
                ((a + b + c) / 3.0 - wall.positions.mean(axis=0)).ravel() @ area.ravel()
            )
            forces = np.zeros_like(wall.positions)
            for nodes in wall.triangles.T:
                np.add.at(forces, nodes, area)
            loads["pressure"] = self.weights_of(wall.positions).T @ forces
        return loads

    def scene(self, element: str, poisson: float) -> Any:
        """Return the scene of the body with some elements, initialised."""
        root = Node("root", dt=0.01, gravity=[0.0, -1.0, 0.0])
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.1)
        node.addObject("SparseLDLSolver")
        cells = {"position": self.x, "tetrahedra": self.tetrahedra}
        node.addObject("TetrahedronSetTopologyContainer", **cells)
        node.addObject("MechanicalObject", name="dofs", position=self.x)
        node.addObject("UniformMass", totalMass=0.05)
        moduli = {"youngModulus": 1000.0, "poissonRatio": poisson}
        if element == "linear":
            node.addObject("TetrahedronFEMForceField", method="large", **moduli)
        else:
            quadratic = element == "quadratic"
            node.addObject("AssumedStrainFEMForceField", quadratic=quadratic, **moduli)
        node.addObject("FixedProjectiveConstraint", indices=np.flatnonzero(self.is_held))
        simulation.init(root)
        return root

    def tip_motions(self, element: str, poisson: float) -> dict[str, np.ndarray]:
        """Return the tip's displacement by each load, shape (3,)."""
        matrix = SystemMatrix(simulation.loop_of(self.scene(element, poisson)).systems[0])
        K = matrix.pattern.to_csr(matrix.assemble(0.0, 1.0, 0.0))
        free = np.repeat(~self.is_held, 3)
        loads = self.loads()
        f = np.column_stack([load.ravel()[free] for load in loads.values()])
        u = np.zeros((len(free), len(loads)))
        u[free] = solve(sparse.csr_array(K[free][:, free]), f, self.prolongation)
        tip = self.weights_of(self.body.tip)
        return {name: (tip @ u[:, k].reshape(-1, 3))[0] for k, name in enumerate(loads)}

    def step_time(self, element: str, poisson: float, count: int = 30) -> float:
        """Return the least CPU time of a step [ms]."""
        root = self.scene(element, poisson)
        simulation.animateNSteps(root, 2)
        times = []
        for _ in range(count):
            start = time.thread_time()
            simulation.animateNSteps(root, 1)
            times.append(time.thread_time() - start)
        return 1e3 * min(times)


def _factor(K: sparse.csr_array) -> Any:
    options = {"SymmetricMode": True}
    return sparse_linalg.splu(K.tocsc(), permc_spec="MMD_AT_PLUS_A", options=options)


def solve(K: sparse.csr_array, f: np.ndarray, P: sparse.csr_array | None) -> np.ndarray:
    """Solve K u = f; large ones by conjugate gradients with two meshes, to 1e-6.

    Args:
        K: Stiffness, shape (n, n).
        f: Forces, shape (n, k).
        P: Displacements from those of the coarser mesh.
    """
    if K.shape[0] < DIRECT_DOFS_MAX or P is None:
        return np.asarray(_factor(K).solve(f))
    coarse, inverse = _factor(sparse.csr_array(P.T @ K @ P)), 1.0 / K.diagonal()[:, None]
    v = np.random.default_rng(0).normal(size=(K.shape[0], 1))
    for _ in range(15):
        v = inverse * (K @ v)
        largest = 1.1 * np.linalg.norm(v)
        v /= np.linalg.norm(v)

    def smooth(r: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Four steps of Chebyshev's iteration, on the upper 95 % of the spectrum."""
        middle, half = 0.525 * largest, 0.475 * largest
        sigma = middle / half
        rho, residual = 1.0 / sigma, r - K @ x
        step = inverse * residual / middle
        for _ in range(4):
            x = x + step
            residual = residual - K @ step
            following = 1.0 / (2.0 * sigma - rho)
            step = following * rho * step + 2.0 * following / half * inverse * residual
            rho = following
        return x

    def precondition(r: np.ndarray) -> np.ndarray:
        x = smooth(r, np.zeros_like(r))
        return smooth(r, x + P @ coarse.solve(P.T @ (r - K @ x)))

    u, r = np.zeros_like(f), f.copy()
    z = precondition(r)
    p, size = z, (r * z).sum(axis=0)
    start = size
    while (size > 1e-12 * start).any():
        Kp = K @ p
        step = size / (p * Kp).sum(axis=0)
        u, r = u + step * p, r - step * Kp
        z = precondition(r)
        size, before = (r * z).sum(axis=0), size
        p = z + size / before * p
    return u


def measure(name: str, body: Body, poisson: float) -> None:
    """Print the errors and step times of a body's elements."""
    levels = [Level.read(body)]
    levels += [levels[0].split()]
    levels += [levels[1].split()]
    fine, finest = (level.tip_motions("quadratic", poisson) for level in levels[1:])
    cases = [("linear", 0), ("smoothed", 0), ("quadratic", 1), ("linear", 1), ("smoothed", 1)]
    motions = {case: levels[case[1]].tip_motions(case[0], poisson) for case in cases}
    times = {case: levels[case[1]].step_time(case[0], poisson) for case in cases}
    print(f"{name}, {len(levels[0].x)} nodes, ratio {poisson:g}")
    labels = ["linear", "smoothed", "10-node", "linear split", "smoothed split"]
    print(f"  {'':14}" + "".join(f"{label:>17}" for label in labels))
    for load in finest:
        converged = finest[load] + (finest[load] - fine[load]) / (2.0**ORDER - 1.0)
        errors = [motions[case][load] @ converged / (converged @ converged) - 1 for case in cases]
        print(f"  {load:14}" + "".join(f"{100 * error:15.1f} %" for error in errors))
    print(f"  {'step':14}" + "".join(f"{times[case]:14.2f} ms" for case in cases), flush=True)


def main() -> None:
    """Measure the bodies that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="Robots; by default all.")
    parser.add_argument("--poisson", nargs="+", type=float, default=[0.45])
    parser.add_argument("--meshes", type=Path, help="Folder of SoftRobots's meshes.")
    options = parser.parse_args()
    robots = bodies(options.meshes)
    unknown = set(options.names) - set(robots)
    if unknown:
        parser.error(f"unknown robots {sorted(unknown)}; known are {', '.join(robots)}")
    for name in options.names or robots:
        for poisson in options.poisson:
            measure(name, robots[name], poisson)


if __name__ == "__main__":
    main()
