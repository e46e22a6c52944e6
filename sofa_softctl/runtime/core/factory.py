"""Component factory: names and aliases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sofa_softctl.base.registry import Registry
from sofa_softctl.base.source_line import describe, scene_line
from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import PluginError, SceneError, SoftctlError, UnknownComponentError
from sofa_softctl.runtime.core import COMPONENTS
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.paths import follow_path
from sofa_softctl.runtime.helper.message import complain

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.node import Node

_otherwise: Callable[[str], type[Component]] | None = None
"""Function that creates a class for an unknown component."""


@contextmanager
def otherwise(make: Callable[[str], type[Component]]) -> Iterator[None]:
    """Complain of unknown components inside the block, and use `make(name)` as their class."""
    global _otherwise
    before, _otherwise = _otherwise, make
    try:
        yield
    finally:
        _otherwise = before


def register(component: type[Component]) -> None:
    """Register a component for scenes by the name of its class and its aliases.

    Raises:
        SceneError: It is not a component, or one of its names is in use.
    """
    names = names_of(component)
    for name in names:
        if (find(name) or component) is not component:
            raise SceneError(f"There already is a component named '{name}'.")
    for name in names:
        if not COMPONENTS.has(name):
            COMPONENTS.add(name, component)


def names_of(component: type[Component]) -> tuple[str, ...]:
    """Return the names of a component in scenes, without the aliases of its base classes.

    Raises:
        SceneError: It is not a component.
    """
    if not (isinstance(component, type) and issubclass(component, Component)):
        name = getattr(component, "__name__", component)
        raise SceneError(f"'{name}' is no subclass of Component, so no scene can add it.")
    return (component.__name__, *vars(component).get("aliases", ()))


def create(name: str, values: Mapping[str, Any], node: Node) -> Component:
    """Create a component of that class with these Data.

    Raises:
        UnknownComponentError: There is no component of that name; the message lists close names.
        SceneError: The name is empty.
        PluginError: The class of a plugin raised an error that is not a message for users.
    """
    if not name:
        raise SceneError(
            f"{describe(scene_line())}: '' names no component, in SOFA either. Write its class, "
            "such as 'MechanicalObject', or leave the line out."
        )
    kind = find(name)
    if kind is None:
        error = UnknownComponentError(f"{describe(scene_line())}: {explain_unknown(name)}")
        error.component = name
        if _otherwise is None:
            raise error
        complain(node, error)
        kind = _otherwise(name)
    try:
        component = kind.__new__(kind)
        component._context = node  # for errors and links
        component.__init__(**values)  # type: ignore[misc]
    except SoftctlError:
        raise
    except Exception as error:
        plugin = plugin_of(kind)
        if not plugin:
            raise
        raise PluginError(
            f"{describe(scene_line())}: {kind.__name__} of plugin '{plugin}' cannot be made: "
            f"{type(error).__name__}: {error}"
        ) from error
    return component


def plugin_of(component: type[Component]) -> str:
    """Return the plugin of a component, or "" if this package has it."""
    return COMPONENTS.plugin_of(component.__name__)


def find(name: str) -> type[Component] | None:
    """Return the class of that name or alias, or of its present name, or None.

    Plugins are loaded with the first component, so that faulty plugins are reported.
    """
    if not COMPONENTS.is_loaded(name):
        _find_loaded(name)  # load it even if a plugin raises
        Registry.load_plugins()
    return _find_loaded(name)


def _find_loaded(name: str) -> type[Component] | None:
    kind = COMPONENTS.known(name)
    if kind is not None:
        return kind
    from sofa_softctl.runtime.core.renamed import RENAMED

    return COMPONENTS.known(RENAMED[name]) if name in RENAMED else None


def categories_of(name: str) -> list[str]:
    """Return SOFA's categories of a class by name, or [] if it is unknown."""
    kind = find(name)
    return [] if kind is None else kind.getCategories()


