"""Texts of scenes and errors in the page's Markdown."""

from __future__ import annotations

MARKS = "\\`*_{}[]<>#|~"
"""Characters with a meaning in Markdown."""


def as_plain(text: str) -> str:
    """Return a text in one line whose characters mean nothing in Markdown."""
    escaped = "".join(f"\\{mark}" if mark in MARKS else mark for mark in text)
    return " ".join(escaped.split())
