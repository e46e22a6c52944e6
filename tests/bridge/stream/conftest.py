import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # rig.py, here and in scripts of the tests

from sofa_softctl.base.user_module import import_file  # noqa: E402
from sofa_softctl.bridge import registry  # noqa: E402


@pytest.fixture(autouse=True)
def wire_device(monkeypatch):
    """The type 'wire', as a plugin file registers it."""
    module = import_file(HERE / "wire_device.py", "softctl_plugin", folder_too=False)
    monkeypatch.setitem(registry.DEVICES._added, "wire", module.WireDevice)


@pytest.fixture
def record(tmp_path):
    return tmp_path / "wire.txt"
