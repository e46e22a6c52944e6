"""The commands of benchmarks."""

import importlib
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"


def module_of(name):
    """Path of the file that `python -m benchmarks.NAME` runs; there may be no such file."""
    path = FOLDER.joinpath(*name.split("."))
    return path / "__main__.py" if path.is_dir() else path.with_suffix(".py")


def app_of(name):
    """The Typer application of a benchmark."""
    main = ".__main__" if (FOLDER / name).is_dir() else ""
    return importlib.import_module(f"benchmarks.{name}{main}").app
