"""Where the embedded runtime differs from SofaPython3 on purpose, and why."""

# ruff: noqa: E501  (a probe is a line)

ABSENT = {
    "Sofa.Core.Camera": "nothing is drawn: sofa_softctl.view films a scene",
    "Sofa.Core.ForceFieldRigid2d": "there are no states of that template",
    "Sofa.Core.ForceFieldVec1d": "states are Vec3 in this version",
    "Sofa.Core.ForceFieldVec2d": "states are Vec3 in this version",
    "Sofa.Core.ForceFieldVec6d": "states are Vec3 in this version",
    "Sofa.Core.MassRigid": "states are Vec3 in this version",
    "Sofa.Core.MassVec1d": "states are Vec3 in this version",
    "Sofa.Core.MassVec2d": "states are Vec3 in this version",
    "Sofa.Core.MassVec6d": "states are Vec3 in this version",
    "Sofa.Core.RawPrefab.reinit": "the examples call that of components",
    "Sofa.Helper.StdVector": "the examples append to Python's lists",
    "Sofa.Node": "SOFA has it neither: the examples mean Sofa.Core.Node",
    "Sofa.SofaDeformable.SpringForceField_Vec2d": "there are no states of that template",
    "Sofa.SofaDeformable.SpringForceField_Vec6d": "there are no states of that template",
    "Sofa.SofaLinearSystem.": "it has no classes to import; MatrixLinearSystem has A(), b(), x()",
    "Sofa.Types.CompressedRowSparseMatrix": "the examples read the value of other Data",
}
"""Names, or beginnings of names, that an example may use and that are missing."""

_ARRAYS = "whole numbers are int64 and other numbers float64, whatever SOFA's C++ has"
_BINDING = "a slip of SOFA's binding, which nobody can have meant"
_BUILT = "SOFA silently empties a prefab whose parameter changes; that is an error here"
_CLASS = "a bool is Python's; it equals SOFA's 0 and 1"
_ERROR = "an error here, where SOFA goes on as if nothing was wrong"
_KINDS = "types that SOFA knows by other names, or addData here not"
_MORE = "more is accepted than SOFA does"
_TOLD = "controllers are told of a reset and of their end; a Session does so in SOFA"

DIFFERENT = {
    "arm in root.children": _MORE,
    'root["nothing"]': _ERROR,
    'root["arm.nothing"]': _ERROR,
    "root.sleeping.value, root.canChangeSleepingState.value, root.activated.value": _BINDING,
    "sorted(data.getName() for data in root.getDataFields())": "nbComputedSteps is the loop's in SOFA; componentState is a GUI's",
    "root.getDt(), root.getTime(), root.getGravity(), root.getAnimate(), root.isActive(), root.isSleeping()": "gravity is an array, as root.gravity.value is; there is no SofaTypes",
    "root.setGravity([0.0, 0.0, -1.0]); root.gravity.value": _MORE,
    "root.getState(), arm.getState(), arm.tip.getState()": _BINDING,
    'arm.dofs.getData("nothing")': _ERROR,
    'arm.dofs.findLink("topology"), arm.dofs.findLink("nothing")': "a state has no link to a topology here; None for what is not there",
    "arm.dofs.position[0] = [5, 5, 5]; arm.dofs.position.value": _MORE,
    "root.gravity.typeName(), root.dt.typeName(), root.tags.typeName()": _KINDS,
    "arm.clamp.indices.typeName(), arm.roi.box.typeName()": _KINDS,
    "type(arm.mass.totalMass.value), type(arm.ode.firstOrder.value), type(arm.roi.box.value)": _CLASS,
    "arm.clamp.indices.value": _ARRAYS,
    'arm.mass.totalMass.value = "4"; arm.mass.totalMass.value': _MORE,
    "arm.dofs.nothing = 3; arm.dofs.nothing": "SOFA forgets attributes of C++ objects; here objects are Python's",
    "arm.dofs.position.isSet(), arm.dofs.velocity.isSet()": "set by the scene; SOFA counts what the state sets itself",
    "with arm.mass.totalMass.writeableArray() as x: seen = x\nseen": "one number is no array here",
    'controller.addData("t", type="vector<int>", value=[1, 2]); controller.t.value': _ARRAYS,
    'controller.addData("t", type="vector<float>", value=[1.0, 2.0]); controller.t.value': _ARRAYS,
    'controller.addData("t", type="vector<Rigid3d::Coord>", value=[[1, 2, 3, 0, 0, 0, 1]]); controller.t.value': _MORE,
    'controller.addData("t", type="vector<bool>", value=[True]); controller.t.value': _KINDS,
    "controller.addData(arm.dofs.position); controller.position.getParent()": _BINDING,
    'controller.addData("name", type="string", value="b")': _ERROR,
    'arm.addObject("MechanicalObject").getName(), arm.addObject("MechanicalObject").getName()': "names are numbered, so that paths are unique; SOFA gives both the same",
    'arm.addObject("MechanicalObject", position="none")': _ERROR,
    "arm.addObject(arm.dofs)": _ERROR,
    'arm.add(lambda node, name: node.addChild(name), name="made")': _BINDING,
    'arm.add(Sofa.Core.Node("made"))': _BINDING,
    'arm.addChild("made", gravity=[1, 2, 3]).gravity.value': "the parent's gravity is taken at once; SOFA does so at init",
    "root.removeChild(arm), len(root.children)": _MORE,
    "root.removeChild(arm.tip)": _ERROR,
    'arm.removeObject("dofs")': _MORE,
    "root.removeObject(arm.dofs)": _ERROR,
    "root.moveChild(arm.tip)": _MORE,
    'Sofa.Simulation.animate(root, 0.01); [event["type"] for event in controller.events]': _ERROR,
    "Sofa.Simulation.init(root); Sofa.Simulation.reset(root); controller.calls": _TOLD,
    "Sofa.Simulation.init(root); root.removeObject(controller); controller.calls": _TOLD,
    "Sofa.Simulation.initRoot(root); Sofa.Simulation.animate(root), root.time.value": _MORE,
    "Sofa.Simulation.initRoot(root); Sofa.Simulation.animate(root, dt=0.01), root.time.value": _MORE,
    'Sofa.Simulation.load("nothing.py")': _ERROR,
    'Sofa.Core.Controller("positional").getName()': "an object without a name gets one when it is added",
    'Sofa.Core.ObjectFactory.getComponent("Nothing")': "None; SOFA gives an entry without a component",
    'SofaRuntime.importPlugin("Nothing")': "there is nothing to load, so no plugin is missing",
    'SofaRuntime.Timer.isEnabled("a"), SofaRuntime.Timer.getInterval("a")': _BINDING,
    'Sofa.msg_info("a")': _MORE,
    'Sofa.import_sofa_python_scene("nothing.py")': _BINDING,
    'node = arm.addChild(Arm(name="p")); node.n.value = 4; node.reinit(); [child.getName() for child in node.children]': _BUILT,
    'node = arm.addChild(Arm(name="p")); node.n.value = 4; len(node.children)': _BUILT,
}
"""Probes whose answer differs."""