def explain_unknown(name: str) -> str:
    """Explain an unknown component: its replacement, plugin, or the probably intended name."""
    from sofa_softctl.runtime.core.renamed import ELSEWHERE, REMOVED, RENAMED, family_of

    start = f"the embedded runtime has no component '{name}'."
    if name in REMOVED:
        return f"{start} {REMOVED[name]}"
    if name in ELSEWHERE:
        return f"{start} It left SOFA itself: the plugin {ELSEWHERE[name]} has it there."
    if family := family_of(name):
        return (
            f"{start} It belongs to what is not here: {family}. In SOFA itself the scene may run."
        )
    hint = did_you_mean(RENAMED.get(name, name), COMPONENTS.names(), count_max=3, cutoff=0.75)
    return f"{start}{hint} 'softctl components' lists all; in SOFA itself the scene may still run."


def components() -> dict[str, type[Component]]:
    """Return all components by name and alias."""
    return {name: COMPONENTS.find(name) for name in COMPONENTS.names()}


def components_with_method(role: type[Component], method: str) -> str:
    """Return the components of a role that override a method, as a text 'A, B and C'."""
    names = sorted(
        {
            kind.__name__
            for kind in components().values()
            if issubclass(kind, role) and getattr(kind, method) is not getattr(role, method)
        }
    )
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "none"


def take_over_source(component: Component) -> None:
    """Link every Data that the loader in `src` has too, unless the scene set it."""
    path = component.src.get()
    if not path:
        return
    loader = follow_path(path, component._context)
    if loader is None:
        problem = SceneError(
            f"{describe(scene_line())}: src='{path}' of {component.describe()} leads nowhere. "
            f"{component.explain_link(path)}"
        )
        complain(component, problem)
        return
    component.follow_data_of(loader)


@dataclass(frozen=True)
class ClassEntry:
    """Registry entry of a component."""

    className: str
    """Name of the class."""
    aliases: list[str]
    """Other names of the class."""
    description: str
    """Description in a line."""
    categories: list[str]
    """SOFA's categories of the class."""
    dataAlias: dict[str, list[str]]
    """Other names of its Data and links."""


def _entry(kind: type[Component]) -> ClassEntry:
    _, *aliases = names_of(kind)
    declarations = kind.data_types | kind.link_types
    other_names = {name: list(declaration.aliases) for name, declaration in declarations.items()}
    return ClassEntry(
        kind.__name__,
        aliases,
        (kind.__doc__ or "").partition("\n")[0],
        kind.getCategories(),
        {name: names for name, names in other_names.items() if names},
    )


def _class_dict(kind: type[Component]) -> dict[str, Any]:
    """Return a component with its Data and links, for JSON."""
    data = [
        {"name": name, "help": type.help, "unit": type.unit, "read_only": type.read_only}
        for name, type in kind.data_types.items()
    ]
    links = [{"name": name, "help": link.help} for name, link in kind.link_types.items()]
    return {**asdict(_entry(kind)), "data": data, "links": links}


class _Listing(type):
    @property
    def components(cls) -> list[ClassEntry]:
        """All components."""
        return [_entry(kind) for kind in _all_kinds()]


def _all_kinds() -> list[type[Component]]:
    return sorted(set(components().values()), key=lambda kind: kind.__name__)


class ObjectFactory(metaclass=_Listing):
    """SofaPython3's Sofa.Core.ObjectFactory: the components of the factory."""

    @staticmethod
    def getInstance() -> type[ObjectFactory]:
        """Return the factory itself."""
        return ObjectFactory

    @staticmethod
    def getComponent(name: str) -> ClassEntry | None:
        """Return the component of that name or alias, or None."""
        kind = find(name)
        return None if kind is None else _entry(kind)

    @staticmethod
    def dump_json() -> str:
        """Return all components with their Data and links, as JSON."""
        return json.dumps([_class_dict(kind) for kind in _all_kinds()])
