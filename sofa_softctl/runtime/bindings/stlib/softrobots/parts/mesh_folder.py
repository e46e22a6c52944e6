"""Search for the meshes of a part."""

from __future__ import annotations

from pathlib import Path


def mesh_file(folder: str, part: str, name: str) -> str:
    """Return the path of a part's mesh file.

    Search a folder, then a copy of the plugin SoftRobots that contains the scene: SOFA and the
    embedded runtime work in the scene's folder while they load it.

    Raises:
        FileNotFoundError: The file is missing; the message says where to get it.
    """
    cwd = Path.cwd()
    copies = (root / "python3/softrobots/parts" / part / "mesh" for root in (cwd, *cwd.parents))
    for directory in (Path(folder), *copies):
        if (directory / name).is_file():
            return str(directory / name)
    raise FileNotFoundError(
        f"There is no mesh '{name}' of softrobots.parts.{part}: it belongs to the plugin "
        "SoftRobots. Get https://github.com/SofaDefrost/SoftRobots and put its folder python3 "
        "on the path (PYTHONPATH), whose modules are then taken instead of these; or let "
        f"softrobots.parts.{part}.{_MODULES[part]}.meshpath be a folder with the meshes."
    )


_MODULES = {"bunny": "Bunny", "finger": "finger"}
