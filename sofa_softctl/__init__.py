"""Control of soft robots in SOFA scenes, with or without SOFA installed.

Importing the package makes `import Sofa` work where SOFA is not installed; nothing else happens.
"""

from __future__ import annotations

from sofa_softctl.runtime import modules as _modules

_modules.install()
