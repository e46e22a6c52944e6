"""Export of recordings to CSV and NumPy files."""

from __future__ import annotations

import csv
import json
import math
import os
import zipfile
from pathlib import Path

import numpy as np

from sofa_softctl._internal.atomic_file import replacing
from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import Record, column_names


def export_csv(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a recording as a table: a row for each step, a column for each number.

    The first column is `time`; the others are named like `trunk/tip/dofs.position[0].x`. Numbers
    are exact.

    Args:
        record: The recording.
        path: The file to write; it appears when it is complete.
    """
    names, columns = ["time"], [record.time.tolist()]
    for name, values in record.channels.items():
        names += column_names(name, values.shape[1:])
        columns += values.reshape(len(values), math.prod(values.shape[1:])).T.tolist()
    with (
        replacing(Path(path), RecordError) as temporary,
        open(temporary, "w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(zip(*columns, strict=True))


def export_npz(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a recording for `numpy.load`: arrays `time`, one for each channel, and `metadata`.

    The latter is JSON text with the metadata, the units and the status.

    Args:
        record: The recording.
        path: The file to write; it appears when it is complete.
    """
    metadata = {"metadata": record.metadata, "units": record.units, "status": record.status}
    arrays = {
        "time": record.time,
        **record.channels,
        "metadata": np.array(json.dumps(metadata)),
    }
    with (
        replacing(Path(path), RecordError) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
