"""Writing plain values as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def toml_text(document: Mapping[str, Any]) -> str:
    """Return a TOML document, which `tomllib` reads as the same values.

    Args:
        document: Tables of tables, texts, truth values, finite numbers, and lists of them.
    """
    lines: list[str] = []
    _write(document, (), lines)
    return "\n".join(lines) + "\n"


def _write(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    plain_values = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if path and (plain_values or not table):
        lines += ["", f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain_values.items()]
    for key, value in table.items():
        if isinstance(value, Mapping):
            _write(value, (*path, key), lines)


def _key(key: str) -> str:
    plain = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if plain else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
