"""What SofaPython3 answers: one line of Python each, run in a small scene of its own.

The value of the last expression of a line is described in words that do not depend on the backend:
of an exception the built-in classes as which a script can catch it.
"""

# ruff: noqa: E501  (a probe is a line)

import ast
import contextlib
import io

import numpy as np

PROBES = r"""
root
arm.children
arm.objects
root.children[0]
root.children["arm"]
root.children["nothing"]
root.children[7]
root.children.at(0)
len(root.children), len(arm.objects), "arm" in root.children, "nothing" in root.children
arm in root.children
[child.getName() for child in root.children]
[entry.getName() for entry in arm.objects]
arm.objects[0], arm.objects["dofs"]
arm.objects["nothing"]
list(arm.parents)
arm.objects.remove_at(1); [entry.getName() for entry in arm.objects]
root.children.remove_at(0); len(root.children)
root["arm"]
root["arm.tip"]
root["arm.dofs"]
root["arm.dofs.position"]
root["dt"]
root["arm.tip.points.position"]
root["nothing"]
root["arm.nothing"]
root["arm.dofs.nothing"]
root[""]
root.arm
root.arm.dofs
root.arm.tip.points
root.nothing
root.arm.dofs.nothing
root.dt
root.dt.value
root.gravity.value
root.time.value, root.animate.value, root.name.value
root.bbox.value
root.sleeping.value, root.canChangeSleepingState.value, root.activated.value
root.tags.value
root.linkpath
arm.dofs.linkpath
arm.dofs.position.linkpath
str(arm.dofs.linkpath)
str(arm.dofs.position.linkpath)
sorted(data.getName() for data in root.getDataFields())
type(root.getDataFields()), type(root.getLinks())
"position" in root.arm.dofs.__data__, type(root.arm.dofs.__data__["name"].value)
"position" in root.arm.dofs.__data__.keys()
root.getPathName(), arm.getPathName(), arm.dofs.getPathName(), arm.dofs.position.getPathName()
root.getLinkPath(), arm.getLinkPath(), arm.dofs.getLinkPath(), arm.dofs.position.getLinkPath()
root.getAsACreateObjectParameter(), arm.dofs.getAsACreateObjectParameter()
root.getRootPath(), arm.getRootPath(), arm.tip.getRootPath()
root.getRoot(), arm.tip.getRoot()
arm.tip.getRootContext()
root.getName(), arm.dofs.getName()
arm.dofs.setName("other"); arm.dofs.getName()
arm.dofs.setName("other"); arm.other.name.value
root.getClassName(), arm.dofs.getClassName(), arm.ode.getClassName()
root.getTemplateName(), arm.dofs.getTemplateName(), arm.ode.getTemplateName()
arm.dofs.getContext()
[entry.getCategories() for entry in arm.objects], arm.tip.map.getCategories()
arm.dofs.getMaster(), arm.dofs.getSlaves()
root.getDt(), root.getTime(), root.getGravity(), root.getAnimate(), root.isActive(), root.isSleeping()
root.setDt(0.5); root.dt.value
root.setGravity([0.0, 0.0, -1.0]); root.gravity.value
root.setAnimate(True); root.animate.value
root.setActive(False); root.activated.value
root.getState(), arm.getState(), arm.tip.getState()
arm.getMechanicalState(), arm.tip.getMechanicalState(), root.getMechanicalState()
arm.getMass(), root.getMass()
arm.getTopology(), arm.getMeshTopology(), root.getMeshTopology()
arm.getForceField(0)
arm.getForceField(9)
arm.getMechanicalMapping(), arm.tip.getMechanicalMapping()
arm.hasODESolver(), root.hasODESolver()
root.isInitialized()
Sofa.Simulation.initRoot(root); root.isInitialized()
arm.mass, arm.ode
arm.getChild("tip"), arm.getChild("nothing")
arm.getObject("dofs"), arm.getObject("nothing")
arm.hasObject("dofs"), arm.hasObject("nothing"), arm.hasObject("tip")
arm.dofs.getData("position"), arm.dofs.findData("position")
arm.dofs.getData("nothing")
arm.dofs.findData("nothing")
arm.dofs.findLink("topology"), arm.dofs.findLink("nothing")
arm.dofs.findData("dx")
arm.dofs.position.value
arm.dofs.position.array()
arm.dofs.position.toList()
arm.dofs.velocity.value
arm.dofs.getData("position").value
arm.dofs.position
arm.dofs.name
arm.dofs.position[0]
arm.dofs.position[1][0]
arm.dofs.position[0:1]
arm.dofs.position[5]
len(arm.dofs.position), len(arm.dofs.name)
[row for row in arm.dofs.position.value]
arm.dofs.position.shape, arm.dofs.position.ndim, arm.dofs.position.size
arm.dofs.position[0] = [5, 5, 5]; arm.dofs.position.value
arm.dofs.position[1][2] = 4.0; arm.dofs.position.value
arm.dofs.position.value[0] = [5, 5, 5]
arm.dofs.position.array()[0] = 1.0
arm.dofs.position = [[1, 1, 1]]; arm.dofs.position.value
arm.dofs.position.value = [[1, 1, 1]]; arm.dofs.position.value
arm.dofs.position.value = np.ones((2, 3)); arm.dofs.position.value
arm.dofs.position = np.ones((2, 3)); arm.dofs.position.value
arm.dofs.position.value = np.ones((3, 3)); arm.dofs.position.value
arm.dofs.position = arm.dofs.position.value + 1.0; arm.dofs.position.value
arm.dofs.position.value += 1.0; arm.dofs.position.value
arm.dofs.position.value = arm.dofs.velocity.value; arm.dofs.position.value
arm.dofs.position.value = "1 2 3"; arm.dofs.position.value
arm.dofs.position = "1 2 3 4 5 6"; arm.dofs.position.value
arm.dofs.position.setValue([[1, 1, 1]]); arm.dofs.position.getValue()
arm.dofs.position.read("1 2 3"), arm.dofs.position.value
arm.dofs.position.getValueString()
arm.dofs.position.getValueTypeString(), arm.dofs.position.typeName()
arm.mass.totalMass.getValueTypeString(), arm.dofs.name.typeName(), arm.dofs.printLog.typeName()
root.gravity.typeName(), root.dt.typeName(), root.tags.typeName()
arm.clamp.indices.typeName(), arm.roi.box.typeName()
arm.mass.totalMass.value, arm.ode.firstOrder.value, arm.linear.name.value
type(arm.mass.totalMass.value), type(arm.ode.firstOrder.value), type(arm.roi.box.value)
arm.clamp.indices.value
arm.roi.box.value
arm.dofs.position + 1.0
arm.dofs.position * 2.0
arm.dofs.position - arm.dofs.position
float(arm.mass.totalMass.value) * 2
arm.mass.totalMass.value = 3; arm.mass.totalMass.value
arm.mass.totalMass = 3; arm.mass.totalMass.value
arm.mass.totalMass.value = "4"; arm.mass.totalMass.value
arm.ode.firstOrder = 1; arm.ode.firstOrder.value
arm.ode.firstOrder = True; arm.ode.firstOrder.value
arm.dofs.name = "other"; arm.getObject("other")
arm.dofs.nothing = 3; arm.dofs.nothing
root.nothing = 3; root.nothing
controller.note = [1, 2]; controller.note
arm.dofs.position.getName(), arm.dofs.position.getOwner()
type(arm.dofs.position.getHelp())
arm.dofs.position.isSet(), arm.dofs.velocity.isSet()
arm.dofs.position.unset(); arm.dofs.position.isSet()
arm.dofs.position.isReadOnly(), arm.dofs.position.isRequired()
arm.dofs.position.setReadOnly(True); arm.dofs.position.isReadOnly()
arm.dofs.position.isPersistent(), arm.dofs.velocity.isPersistent()
arm.dofs.position.setPersistent(False); arm.dofs.position.isPersistent()
arm.dofs.position.hasParent(), arm.dofs.position.getParent()
arm.dofs.position.isDirty(), arm.dofs.position.hasChanged()
linked.hasParent(), linked.getParent()
linked.isDirty(); arm.dofs.position.value = [[9, 9, 9]]; linked.isDirty()
arm.dofs.position.value = [[9, 9, 9]]; linked.hasChanged(), linked.hasChanged()
arm.dofs.position.value = [[9, 9, 9]]; linked.updateIfDirty(); linked.isDirty()
arm.dofs.position.value = [[9, 9, 9]]; linked.value
linked.setParent(None)
linked.setParent(root.gravity)
arm.tip.points.velocity.setParent(arm.dofs.velocity); arm.tip.points.velocity.getParent()
arm.tip.points.velocity.setParent("@/arm/dofs.velocity"); arm.tip.points.velocity.getParent()
arm.tip.points.velocity.setParent(arm.dofs.velocity.linkpath); arm.tip.points.velocity.getParent()
arm.tip.points.velocity.setParent("@/nothing.velocity"); arm.tip.points.velocity.getParent()
arm.tip.points.velocity.value = arm.dofs.velocity; arm.tip.points.velocity.getParent()
before = arm.dofs.position.getCounter(); arm.dofs.position.value = [[1, 1, 1]]; arm.dofs.position.getCounter() - before
bool(arm.ode.firstOrder)
arm.ode.firstOrder == False
with arm.dofs.position.writeable() as x: x[0] = 7.0\n arm.dofs.position.value
with arm.dofs.position.writeableArray() as x: x[0] = 7.0\n arm.dofs.position.value
with arm.dofs.position.writeableArray() as x: x *= 2.0\n arm.dofs.position.value
with arm.dofs.position.writeable() as x: seen = x.copy()\n seen
with arm.dofs.position.writeable(None) as x: seen = x.copy()\n seen
with arm.mass.totalMass.writeableArray() as x: seen = x\n seen
with arm.dofs.name.writeableArray() as x: seen = x\n seen
arm.dofs["position"]
arm.dofs["nothing"]
controller.addData("t", type="string", value="a"); controller.t.value
controller.addData("t", type="bool", value=True); controller.t.value
controller.addData("t", type="int", value=3); controller.t.value
controller.addData("t", type="float", value=3.5); controller.t.value
controller.addData("t", type="double", value=3.5); controller.t.value
controller.addData("t", type="Vec3d", value=[1, 2, 3]); controller.t.value
controller.addData("t", type="vector<int>", value=[1, 2]); controller.t.value
controller.addData("t", type="vector<float>", value=[1.0, 2.0]); controller.t.value
controller.addData("t", type="vector<double>", value=[1.0, 2.0]); controller.t.value
controller.addData("t", type="vector<string>", value=["a", "b"]); controller.t.value
controller.addData("t", type="vector<Vec3d>", value=[[1, 2, 3]]); controller.t.value
controller.addData("t", type="vector<Rigid3d::Coord>", value=[[1, 2, 3, 0, 0, 0, 1]]); controller.t.value
controller.addData("t", type="vector<bool>", value=[True]); controller.t.value
controller.addData("t", type="RGBAColor", value=[1, 0, 0, 1]); controller.t.value
controller.addData("t", type="nothing")
controller.addData("t", value=3); controller.t.value
controller.addData("t", value=3.5); controller.t.value
controller.addData("t", value="text"); controller.t.value
controller.addData("t", value=True); controller.t.value
controller.addData("t", value=[1.0, 2.0]); controller.t.value
controller.addData("t", value=[1, 2]); controller.t.value
controller.addData("t", value=[[1.0, 2.0]]); controller.t.value
controller.addData("t", value=arm.dofs.position); controller.t.value
controller.addData("t", value=arm.dofs.position); controller.t.getParent()
controller.addData("t", value="@/arm/dofs.position"); controller.t.value
controller.addData("t", type="vector<Vec3d>", value="@/arm/dofs.position"); controller.t.value
controller.addData("t", default=3, type="int"); controller.t.value, controller.t.isSet()
controller.addData("t", "a", "b", "help", "group", "string"); controller.t.value, controller.t.getHelp()
controller.addData(arm.dofs.position); controller.position.getParent()
controller.addData("name", type="string", value="b")
controller.addData("t", type="int", value=3).getName()
arm.addData("t", type="int", value=3); arm.t.value
arm.dofs.addData("t", type="int", value=3); arm.dofs.t.value
controller.addLink("t", value=arm.dofs.linkpath); controller.findLink("t").getLinkedBase()
controller.addLink("t", value="@/arm/dofs"); controller.t.getLinkedPath()
arm.tip.map.input.getLinkedBase(), arm.tip.map.input.getName()
arm.tip.map.input.getLinkedPath(), arm.tip.map.input.getValueString(), arm.tip.map.input.getSize()
arm.tip.map.input.getOwnerBase(), arm.tip.map.input.getPathName()
arm.tip.map.input.isMultiLink(), arm.tip.map.input.isPersistent(), arm.tip.map.input.isReadOnly()
arm.tip.map.input.setLinkedBase(arm.dofs); arm.tip.map.input.getLinkedBase()
arm.tip.map.input = "@/arm/dofs"; arm.tip.map.input.getLinkedBase()
arm.tip.map.input.value
arm.dofs.setDataValues(name="other", printLog=True); arm.other.printLog.value
arm.dofs.setDataValues(nothing=3)
arm.addObject("MechanicalObject")
arm.addObject("MechanicalObject").getName(), arm.addObject("MechanicalObject").getName()
arm.addObject("MechanicalObject", name="dofs").getName(), len(arm.objects)
arm.addObject("Nothing")
arm.addObject("MechanicalObject", nothing=3)
arm.addObject("MechanicalObject", position="none")
arm.addObject(arm.dofs)
arm.addObject(Sofa.Core.Controller(name="c"))
arm.addObject(3)
arm.addObject("MechanicalObject", position=arm.dofs.position).position.value
arm.addObject("MechanicalObject", position=arm.dofs.position).position.getParent()
arm.addObject("MechanicalObject", position=arm.dofs.position.linkpath).position.getParent()
arm.addObject("MechanicalObject", position=arm.dofs.position.linkpath).position.value
arm.addObject("MechanicalObject", position=arm.dofs.position.getLinkPath()).position.getParent()
arm.addObject("MechanicalObject", name="m", position=[0, 0, 0], showObject="1").showObject.value
arm.add("MechanicalObject", name="m")
arm.add(lambda node, name: node.addChild(name), name="made")
arm.add(Sofa.Core.Node("made"))
arm.createChild("made")
arm.createObject("MechanicalObject", name="m")
arm.addChild("made")
arm.addChild("made", gravity=[1, 2, 3]).gravity.value
made = arm.addChild("made", gravity=[1, 2, 3]); Sofa.Simulation.initRoot(root); made.gravity.value
arm.addChild("made", nothing=3)
arm.addChild(Sofa.Core.Node("made"))
arm.addChild(3)
Sofa.Simulation.initRoot(root); arm.mass.assembleMMatrix().toarray()[0]
Sofa.Simulation.initRoot(root); type(arm.mass.assembleMMatrix())
Sofa.Core.Node().getName(), Sofa.Core.Node("n").getName()
root.removeChild("arm"), len(root.children)
root.removeChild(arm), len(root.children)
root.removeChild("nothing")
root.removeChild(arm.tip)
arm.removeObject(arm.dofs); arm.getObject("dofs")
arm.removeObject("dofs")
root.removeObject(arm.dofs)
root.moveChild(arm.tip, arm); arm.getChild("tip"), root.getChild("tip")
root.moveChild(arm.tip)
arm.detachFromGraph(); len(root.children)
root.sendEvent([1, 2], "hello"); controller.events[-1]
root.sendEvent([1, 2], "hello"); sorted(controller.events[-1])
Sofa.Simulation.animate(root, 0.01); [event["type"] for event in controller.events]
Sofa.Simulation.initRoot(root); Sofa.Simulation.animate(root, 0.01); [event["type"] for event in controller.events]
Sofa.Simulation.init(root); controller.calls
Sofa.Simulation.init(root); Sofa.Simulation.reset(root); controller.calls
controller.reinit(); controller.calls
Sofa.Simulation.init(root); root.removeObject(controller); controller.calls
Sofa.Simulation.init(root)
Sofa.Simulation.initRoot(root)
Sofa.Simulation.initRoot(root); Sofa.Simulation.animate(root, 0.01), root.time.value
Sofa.Simulation.initRoot(root); Sofa.Simulation.animate(root), root.time.value
Sofa.Simulation.initRoot(root); Sofa.Simulation.animate(root, dt=0.01), root.time.value
Sofa.Simulation.initRoot(root); Sofa.Simulation.animateNSteps(root, 3, 0.01), root.time.value
Sofa.Simulation.initRoot(root); Sofa.Simulation.animate(root, 0.01); Sofa.Simulation.reset(root), root.time.value
Sofa.Simulation.initRoot(root); Sofa.Simulation.unload(root)
Sofa.Simulation.updateVisual(root), Sofa.Simulation.initVisual(root)
Sofa.Simulation.print(root)
Sofa.Simulation.load("nothing.py")
Sofa.Simulation.initRoot(root); arm.dofs.reset(), arm.dofs.reinit(), arm.dofs.cleanup()
arm.init(), arm.dofs.init(), arm.dofs.bwdInit()
Sofa.Simulation.initRoot(root); arm.dofs.storeResetState()
isinstance(root, Sofa.Core.Node), isinstance(root, Sofa.Core.Base), isinstance(root, Sofa.Core.BaseNode)
isinstance(root, Sofa.Core.Context), isinstance(root, Sofa.Core.BaseContext)
isinstance(arm.dofs, Sofa.Core.Object), isinstance(arm.dofs, Sofa.Core.Base)
isinstance(controller, Sofa.Core.Controller), isinstance(controller, Sofa.Core.Object)
isinstance(arm.dofs.position, Sofa.Core.Data), isinstance(arm.dofs.position, Sofa.Core.DataContainer)
isinstance(arm.dofs.name, Sofa.Core.DataString), isinstance(root.dt, Sofa.Core.DataContainer)
isinstance(root.tags, Sofa.Core.DataVectorString), isinstance(root.tags, Sofa.Core.DataContainer)
isinstance(arm.dofs.linkpath, Sofa.Core.LinkPath), isinstance(arm.tip.map.input, Sofa.Core.Link)
root == arm.getRoot(), arm == arm.dofs.getContext(), arm.dofs == arm.getObject("dofs")
root is arm.getRoot(), controller is root.getObject("controller")
hash(arm) == hash(root.getChild("arm"))
Sofa.Core.Controller("positional").getName()
Sofa.Core.Controller(name="c", anything=3).name.value
Sofa.Core.Controller(name="c").listening.value
Sofa.Core.ObjectFactory.getComponent("MechanicalObject").className
Sofa.Core.ObjectFactory.getComponent("Nothing")
"MechanicalObject" in [entry.className for entry in Sofa.Core.ObjectFactory.components]
type(Sofa.Core.ObjectFactory.components)
SofaRuntime.importPlugin("Sofa.Component.Mass")
SofaRuntime.importPlugin("Nothing")
SofaRuntime.init()
SofaRuntime.getCategories("MechanicalObject")
type(SofaRuntime.DataRepository.getPaths()), type(SofaRuntime.PluginRepository.getPathsJoined())
SofaRuntime.DataRepository.addFirstPath("/tmp/first"); SofaRuntime.DataRepository.getFirstPath()
SofaRuntime.DataRepository.addLastPath("/tmp/last"); SofaRuntime.DataRepository.getPaths()[-1]
SofaRuntime.DataRepository.findFile("nothing.obj")
SofaRuntime.DataRepository.getFile("nothing.obj")
timer = SofaRuntime.Timer; timer.getRecords("nothing")
timer = SofaRuntime.Timer; timer.setEnabled("a", True); timer.begin("a"); found = timer.getRecords("a"); timer.end("a"); sorted(found)
timer = SofaRuntime.Timer; timer.setEnabled("a", True), timer.begin("a"), timer.end("a"), timer.clear()
timer = SofaRuntime.Timer; timer.setEnabled("a", False); timer.begin("a"); found = timer.getRecords("a"); timer.end("a"); found
SofaRuntime.Timer.isEnabled("a"), SofaRuntime.Timer.getInterval("a")
Sofa.Core.TaskScheduler.init(1), Sofa.Core.TaskScheduler.getThreadCount(), Sofa.Core.TaskScheduler.stop()
type(Sofa.Core.TaskScheduler.GetHardwareThreadsCount())
Sofa.msg_info("a", "b"), Sofa.msg_warning(root, "b"), Sofa.msg_deprecated("a", "b")
Sofa.msg_info("a")
Sofa.Helper.msg_info("a"), Sofa.Helper.msg_info("a", "b"), Sofa.Helper.msg_info(root, "b")
Sofa.Helper.msg_error("a", "b", "file.py", 3)
with Listener() as it: Sofa.Helper.msg_info("a", "b")\n it.heard
with Listener() as it: Sofa.Helper.msg_warning(arm.dofs, "b")\n it.heard
with Listener() as it: Sofa.Helper.msg_error(arm, "b"); Sofa.Helper.msg_deprecated(arm, "c")\n it.heard
with Listener() as it: Sofa.msg_warning(arm, "b"); Sofa.msg_error("a", "b")\n it.heard
from Sofa.constants import Key, KeyCode; Key.uparrow, Key.A, Key.KP_1, KeyCode.A
from Sofa.constants import *; Key.plus
Sofa.import_sofa_python_scene("nothing.py")
node = arm.addChild(Arm(name="p")); node.n.value, [child.getName() for child in node.children]
node = arm.addChild(Arm(name="p", n=3)); node.n.value, [child.getName() for child in node.children]
node = Arm(); node.getName(), node.prefabname.value, node.getClassName()
node = Arm(parent=arm); node.getPathName()
node = arm.addChild(Arm(name="p")); node.n.value = 4; node.reinit(); [child.getName() for child in node.children]
node = arm.addChild(Arm(name="p")); node.n.value = 4; len(node.children)
Arm(name="p", nothing=3).getName()
isinstance(Arm(), Sofa.Core.Node), isinstance(Arm(), Sofa.Prefab), isinstance(Arm(), Sofa.Core.RawPrefab)
node = arm.addChild(Arm(name="p", n=root.nodes.linkpath)); node.n.value, len(node.children)
engine = root.addObject(Doubler(name="e")); engine.output.value
engine = root.addObject(Doubler(name="e")); engine.input.value = 4.0; engine.output.value
engine = root.addObject(Doubler(name="e")); engine.output.value; engine.output.value; engine.updates
engine = root.addObject(Doubler(name="e", input=3.0)); engine.input.value
"""

