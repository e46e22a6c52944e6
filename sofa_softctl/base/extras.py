"""Command that installs this package with an extra, from where it was installed."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import sofa_softctl

NAME = "sofa-softctl"


def install_command(extra: str = "") -> str:
    """Return a command such as `pip install -e "/home/me/sofa_softctl[view]"`.

    pip notes where a package came from (`direct_url.json`, PEP 610): a clone, a repository or, if
    it notes nothing, an index of packages.

    Args:
        extra: Name of the extra, or "" for the package alone.
    """
    brackets = f"[{extra}]" if extra else ""
    try:
        text = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:  # the folder of a clone is on the path
        return f'pip install "{Path(sofa_softctl.__file__).parents[1]}{brackets}"'
    source = json.loads(text) if text else {}
    url = source.get("url", "")
    if not url:
        return f'pip install "{NAME}{brackets}"'
    if "vcs_info" in source:
        return f'pip install "{NAME}{brackets} @ {source["vcs_info"]["vcs"]}+{url}"'
    if not url.startswith("file:"):
        return f'pip install "{NAME}{brackets} @ {url}"'
    option = "-e " if source.get("dir_info", {}).get("editable") else ""
    return f'pip install {option}"{url2pathname(urlparse(url).path)}{brackets}"'
