"""The command `softctl papers dimensions`."""

from __future__ import annotations

from typing import Annotated

import typer

from sofa_softctl.cli.options import Json, Quiet, print_json
from sofa_softctl.cli.papers.group import SCENES, Scenes, check_scenes, papers
from sofa_softctl.errors import UsageError


@papers.command(
    epilog="Examples:\n\n  softctl papers dimensions\n\n"
    "  softctl papers dimensions --lines 6 --cases 1\n\n"
    "  softctl papers dimensions --grid sparse --json"
)
def dimensions(
    scenes: Scenes = SCENES,
    lines: Annotated[
        str, typer.Option(metavar="D,...", help="Numbers of lines, of 4, 6 and 8.")
    ] = "4,6,8",
    cases: Annotated[int, typer.Option(help="Perturbed cases of each.", min=1, max=5)] = 5,
    grid: Annotated[str, typer.Option(help="cells, sparse, or both.")] = "both",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Planning: equilibria for four, six and eight lines, on cells and on sparse polynomials.

    Cells of eight lines take 5,800 equilibria a case, some minutes and 0.7 GB.
    """
    from sofa_softctl.bench.papers.dimensions import SIZES, measure_dimensions
    from sofa_softctl.bench.papers.planning_cases import CASES
    from sofa_softctl.view.terminal import papers as paper_tables
    from sofa_softctl.view.terminal import run as terminal

    check_scenes(scenes)
    wanted = [int(each) if each.strip().isdigit() else 0 for each in lines.split(",")]
    if any(each not in SIZES for each in wanted):
        raise UsageError(f"--lines must be some of 4, 6 and 8, such as 6,8; got '{lines}'.")
    if grid not in ("cells", "sparse", "both"):
        raise UsageError(f"--grid must be cells, sparse or both; got '{grid}'.")
    show = terminal.Terminal(quiet=quiet or as_json)
    with show.status("planning on cells and on sparse polynomials") as progress:
        rows = measure_dimensions(
            scenes,
            progress,
            lines=wanted,
            cases=CASES[:cases],
            grids=("cells", "sparse") if grid == "both" else (grid,),
        )
    if as_json:
        print_json([row.to_dict() for row in rows])
    elif not quiet:
        paper_tables.show_dimensions(rows)
