"""Registries of components, controllers, devices, commands and solvers by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import Any, ClassVar, Generic, TypeVar

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import PluginError, SoftctlError

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """Entries of one kind by name, built in or brought by plugins.

    A built-in entry is imported at its first use; plugins are loaded at the first unknown name.
    """

    load_plugins: ClassVar[Callable[[], object]] = staticmethod(lambda: None)
    """Load the installed plugins if they are not loaded yet; the package sets it."""

    def __init__(
        self,
        kind: str,
        built_in: Mapping[str, str],
        *,
        error: Callable[[str], SoftctlError] = PluginError,
        check: Callable[[str, Any], Entry] = lambda name, entry: entry,
        reserved: tuple[str, ...] = (),
        unknown: str = "There is no {kind} '{name}'.{hint} Known: {known}.",
    ) -> None:
        """Make the registry of one kind of entry.

        Args:
            kind: Noun for messages, such as 'controller'.
            built_in: Name, and "module:attribute" in this package.
            error: Class of the error for an unknown name.
            check: Called once with a name and its entry; returns the entry to use, or raises.
            reserved: Prefixes of names that cannot be added.
            unknown: Message for an unknown name; {hint} suggests a similar name.
        """
        self.kind, self.error, self.check, self.unknown = kind, error, check, unknown
        self.reserved = reserved
        self._homes: dict[str, str] = {}
        self._added: dict[str, Any] = {}
        self._plugins: dict[str, str] = {}
        self._checked: dict[str, Entry] = {}
        self.build_in(built_in)

    def build_in(self, homes: Mapping[str, str]) -> None:
        """Add built-in entries: name, and "module:attribute" in this package."""
        self._homes |= {name: f"sofa_softctl.{home}" for name, home in homes.items()}

    def add(self, name: str, entry: Any, plugin: str = "") -> None:
        """Add an entry under a name.

        Raises:
            PluginError: The name is taken, or has a reserved prefix.
        """
        if name.startswith(self.reserved):
            raise PluginError(
                f"A {self.kind} cannot be called '{name}': names that begin with "
                f"{' or '.join(map(repr, self.reserved))} are reserved. Register the one from "
                f"{entry.__module__} under another name."
            )
        if self.has(name):
            raise PluginError(
                f"There is already a {self.kind} '{name}', from {self._module(name)}. Register "
                f"the one from {entry.__module__} under another name."
            )
        self._added[name] = entry
        if plugin:
            self._plugins[name] = plugin

    def get(self, name: str) -> Entry | None:
        """Return the entry of that name, or None if it is neither built in nor of a plugin."""
        if not self.has(name):
            Registry.load_plugins()
        return self.known(name)

    def known(self, name: str) -> Entry | None:
        """Return the entry of that name, or None, without loading plugins."""
        if name not in self._checked and self.has(name):
            entry = self._added[name] if name in self._added else resolve_name(self._homes[name])
            self._checked[name] = self.check(name, entry)
        return self._checked.get(name)

    def find(self, name: str) -> Entry:
        """Return the entry of that name.

        Raises:
            SoftctlError: There is none; the message lists the known names.
            Exception: Raised by a plugin when it was loaded; the next call loads it again.
        """
        entry = self.get(name)
        if entry is None:
            names = sorted(self.names())
            hint = did_you_mean(name, names)
            raise self.error(
                self.unknown.format(kind=self.kind, name=name, hint=hint, known=", ".join(names))
            )
        return entry

    def has(self, name: str) -> bool:
        """Return True if the name is registered; nothing is imported or loaded."""
        return name in self._added or name in self._homes

    def is_loaded(self, name: str) -> bool:
        """Return True if the entry was used already."""
        return name in self._checked

    def names(self) -> list[str]:
        """Return all names, including plugins'; built-in entries are not imported."""
        Registry.load_plugins()
        return [*self._homes, *self._added]

    def home_of(self, name: str) -> str:
        """Return the "module:attribute" of a built-in entry, or "" for others."""
        return self._homes.get(name, "")

    def plugin_of(self, name: str) -> str:
        """Return the plugin that brought an entry, or "" if it is built in."""
        return self._plugins.get(name, "")

    def origin(self, name: str) -> str:
        """Return " of plugin 'NAME'", for messages, or "" if it is built in."""
        return f" of plugin '{plugin}'" if (plugin := self.plugin_of(name)) else ""

    def _module(self, name: str) -> str:
        if name in self._added:
            return str(self._added[name].__module__)
        return (self.home_of(name) or "sofa_softctl").partition(":")[0]

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Remove at the end of the block what was added within it."""
        tables: tuple[dict[str, Any], ...] = (self._added, self._plugins, self._checked)
        before = [dict(table) for table in tables]
        try:
            yield
        finally:
            for table, content in zip(tables, before, strict=True):
                table.clear()
                table.update(content)
