"""The swimmer's package, from its folder: it is not installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "plugins" / "swimmer"))
