"""Names, types and defaults of all Data of SOFA's components.

    python tests/parity/defaults.py    with the real SOFA v25.06

writes records/defaults.json.gz: of each component that the embedded runtime has, and that SOFA
makes in an empty node, the type and value of each Data; null where Python cannot see the value.
"""

import gzip
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import variants  # noqa: E402

RECORD = HERE / "records" / "defaults.json.gz"
STATES = ("Vec3d", "Rigid3d", "Vec1d", None)
"""Templates of the state beside which a component is tried; the last one is none."""


def load():
    with gzip.open(RECORD, "rt") as file:
        return json.load(file)


def bare(Sofa, kind):
    """Type and value of each Data of a new component; None if SOFA makes none."""
    for template in STATES:
        node = Sofa.Core.Node("node")
        if template is not None:
            node.addObject("MechanicalObject", template=template)
        try:
            component = node.addObject(kind)
        except Exception:  # not beside this state, or unknown
            continue
        return {
            name: [data.getValueTypeString(), variants.to_plain(data)]
            for name, data in variants.data_of(component).items()
            if name not in variants.OF_ALL
        }
    return None


def main():
    Sofa = variants.start_sofa()  # before the package, which would bring the embedded one
    from sofa_softctl.runtime.core import factory

    kinds = sorted({cls.__name__ for cls in factory.components().values()})
    rows = {kind: entry for kind in kinds if (entry := bare(Sofa, kind)) is not None}
    text = json.dumps(rows, sort_keys=True)
    with open(RECORD, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
        file.write(text.encode())
    print(f"{len(rows)} of {len(kinds)} components, {sum(map(len, rows.values()))} Data")


if __name__ == "__main__":
    main()
