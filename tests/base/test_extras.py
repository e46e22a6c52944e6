"""The command that installs an extra, from where the package came; pages have one that works."""

import json
import re
from pathlib import Path

import pytest

from sofa_softctl.base import extras
from sofa_softctl.base.extras import install_command

ROOT = Path(__file__).parents[2]
CLONE = {"url": "file:///home/me/my%20robots", "dir_info": {"editable": True}}
WHEEL = {"url": "file:///tmp/sofa_softctl.whl", "archive_info": {}}
GIT = {"url": "https://host/softctl.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}


@pytest.mark.parametrize(
    ("source", "command"),
    [
        (CLONE, 'pip install -e "/home/me/my robots[view]"'),
        (WHEEL, 'pip install "/tmp/sofa_softctl.whl[view]"'),
        (GIT, 'pip install "sofa-softctl[view] @ git+https://host/softctl.git"'),
        ({"url": "https://host/a.whl"}, 'pip install "sofa-softctl[view] @ https://host/a.whl"'),
        (None, 'pip install "sofa-softctl[view]"'),  # from an index, once there is a release
    ],
)
def test_an_extra_comes_from_where_the_package_came(source, command, monkeypatch, tmp_path):
    """By the file that pip writes next to an installed package."""
    info = tmp_path / "sofa_softctl-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sofa-softctl\nVersion: 1.0\n")
    if source is not None:
        (info / "direct_url.json").write_text(json.dumps(source))
    monkeypatch.syspath_prepend(tmp_path)
    assert install_command("view") == command


def test_what_is_not_installed_comes_from_its_folder(monkeypatch):
    monkeypatch.setattr(extras, "NAME", "no-such-package")
    assert install_command() == f'pip install "{ROOT}"'


def test_pages_and_messages_install_what_can_be_had():
    """PyPI has no release yet: neither names it as a source."""
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    files += [*(ROOT / "sofa_softctl").rglob("*.py"), *(ROOT / "hardware").rglob("*.md")]
    pattern = re.compile(r"""pip install ["']?sofa-softctl(?!\[view\] @ git\+URL)""")
    said = {path.name for path in files if pattern.search(path.read_text())}
    assert said <= {"first-robot.md"}  # which says that it finds nothing
