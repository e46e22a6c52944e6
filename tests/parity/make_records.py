"""Remake records/ with the backend of this process: `python tests/parity/make_records.py`.

Arguments are the names of records to remake, all by default.
With SOFA v25.06 on the Python path the records are SOFA's own; SOFTCTL_BACKEND=embedded makes them
with the embedded runtime. Each record says which it was.
"""

import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import parity_scenes as scenes  # noqa: E402

from sofa_softctl.scene.backend.backend import find_backend  # noqa: E402


def main():
    backend = find_backend()
    print(backend.describe())
    for name in sys.argv[1:] or scenes.CASES:
        positions = scenes.run(backend.Sofa, name)
        np.savez_compressed(
            os.path.join(HERE, "records", f"{name}.npz"),
            positions=positions,
            backend=backend.name,
            version=backend.version,
        )
        print(name, positions.shape)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # SOFA's bindings abort when Python cleans up after them
