"""The command `softctl report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.record import RecordPath
from sofa_softctl.cli.root import app
from sofa_softctl.errors import UsageError


@app.command(epilog="Example:\n\n  softctl report out/trunk.mcap --to trunk.html")
def report(
    record: RecordPath,
    to: Annotated[Path, typer.Option(metavar="FILE.html", help="The page.")],
) -> None:
    """Write an HTML page of a run: what went wrong, pictures, plots, parameters, versions."""
    from sofa_softctl._internal.atomic_file import replacing
    from sofa_softctl.record.record import read_record
    from sofa_softctl.view.report.run import page

    if to.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--to: expected FILE.html. Got: '{to}'.")
    check_outputs(reads=[record], to=to)
    text = page(read_record(record))
    with replacing(to) as temporary:
        temporary.write_text(text, encoding="utf-8")
    typer.echo(f"Written: {to}")
