"""The commands of `softctl papers`: one command, one file."""

import importlib

from sofa_softctl.cli.papers.group import papers as papers

COMMANDS = (
    "inverse",
    "planning",
    "dimensions",
    "trajectories",
    "library",
    "identification",
    "robust",
    "search",
)
"""Modules of this folder, in the order in which `softctl papers --help` lists their commands."""

for _name in COMMANDS:
    importlib.import_module(f"sofa_softctl.cli.papers.{_name}")
