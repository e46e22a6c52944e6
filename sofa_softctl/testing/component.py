"""Check of components: the rules that hold for all, and time steps of each role."""

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

STEP_COUNT = 3


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

    For every component: its class and Data are documented, with known units; it can be registered;
    as the only component of a node it works or raises a SceneError with the scene's line; it makes
    steps in a scene. Depending on its role, `check_force_field`, `check_mapping` or `check_mass`
    follow.

    Args:
        cls: The class.
        create: Builds a scene below the given root and returns the component. By default the
            component, with `values`, is added to a soft bar of 10 x 10 x 40 mm; a mapping drives
            three points.
        at_rest: Compare forces and stiffness only where the scene starts, and not with nodes
            displaced at random by up to a fifth of `scale`: for stiffnesses that neglect a part of
            the derivative there, such as corotational ones.
        inactive: Expect neither forces nor stiffness, see `check_force_field`.
        scale: Distance over which forces and positions bend [length].
        tolerance: Largest deviation of a derivative, relative to its largest entry [-].
        values: Data for the default scene.

    Returns:
        The component, in its scene after some steps.

    Raises:
        AssertionError: The component breaks a rule; the message names it.
    """
    Sofa: Any = find_backend("embedded").Sofa
    if not (isinstance(cls, type) and issubclass(cls, Component)):
        raise AssertionError(f"Expected a component's class, a subclass of Component; got {cls!r}.")
    with _register(cls):
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
        for _ in range(STEP_COUNT):
            Sofa.Simulation.animate(root, root.dt.value)
    return component


def _displace(field: ForceField, scale: float) -> None:
    state = field.state
    x = state.position
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
def _register(cls: type[Component]) -> Iterator[None]:
    """Register the class for scenes in the block."""
    registered = factory.find(cls.__name__)
    if registered not in (None, cls):
        raise AssertionError(
            f"{cls.__name__}: there already is a component of this name, {registered.__module__}."
            f"{registered.__qualname__}. Rename one of them."
        )
    with COMPONENTS.kept():
        factory.register(cls)
        yield
