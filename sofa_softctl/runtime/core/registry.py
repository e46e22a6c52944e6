"""The components that scenes can name; `sofa_softctl.runtime` adds the built-in ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sofa_softctl._internal.registry import Registry

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.component import Component

COMPONENTS: Registry[type[Component]] = Registry("component", {})
"""Classes by name and alias."""
