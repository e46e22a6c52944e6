"""Scenes of large strains and of statics, for parity_scenes.py."""

LAME = [143.0, 571.0]
MATERIALS = {
    "st_venant_kirchhoff": {"materialName": "StVenantKirchhoff", "ParameterSet": LAME},
    "neo_hookean": {"materialName": "NeoHookean", "ParameterSet": LAME},
    "stable_neo_hookean": {"materialName": "StableNeoHookean", "ParameterSet": LAME},
    "arruda_boyce": {"materialName": "ArrudaBoyce", "ParameterSet": [140.0, 666.0]},
    "mooney_rivlin": {"materialName": "MooneyRivlin", "ParameterSet": [50.0, 21.5, 666.0]},
}


def body(root, box, material=None, gravity=-6e4):
    """The beam of parity_scenes.py, whose integrator is to be added before."""
    points, tetrahedra = box(3, 3, 9, (20.0, 20.0, 90.0))
    root.dt = 0.01
    root.gravity = [0.0, gravity, 0.0]
    node = root.children[0]
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject(
        "TetrahedronSetTopologyContainer",
        name="mesh",
        position=points.tolist(),
        tetrahedra=tetrahedra.tolist(),
    )
    node.addObject("MechanicalObject", name="dofs")
    node.addObject("UniformMass", totalMass=0.04)
    if material is None:
        node.addObject("TetrahedronFEMForceField", youngModulus=400.0, poissonRatio=0.4)
    else:
        node.addObject("TetrahedronHyperelasticityFEMForceField", **material)
    foot = [i for i, p in enumerate(points) if p[2] < 1e-9]
    node.addObject("FixedProjectiveConstraint", indices=foot)


def falling(root, box, **options):
    """It falls and swings, bent by a third of its length: gravity is not that of the earth."""
    root.addObject("DefaultAnimationLoop")
    node = root.addChild("beam")
    node.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.05)
    body(root, box, **options)


def resting(root, box, newton=None, **options):
    """It goes to where it rests, by few iterations a step, so that the first are recorded too."""
    root.addObject("DefaultAnimationLoop")
    node = root.addChild("beam")
    if newton is not None:
        node.addObject("NewtonRaphsonSolver", name="newton", **newton)
        node.addObject("StaticSolver", newtonSolver="@newton")
    else:
        node.addObject("StaticSolver", newton_iterations=2)
    body(root, box, gravity=-1e5, **options)


SEARCHING = {"maxNbIterationsNewton": 2, "maxNbIterationsLineSearch": 4}
"""Two iterations a step, and steps that are shortened."""
PATIENT = {
    "maxNbIterationsNewton": 60,
    "maxNbIterationsLineSearch": 10,
    "lineSearchCoefficient": 0.6,
    "relativeSuccessiveStoppingThreshold": 0.0,
    "relativeInitialStoppingThreshold": 0.0,
}
"""Until the residual is small, however short the steps must be."""
BY_STEPS = PATIENT | {
    "maxNbIterationsLineSearch": 1,
    "absoluteResidualStoppingThreshold": 0.0,
    "relativeEstimateDifferenceThreshold": 0.03,
    "absoluteEstimateDifferenceThreshold": 1e-2,
}
"""Until an iteration moves little, which is far from rest."""


def cases(box):
    """Scene and its parameters, by name."""
    found = {}
    for name, material in MATERIALS.items():
        options = {"box": box, "material": material}
        found[f"falling_{name}"] = (falling, options)
        found[f"resting_{name}"] = (resting, options | {"newton": SEARCHING})
    options = {"box": box, "material": MATERIALS["neo_hookean"]}
    found["resting_to_the_end"] = (resting, options | {"newton": PATIENT})
    found["resting_by_steps"] = (resting, options | {"newton": BY_STEPS})
    found["resting_by_old_names"] = (resting, options)
    found["resting_corotational"] = (resting, {"box": box, "newton": SEARCHING})
    return found
