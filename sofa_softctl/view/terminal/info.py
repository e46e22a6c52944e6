"""Tables of components, plugins and installation."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from rich.markup import escape

from sofa_softctl.base.suggestions import list_names
from sofa_softctl.errors import SoftctlError
from sofa_softctl.offers import BUILT_IN, brought_by, owners_of
from sofa_softctl.view.terminal.table import Table, make_console

LAMBDA = """\
lambda is SOFA's multiplier, not the effort itself: dt times the force, pressure or torque with a
second-order integrator such as EulerImplicitSolver, the effort itself with firstOrder=True, and
effort / dt with a StaticSolver. So the same number is another motor at another dt. The options
effort_min and effort_max of InverseController are efforts, which do not depend on dt."""

FOLLOWS = {
    "step": "",
    "reinit": " (a change counts after reinit())",
    "start": " (read at the start)",
}
"""Remarks on Data by the time at which a change takes effect."""


def show_components(name: str | None) -> None:
    """Print all components, or the Data and links of one.

    Args:
        name: Name or alias of a component, or None for all.

    Raises:
        SoftctlError: No component has that name.
    """
    from sofa_softctl.runtime.core import factory
    from sofa_softctl.runtime.core.component import Component

    console = make_console()
    if name is None:
        table = Table("component", "also called", "what it is")
        for kind in sorted(set(factory.components().values()), key=lambda kind: kind.__name__):
            text = (kind.__doc__ or "").strip().split("\n")[0]
            plugin = factory.plugin_of(kind)
            text += f" (plugin '{plugin}')" if plugin else ""
            table.add_row(kind.__name__, ", ".join(kind.aliases), escape(text))
        console.print(table)
        return
    component = factory.find(name)
    if component is None:
        raise SoftctlError(_no_component(name))
    console.print(escape(inspect.cleandoc(component.__doc__ or "")), highlight=False)
    if plugin := factory.plugin_of(component):
        console.print(escape(f"From the plugin '{plugin}'."), highlight=False)
    table = Table("Data", "default", "unit", "what it is")
    common = Component.data_types
    for data in sorted(component.data_types.values(), key=lambda data: data.name in common):
        text = data.help + (" (read-only)" if data.read_only else FOLLOWS[data.follows])
        if data.choices:
            text += f" One of: {', '.join(data.choices)}."
        names = ", ".join((data.name, *data.aliases))
        table.add_row(names, escape(str(data.default)), data.unit, escape(text))
    for link in component.link_types.values():
        table.add_row(link.name, "", "link", escape(link.help))
    console.print(table)
    if any(data.unit.startswith("lambda") for data in component.data_types.values()):
        console.print(LAMBDA, highlight=False)


def _no_component(name: str) -> str:
    """Return the reason for not having a component of a name."""
    from sofa_softctl.runtime.core import factory

    owners = [f"a {kind} of the plugin '{plugin}'" for kind, plugin in owners_of(name)]
    if owners:
        return f"'{name}' is {' and '.join(owners)}, no component. 'softctl plugins' lists them."
    text = factory.explain_unknown(name)
    return text[:1].upper() + text[1:]


def show_plugins(plugins: Iterable[str]) -> None:
    """Print plugins by name, and all that they register, by kind."""
    table = Table("plugin", "brings", "names")
    for plugin in plugins:
        label = escape(plugin)
        for kind, names in brought_by(plugin).items():
            text = list_names(names) if plugin == BUILT_IN else ", ".join(names)
            table.add_row(label, f"{kind}{'s' if len(names) > 1 else ''}", escape(text))
            label = ""
    make_console().print(table)


def show_diagnosis(findings: list[Any]) -> None:
    """Print findings, with advice below them."""
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        mark = "[green]ok[/]" if finding.good else "[bold red]no[/]"
        table.add_row(mark, escape(finding.subject), escape(finding.text))
        if finding.advice:
            style = "cyan" if finding.good else "yellow"
            table.add_row("", "", f"[{style}]{escape(finding.advice)}[/]")
    make_console().print(table, highlight=False)