PROBES = [line.replace("\\n ", "\n") for line in PROBES.strip().splitlines()]


def answer(Sofa, code):
    """What a probe gives, in words."""
    *statements, last = ast.parse(code).body
    assert isinstance(last, ast.Expr) or not statements
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            names = scene(Sofa)
            exec(compile(ast.Module(statements, []), "probe", "exec"), names)
            if not isinstance(last, ast.Expr):
                exec(compile(ast.Module([last], []), "probe", "exec"), names)
                return "nothing"
            value = eval(compile(ast.Expression(last.value), "probe", "eval"), names)
            return describe(value)
        except Exception as error:
            return f"raises {caught_as(error)}"


def scene(Sofa):
    """The names that probes use: a scene of two nodes, its controller, and classes to try."""
    import SofaRuntime

    root = Sofa.Core.Node("root")
    root.addObject("DefaultAnimationLoop", name="loop")
    root.addData("nodes", type="int", value=5)
    controller = root.addObject(listening_controller(Sofa)(name="controller"))
    arm = root.addChild("arm")
    arm.addObject("EulerImplicitSolver", name="ode")
    arm.addObject("CGLinearSolver", name="linear", iterations=25, tolerance=1e-9, threshold=1e-9)
    arm.addObject("MechanicalObject", name="dofs", position=[[0.0, 0, 0], [1.0, 0, 0]])
    arm.addObject("UniformMass", name="mass", totalMass=1.0)
    arm.addObject("BoxROI", name="roi", box=[-1, -1, -1, 0.5, 1, 1])
    arm.addObject("FixedProjectiveConstraint", name="clamp", indices=[0])
    tip = arm.addChild("tip")
    points = tip.addObject("MechanicalObject", name="points", position="@../dofs.position")
    tip.addObject("IdentityMapping", name="map", input="@../dofs", output="@points")
    return {
        "Sofa": Sofa,
        "SofaRuntime": SofaRuntime,
        "np": np,
        "root": root,
        "arm": arm,
        "controller": controller,
        "linked": points.position,
        "Listener": message_listener(Sofa),
        "Arm": prefab(Sofa),
        "Doubler": engine(Sofa),
    }


