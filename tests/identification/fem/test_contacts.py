"""A modulus is found from motion in contact: a beam that slides on a pin, with friction."""

import dataclasses

import numpy as np
import pytest

from sofa_softctl.identification import estimate
from sofa_softctl.identification.data.files import read_recording
from sofa_softctl.identification.fem import Drive, FemProblem, Marker, young_modulus
from sofa_softctl.scene.session.session import Session

PIN = (7.0, -0.3, 70.0)
"""Under a beam that hangs out to 90 mm, a little below its first position."""


@pytest.fixture(scope="module")
def scene(beam):
    """Pulled up by a cable, it presses on the pin less and less."""

    def createScene(root, modulus=400.0, mu=0.3, pin=PIN):
        node = beam(root, (2, 2, 5), cables=1, value_type="force")
        node.fem.youngModulus.value = modulus
        root.constraints.tolerance.value, root.constraints.maxIterations.value = 1e-14, 20_000
        for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
            root.addObject(kind)
        root.addObject("MinProximityIntersection", alarmDistance=2.0, contactDistance=0.5)
        root.addObject(
            "CollisionResponse", response="FrictionContactConstraint", responseParams=f"mu={mu}"
        )
        skin = node.addChild("skin")
        triangles = [[a, b, c] for a, b, c, _ in node.mesh.tetrahedra.value.tolist()]
        skin.addObject(
            "MeshTopology", position=node.mesh.position.value.tolist(), triangles=triangles
        )
        skin.addObject("MechanicalObject", name="dofs")
        skin.addObject("TriangleCollisionModel")
        skin.addObject("IdentityMapping")
        below = root.addChild("below")
        below.addObject("MechanicalObject", name="dofs", position=[pin])
        below.addObject("PointCollisionModel", moving=False, simulated=False)
        return root

    return createScene


def problem(scene):
    return FemProblem(
        name="beam on a pin",
        scene=scene,
        parameters=(young_modulus("modulus", 300.0, scene_parameter="modulus"),),
        drives=(Drive("tension", "/beam/cable_0/cable"),),
        sensors=(Marker("end", at=(10.0, 10.0, 90.0), deviation=0.01),),
        settled=False,
    )


@pytest.mark.soak
def test_a_modulus_is_found_in_contact_and_not_without(scene, tmp_path):
    """Of the scene's own record, 0.2 s: to 1e-6. A model without the pin misses it by far."""
    session = Session(scene, backend="embedded")
    cable = session.root.beam.cable_0.cable
    with session.recording(tmp_path / "run.mcap"):
        for number in range(20):
            cable.value.value = [10.0 * number * 0.01]
            session.step()
    own = problem(scene)
    found = read_recording(tmp_path / "run.mcap", own)
    whole = dataclasses.replace(  # the scene's start is before the record's first sample
        found,
        time=np.append(0.0, found.time),
        inputs=np.vstack([[0.0], found.inputs]),
        outputs=np.vstack([np.full((1, found.outputs.shape[1]), np.nan), found.outputs]),
    )
    assert estimate([own.experiment(whole)]).rho == pytest.approx([400.0], rel=1e-6)

    def adrift(root, modulus=400.0):
        return scene(root, modulus, pin=(7.0, -60.0, 70.0))

    assert abs(estimate([problem(adrift).experiment(whole)]).rho[0] - 400.0) > 40.0
