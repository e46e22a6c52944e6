"""Small scenes of what SOFA's own examples ask for, whose motion in SOFA is recorded.

`python tests/parity/examples.py [names]` remakes records/examples.npz with the real SOFA v25.06 on
the Python path.
"""

import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from mechanics import LDL, PLUGINS, free, moving  # noqa: E402

RECORD = os.path.join(HERE, "records", "examples.npz")
STEPS = 20


def corrected(correction, integrator="EulerImplicitSolver", template="Vec3d", inner=None):
    """Three nodes on springs, two of them joined to others; each state has its own correction.

    An `inner` integrator, below another one, moves nothing, but its factors are those of the
    correction beside it.
    """

    def build(root):
        free(root)
        root.dt = 0.01
        root.gravity = [0.0, -9.81, 1.0]
        node = root.addChild("moving")
        if integrator == "EulerImplicitSolver":
            node.addObject(LDL[0], name="solver", **LDL[1])
        node.addObject(integrator)
        child = moving(node, "points", 3, 3, template)
        child.addObject("RestShapeSpringsForceField", stiffness=[3.0], angularStiffness=[1.0])
        second = moving(node, "others", 3, 7, template)
        if inner is not None:
            child.addObject(inner)
        for state in (child, second):
            state.addObject("UncoupledConstraintCorrection", **correction)
        node.addObject(
            "BilateralLagrangianConstraint",
            object1=child.dofs.getLinkPath(),
            object2=second.dofs.getLinkPath(),
            first_point=[0, 2],
            second_point=[1, 0],
        )
        return child.dofs

    return build


BY_DISPLACEMENT = {"useOdeSolverIntegrationFactors": False}

CASES = {
    "corrected_by_displacement": corrected({"defaultCompliance": 1e-4, **BY_DISPLACEMENT}),
    "corrected_by_displacement_in_part": corrected(
        {
            "compliance": [1e-4, 2e-4, 3e-4],
            "correctionPositionFactor": 0.7,
            "correctionVelocityFactor": 0.5,
            **BY_DISPLACEMENT,
        }
    ),
    "corrected_bodies_by_displacement": corrected(BY_DISPLACEMENT, template="Rigid3d"),
    "corrected_explicit": corrected({"defaultCompliance": 0.3}, "EulerExplicitSolver"),
    "corrected_explicit_bodies": corrected({}, "EulerExplicitSolver", template="Rigid3d"),
    "corrected_explicit_bodies_by_displacement": corrected(
        BY_DISPLACEMENT, "EulerExplicitSolver", template="Rigid3d"
    ),
    "corrected_below_two_integrators": corrected(
        {"defaultCompliance": 0.3}, inner="EulerExplicitSolver"
    ),
    "corrected_central": corrected({"defaultCompliance": 0.3}, "CentralDifferenceSolver"),
}


def run(Sofa, name, steps=STEPS):
    """Positions of the watched state after each step, shape (steps, n, width)."""
    root = Sofa.Core.Node("root")
    root.addObject(
        "RequiredPlugin", pluginName=[f"Sofa.Component.{plugin}" for plugin in PLUGINS.split()]
    )
    state = CASES[name](root)
    Sofa.Simulation.init(root)
    positions = []
    for _ in range(steps):
        Sofa.Simulation.animate(root, root.dt.value)
        positions.append(np.array(state.position.value))
    return np.array(positions)


def main():
    import Sofa
    import SofaRuntime  # noqa: F401

    records = dict(np.load(RECORD)) if os.path.exists(RECORD) else {}
    for name in sys.argv[1:] or CASES:
        records[name] = run(Sofa, name)
        print(name, records[name].shape, np.abs(records[name][-1] - records[name][0]).max())
    np.savez_compressed(RECORD, **{name: records[name] for name in CASES if name in records})


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # SOFA's bindings abort when Python cleans up after them