def listening_controller(Sofa):
    """A class of controllers that keep their events, and what else is called."""

    class Listening(Sofa.Core.Controller):
        def __init__(self, *args, **kwargs):
            Sofa.Core.Controller.__init__(self, *args, **kwargs)
            self.events, self.calls = [], []

        def init(self):
            self.calls.append("init")

        def bwdInit(self):
            self.calls.append("bwdInit")

        def reinit(self):
            self.calls.append("reinit")

        def reset(self):
            self.calls.append("reset")

        def cleanup(self):
            self.calls.append("cleanup")

        def onEvent(self, event):
            self.events.append(dict(event))

        def onPythonScriptEvent(self, event):
            self.events.append(dict(event))

    return Listening


def message_listener(Sofa):
    """A class of message handlers that keep what they hear."""

    class Listener(Sofa.Helper.MessageHandler):
        def __init__(self):
            Sofa.Helper.MessageHandler.__init__(self)
            self.heard = []

        def process(self, message):
            self.heard.append(dict(message))

    return Listener


def prefab(Sofa):
    """A prefab of `n` nodes."""

    class Arm(Sofa.Prefab):
        prefabParameters = [{"name": "n", "type": "int", "help": "Nodes.", "default": 2}]

        def __init__(self, *args, **kwargs):
            Sofa.Prefab.__init__(self, *args, **kwargs)

        def init(self):
            for i in range(self.n.value):
                self.addChild(f"n{i}")

    return Arm


