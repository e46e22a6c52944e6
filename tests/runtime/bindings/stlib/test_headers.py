"""stlib3.scene and stlib3.solver: what scenes begin with."""

import pytest


def test_the_main_header(root, graph):
    from stlib3.scene import MainHeader

    plugins = ["SoftRobots"]
    assert MainHeader(root, [0.0, -9810.0, 0.0], 0.02, plugins, repositoryPaths=["."]) is root
    assert (root.gravity.value.tolist(), root.dt.value) == ([0.0, -9810.0, 0.0], 0.02)
    assert graph(root) == [
        "VisualStyle VisualStyle",
        "DefaultVisualManagerLoop DefaultVisualManagerLoop",
        "AnimationStarter AnimationStarter",
        {
            "Config": [
                "RequiredPlugin SoftRobots",
                "RequiredPlugin SofaPython3",
                "AddDataRepository AddDataRepository0",
                "OglSceneFrame OglSceneFrame",
            ]
        },
    ]
    assert plugins == ["SoftRobots"]


def test_plugins_that_are_no_list_are_reported(root, graph, caplog):
    from stlib3.scene import MainHeader

    MainHeader(root, plugins="SoftRobots", doDebug=True)
    assert "plugins must be a list of names, got 'SoftRobots'" in caplog.text
    assert graph(root)[-1] == {"Config": []}


def test_the_contact_header(root, graph):
    from stlib3.scene import ContactHeader

    assert ContactHeader(root, alarmDistance=4, contactDistance=3, frictionCoef=0.08) is root
    assert graph(root) == [
        "CollisionPipeline CollisionPipeline",
        "BruteForceBroadPhase BruteForceBroadPhase",
        "BVHNarrowPhase BVHNarrowPhase",
        "RuleBasedContactManager Response",
        "LocalMinDistance LocalMinDistance",
        "FreeMotionAnimationLoop FreeMotionAnimationLoop",
        "GenericConstraintSolver GenericConstraintSolver",
    ]
    assert root.Response.responseParams.value == "mu=0.08"
    assert root.LocalMinDistance.alarmDistance.value == 4.0
    assert root.GenericConstraintSolver.tolerance.value == 1e-6


@pytest.mark.parametrize("name", ["GenericConstraintSolver", "BlockGaussSeidelConstraintSolver"])
def test_the_contact_header_adds_what_is_not_there(root, graph, name):
    from stlib3.scene.contactheader import ContactHeader

    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", name=name)
    ContactHeader(root, 4, 3)
    classes = [entry.partition(" ")[0] for entry in graph(root)]
    assert classes.count("GenericConstraintSolver") == classes.count("FreeMotionAnimationLoop") == 1


def test_the_default_solver(root, graph):
    from stlib3.solver import DefaultSolver

    assert DefaultSolver(root).iterations.value == 25
    assert DefaultSolver(root.addChild("arm"), iterative=False).getClassName() == "SparseLDLSolver"
    assert graph(root)[:2] == [
        "EulerImplicitSolver TimeIntegrationSchema",
        "CGLinearSolver LinearSolver",
    ]


def test_a_scene_with_all_its_parts(root, graph, run):
    from stlib3.scene import Scene

    scene = Scene(root, [0.0, 0.0, -9.81], 0.02, plugins=["SoftRobots"], iterative=False)
    assert scene is root
    scene.addMainHeader()
    scene.addContact(alarmDistance=0.015, contactDistance=0.0005, frictionCoef=0.1)
    assert [child.getName() for child in root.children] == ["Settings", "Modelling", "Simulation"]
    assert graph(root.Settings) == [
        "OglSceneFrame OglSceneFrame",
        "AttachBodyButtonSetting mouseButton",
        {
            "Plugins": [
                "RequiredPlugin SoftRobots",
                "RequiredPlugin SofaPython3",
                "RequiredPlugin Sofa.Component.ODESolver.Backward",
            ]
        },
    ]
    assert graph(root.Simulation) == [
        "EulerImplicitSolver TimeIntegrationSchema",
        "SparseLDLSolver LinearSolver",
    ]
    assert graph(root)[:3] == [
        "VisualStyle VisualStyle",
        "AnimationStarter AnimationStarter",
        "AnimationManagerController AnimationManager",
    ]
    assert root.LocalMinDistance.contactDistance.value == 0.0005
    scene.addSolver(scene.Modelling.addChild("arm"))
    assert scene.Modelling.arm.LinearSolver
    run(root)
    assert root.time.value == pytest.approx(0.1)


def test_parts_of_a_scene_one_by_one(root, graph):
    from stlib3.scene import Scene

    scene = Scene(root)
    assert scene.addSettings(repositoryPaths=["."]) is root
    assert scene.addModelling() is scene.addSimulation() is root
    assert "AddDataRepository AddResourceRepository0" in graph(root.Settings)
    assert graph(root.Simulation)[1] == "CGLinearSolver LinearSolver"


def test_interaction_takes_objects_below_one_solver(Sofa, root, graph):
    from stlib3.scene import Interaction

    made = Interaction(root, targets=[Sofa.Core.Node("ball")])
    assert graph(root) == [
        {
            "Interaction": [
                "EulerImplicitSolver EulerImplicitSolver",
                "CGLinearSolver CGLinearSolver",
                {"ball": []},
            ]
        }
    ]
    assert made.ball is root.Interaction.ball
    assert root.Interaction.findData("Prefab type").value == "Interaction"


def test_a_wrapper_asks_about_every_object(root, graph):
    from stlib3.scene import Node, Wrapper

    def other_solver(node, kind, cache, values):
        return (cache[kind], values) if kind in cache else None

    wrapped = Wrapper(root, other_solver, {"CGLinearSolver": "SparseLDLSolver"})
    wrapped.addObject("CGLinearSolver", name="linear")
    wrapped.createChild("arm").createObject("CGLinearSolver")
    Node(wrapped, "leg").addObject("MechanicalObject")
    assert graph(root) == [
        "SparseLDLSolver linear",
        {"arm": ["SparseLDLSolver SparseLDLSolver"]},
        {"leg": ["MechanicalObject MechanicalObject"]},
    ]
    assert wrapped.linear is root.linear and wrapped.getPathName() == "/"
