"""Nodes, components and their Data, and the registry of the components that scenes can name."""

from __future__ import annotations

from typing import Any

from sofa_softctl.base.registry import Registry

COMPONENTS: Registry[type[Any]] = Registry("component", {})
"""Classes by name and alias; `sofa_softctl.runtime` adds the built-in ones."""
