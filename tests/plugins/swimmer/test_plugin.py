"""The swimmer as a plugin: it loads, and its package exports what it says."""

from pathlib import Path

import softctl_swimmer

from sofa_softctl.plugins import Plugins

FOLDER = Path(__file__).parents[3] / "plugins" / "swimmer" / "softctl_swimmer"


def test_it_loads_like_any_plugin():
    found = Plugins()
    found.add_file(FOLDER / "plugin.py")
    assert found.manager.get_plugins()


def test_every_public_name_is_there_in_order_and_documented():
    names = softctl_swimmer.__all__
    assert names == sorted(names, key=lambda name: (not name[0].isupper(), name))
    assert all(getattr(softctl_swimmer, name).__doc__ for name in names)