def engine(Sofa):
    """An engine whose output is twice its input."""

    class Doubler(Sofa.Core.DataEngine):
        def __init__(self, *args, **kwargs):
            Sofa.Core.DataEngine.__init__(self, *args, **kwargs)
            self.updates = 0
            self.addData("input", type="float", value=kwargs.get("input", 1.0))
            self.addData("output", type="float", value=0.0)
            self.addInput(self.input)
            self.addOutput(self.output)

        def update(self):
            self.updates += 1
            self.output.value = 2.0 * self.input.value

    return Doubler


def describe(value):
    """A value in words; True and False as the numbers that SOFA gives for them."""
    if isinstance(value, np.ndarray):
        kept = "writeable" if value.flags.writeable else "read-only"
        return f"{kept} array {value.dtype.name} {value.shape} {value.tolist()}"
    if isinstance(value, type):
        return f"class {value.__name__}"
    if hasattr(value, "remove_at"):
        return "NodeIterator"
    if isinstance(value, list | tuple):
        inner = ", ".join(describe(entry) for entry in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {describe(entry)}' for key, entry in value.items())}}}"
    if hasattr(value, "getOwner"):
        return f"Data {value.getName()}"
    if hasattr(value, "getOwnerBase"):
        return f"Link {value.getName()}"
    if hasattr(value, "getClassName"):
        return f"{value.getClassName()} {value.getName()}"
    if type(value).__name__ == "LinkPath":
        return f"LinkPath {value}"
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, int | float | str | bytes) or value is None:
        return repr(value)
    return type(value).__name__


def caught_as(error):
    """The built-in exceptions as which a script can catch it, but for those that catch all."""
    kinds = [kind for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    return " ".join(kind.__name__ for kind in kinds[: kinds.index(Exception)]) or "Exception"
