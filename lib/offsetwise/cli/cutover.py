"""The command for a cutover: whether the old logs have stopped growing, and whether everything is copied."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import offsetwise
from offsetwise.cli.options import AsJson, MigrationFile, seconds
from offsetwise.cli.output import progress, safe, stdout
from offsetwise.wording import duration, number

if TYPE_CHECKING:
    from offsetwise import Cutover, CutoverState, Plan


def cutover(
    *,
    migration: MigrationFile,
    plan: Annotated[
        Path | None, typer.Option(help="A plan: its topics are watched, and its group's commits compared.")
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(help="A topic of the old cluster; may be repeated. Default: all jobs' topics.")
    ] = None,
    still_for: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long a log has to stand still: 60s, 5m. Default: as the plan requires."),
    ] = None,
    every: Annotated[float, typer.Option(min=0.5, max=3_600, help="Seconds between looks.")] = 5,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on until every record is on the new cluster, or what the plan requires.")
    ] = False,
    content: Annotated[
        bool, typer.Option("--content/--no-content", help="Look for the copies of the records, with Spark.")
    ] = True,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 unless all is COPIED and nothing blocks.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show whether the old logs stand still, and whether all their records are on the new cluster.

    It is over when a log is seen to grow, or once all have stood still. With --watch it goes on until all is COPIED,
    and with --json writes one line for each look.
    """
    from offsetwise import files

    of = offsetwise.Migration.load(migration)
    drafted = None if plan is None else offsetwise.Plan.load(plan, migration=of)
    still_for_s = None if still_for is None else seconds(still_for, option="--still-for")

    def heard(judged: Cutover) -> None:
        if watch and as_json:
            typer.echo(files.dump(judged, indent=None), nl=False)
        elif watch:
            _show_look(judged)

    with progress() as report:
        judged = of.cutover(
            topics=topic or (),
            plan=drafted,
            still_for_s=still_for_s,
            every_s=every,
            until_copied=watch,
            records=content,
            heard=heard,
            progress=report,
        )
    if not watch and as_json:
        typer.echo(files.dump(judged), nl=False)
    elif not as_json:
        _show(judged)
    if detailed_exitcode and (not judged.state.reaches(_goal(drafted)) or judged.findings):
        raise typer.Exit(2)


def _goal(plan: Plan | None) -> CutoverState:
    required = None if plan is None else plan.document.requirements.cutover
    return offsetwise.CutoverState.COPIED if required is None else required.goal


def _show(judged: Cutover) -> None:
    from offsetwise.cli.render import findings, new_table, print_table, verdict
    from offsetwise.wording.cutover import STATE, answer

    out = stdout()
    out.print(f"[bold]{verdict(STATE[judged.state])}[/] {safe(answer(judged))}", soft_wrap=True)
    table = new_table(out, ("partition", "state", "why"), ("old end", "grew by", "still for"), first=2)
    for row in judged.partitions:
        name = str(row.topic_partition)
        if row.new_topic != row.topic:
            name += f" → {row.new_topic_partition}"
        numbers = (number(row.end), number(row.grown), duration(row.still_ms))
        table.add_row(safe(name), verdict(STATE[row.state]), *numbers, safe(row.told))
    print_table(out, table)
    for problem in judged.problems:
        out.print(f"{problem.code}: {safe(problem.message)} {safe(problem.fix)}", soft_wrap=True)
    findings(out, judged.findings)


def _show_look(judged: Cutover) -> None:
    from offsetwise.cli.render import verdict
    from offsetwise.wording.cutover import STATE, answer

    at = datetime.fromisoformat(judged.taken_at)
    sentences = [f"{at:%H:%M:%S} {verdict(STATE[judged.state])} {safe(answer(judged))}"]
    sentences += [f"{finding.code}: {safe(finding.message)}" for finding in judged.findings]
    stdout().print(" · ".join(sentences), soft_wrap=True)
