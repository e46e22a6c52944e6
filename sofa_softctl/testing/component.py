"""Check of components: what scenes expect of all, and a time step of each role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.runtime.behavior.mechanics import ForceField, Mass
from sofa_softctl.runtime.core import COMPONENTS, factory
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.testing.declaration import check_declaration, in_scene, names_line
from sofa_softctl.testing.force_field import check_force_field
from sofa_softctl.testing.mapping import check_mapping
from sofa_softctl.testing.mass import check_mass
from sofa_softctl.testing.matrices import displacement
from sofa_softctl.testing.scene import small_scene

STEPS = 3


def check_component(
    cls: type[Component],
    create: Callable[[Any], Component] | None = None,
    *,
    at_rest: bool = False,
    inactive: bool = False,
    scale: float = 1.0,
    tolerance: float = 1e-6,
    **values: Any,
) -> Component:
    """Check a component of the embedded runtime.

    Every one: its class and Data are documented, with known units; it can be registered; alone in
    a node it works or raises a SceneError with the scene's line; in a scene it makes steps. By
    its role also what `check_force_field`, `check_mapping` or `check_mass` say.

    Args:
        cls: The class.
        create: Builds a scene below the root that it is given, and returns the component. Default:
            a soft bar, 10 x 10 x 40 mm, that gets the component with `values`; a mapping gets
            three points to carry.
        at_rest: Compare forces and stiffness where the scene starts, and not with nodes displaced
            at random by up to a fifth of `scale`: for a stiffness that, as the corotational ones,
            leaves out a part of the derivative there.
        inactive: Expect a force field that neither pushes nor is stiff, see `check_force_field`.
        scale: Distance over which forces and positions bend [length].
        tolerance: Largest deviation of a derivative, relative to its largest entry [-].
        values: Data for the default scene.

    Returns:
        The component, in its scene after some steps.

    Raises:
        AssertionError: What is wrong, what was expected and what came.
    """
    Sofa: Any = find_backend("embedded").Sofa
    if not (isinstance(cls, type) and issubclass(cls, Component)):
        raise AssertionError(f"Expected a component's class, a subclass of Component; got {cls!r}.")
    with _registered(cls):
        check_declaration(cls)
        _check_alone(cls, Sofa)
        root = Sofa.Core.Node("root")
        component = create(root) if create is not None else _in_bar(root, cls, values)
        if type(component) is not cls:
            raise AssertionError(
                f"{cls.__name__}: expected `create` to return the component, got {component!r}."
            )
        Sofa.Simulation.init(root)
        if isinstance(component, ForceField):
            if not at_rest:
                _displace(component, scale)
            check_force_field(
                component, at_rest=at_rest, inactive=inactive, scale=scale, tolerance=tolerance
            )
        elif isinstance(component, Mapping):
            check_mapping(component, scale=scale, tolerance=tolerance)
        elif isinstance(component, Mass):
            check_mass(component)
        for _ in range(STEPS):
            Sofa.Simulation.animate(root, root.dt.value)
    return component


def _displace(field: ForceField, scale: float) -> None:
    state = field.state
    x = state._data["position"]
    u = displacement((state.count, state.deriv_size), scale, seed=0)
    state.kind.advance(x.get(), u, 1.0, x.get())
    x.touch()


def _in_bar(root: Any, cls: type[Component], values: dict[str, Any]) -> Component:
    scene = small_scene(root, mass=not issubclass(cls, Mass))
    node = scene.body
    if issubclass(cls, Mapping):
        node = node.addChild("carried")
        points = [[2.0, 3.0, 10.0], [7.0, 6.0, 25.0], [5.0, 5.0, 38.0]]
        node.addObject("MechanicalObject", name="dofs", position=points)
    component: Component = node.addObject(cls.__name__, **values)
    return component


def _check_alone(cls: type[Component], Sofa: Any) -> None:
    root = Sofa.Core.Node("root")
    try:
        in_scene("root.addObject(name, name='alone')", root=root, name=cls.__name__)
        Sofa.Simulation.init(root)
        Sofa.Simulation.animate(root, root.dt.value)
        Sofa.Simulation.reset(root)
    except SceneError as error:
        names_line(cls, error)
    except Exception as error:
        raise AssertionError(
            f"{cls.__name__}: alone in a node, expected it to work or to raise a SceneError that "
            f"says what it needs; got {type(error).__name__}: {error}."
        ) from error


@contextmanager
def _registered(cls: type[Component]) -> Iterator[None]:
    """The class is known to scenes; afterwards, as before."""
    known = factory.find(cls.__name__)
    if known not in (None, cls):
        raise AssertionError(
            f"{cls.__name__}: there already is a component of this name, {known.__module__}."
            f"{known.__qualname__}. Rename one of them."
        )
    with COMPONENTS.kept():
        factory.register(cls)
        yield
