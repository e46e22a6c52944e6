"""Where the meshes of a part are."""

from __future__ import annotations

from pathlib import Path


def mesh_file(folder: str, part: str, name: str) -> str:
    """The path of a part's mesh file.

    It is looked for in a folder, and in a copy of the plugin SoftRobots in which the scene lies:
    SOFA and the embedded runtime work in the scene's folder while they load it.

    Raises:
        FileNotFoundError: it is not there; the message says where to get it.
    """
    here = Path.cwd()
    copies = (above / "python3/softrobots/parts" / part / "mesh" for above in (here, *here.parents))
    for place in (Path(folder), *copies):
        if (place / name).is_file():
            return str(place / name)
    raise FileNotFoundError(
        f"There is no mesh '{name}' of softrobots.parts.{part}: it belongs to the plugin "
        "SoftRobots. Get https://github.com/SofaDefrost/SoftRobots and put its folder python3 "
        "on the path (PYTHONPATH), whose modules are then taken instead of these; or let "
        f"softrobots.parts.{part}.{_MODULES[part]}.meshpath be a folder with the meshes."
    )


_MODULES = {"bunny": "Bunny", "finger": "finger"}
