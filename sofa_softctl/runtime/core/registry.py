"""The components that scenes can name; `sofa_softctl.runtime` adds the built-in ones."""

from __future__ import annotations

from typing import Any

from sofa_softctl.base.registry import Registry

COMPONENTS: Registry[type[Any]] = Registry("component", {})
"""Classes by name and alias."""
