"""Files of scenes: points in JSON, and where files are."""

from splib3.loaders.files import getLoadingLocation, loadPointListFromFile

__all__ = ["getLoadingLocation", "loadPointListFromFile"]
