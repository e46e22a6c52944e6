"""The command `softctl report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.root import app
from sofa_softctl.errors import UsageError


@app.command(
    epilog="Examples:\n\n  softctl report out/trunk.mcap --to trunk.html\n\n"
    "  softctl report finger.study --to finger.html"
)
def report(
    path: Annotated[
        Path,
        typer.Argument(metavar="FILE.mcap|STUDY.study", help="Recording, or folder of a study."),
    ],
    to: Annotated[Path, typer.Option(metavar="FILE.html", help="File of the page.")],
) -> None:
    """Write an HTML page of a run or a study: what went wrong, pictures, plots, versions."""
    from sofa_softctl.base.files import replace_atomically

    if to.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--to: expected FILE.html. Got: '{to}'.")
    check_outputs(reads=[path], to=to)
    text = _page(path)
    with replace_atomically(to) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")
    typer.echo(f"Written: {to}")


def _page(path: Path) -> str:
    """Return the page of a recording or of a study."""
    if path.is_dir() or path.suffix in (".toml", ".study"):
        from sofa_softctl.batch.table.results import read_results
        from sofa_softctl.view.pages.study import page as page_of_study

        return page_of_study(read_results(path))
    from sofa_softctl.record.record import read_record
    from sofa_softctl.view.pages.run import page as page_of_run

    return page_of_run(read_record(path))
