"""Results as text for people at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from offsetwise.findings import describe
from offsetwise.lookalikes import marked
from offsetwise.model import (
    Checkpoint,
    CheckpointSource,
    Comparison,
    Exactness,
    Finding,
    PartitionComparison,
    Plan,
    Reconciliation,
    RetainedCheckpoint,
    Severity,
)
from offsetwise.wording import at_most, duration, many, number, utc, verdicts
from offsetwise.wording.verdicts import Tone, Verdict

_STYLES: Final = {Tone.RIGHT: "green", Tone.WRONG: "bold red", Tone.CAREFUL: "yellow", Tone.UNKNOWN: "default"}
ROOMY: Final = 100
"""From so many columns on, headers stand on one line."""


def verdict(shown: Verdict) -> str:
    """Give a verdict in its colour."""
    return f"[{_STYLES[shown.tone]}]{escape(str(shown))}[/]"


def safe(text: str) -> str:
    """Give text that was read somewhere as rich takes it: with nothing that hides or drives a terminal, no markup."""
    return escape(marked(text))


@contextmanager
def progress(talk: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Show steps on stderr, where that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=talk, transient=True, disable=not talk.is_terminal) as bars:
        tasks: dict[str, int] = {}

        def told(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(bars.task_ids[tasks[step]], completed=done, total=total)

        yield told


def checkpoint(out: Console, read: Checkpoint, *, now_ms: int) -> None:
    """Show where a checkpoint's job would restart."""
    out.print(f"[bold]{safe(read.restart)}[/]")
    at = f" at {safe(read.endpoint)}" if read.endpoint else ""
    out.print(f"{safe(read.uri)}{at}  {_taken(read, now_ms)}", soft_wrap=True)
    batches = read.saved is None
    table = _table(out, ("source", "partition"), ("offset", "planned end") if batches else ("offset",))
    for source in read.sources:
        rows = [(f"{at.topic}-{at.partition}", f"{at.offset:,}", at.planned_offset) for at in source.positions]
        rows += [(f"{at.topic}-{at.partition}", at.starts_at, None) for at in source.marked]
        for where, offset, planned in rows:
            cells = (safe(source.id), safe(where), offset, "" if planned is None else f"{planned:,}")
            table.add_row(*cells[: len(table.columns)])
        if not rows:
            cells = (safe(source.id), f"({source.kind}) {_unread(source)}", "", "")
            table.add_row(*cells[: len(table.columns)])
    _print_table(out, table)
    _operators(out, read)
    _transactions(out, read)
    for problem in read.problems:
        out.print(f"[bold]{safe(problem.code)}[/]")
        _indented(out, safe(problem.message))
        if problem.fix:
            _indented(out, f"→ {safe(problem.fix)}")


def audit(out: Console, broken: str | None, row: int, hash_: str, at_ms: int | None) -> None:
    """Show whether an audit log is whole, and what to note of its last row."""
    if broken is not None:
        out.print(f"[bold red]! The audit log is broken.[/] {safe(broken)}", soft_wrap=True)
        out.print("→ Compare the database with a copy from before, and find out who could write to it.", soft_wrap=True)
    else:
        out.print("[green]✓ The audit log is intact.[/]")
    if at_ms is None:
        out.print("No row is whole.")
        return
    out.print(f"Last row that is whole: {row:,}, {utc(at_ms)}. Note it away from the database:", soft_wrap=True)
    out.print(f"{row}:{hash_}", soft_wrap=True)


def _unread(source: CheckpointSource) -> str:
    """Show the line of a source that is not read, never as a place where anything starts."""
    return "no offset yet" if source.raw is None else f"not read; its line says: {safe(source.raw)}"


def _taken(read: Checkpoint, now_ms: int) -> str:
    """Say what a checkpoint is of, and when it was taken."""
    job = safe(read.job_id or "unknown")
    saved = read.saved
    if saved is None:
        return f"{read.engine}, query {job}"
    words = [read.engine, f"job {job}", f"{saved.kind or 'checkpoint'} {saved.id}", f"format {saved.format_version}"]
    words += [saved.format] if saved.format else []
    words += [] if saved.aligned else ["unaligned"]
    words += ["compressed"] if saved.compressed else []
    if saved.written_ms is not None:
        words.append(f"written {utc(saved.written_ms)}, {_ago(saved.written_ms, now_ms)}")
    told = ", ".join(words)
    if saved.retained:
        told += "\nalso retained, newest first:" + "".join(f"\n  {_retained(one, now_ms)}" for one in saved.retained)
    return told


def _retained(one: RetainedCheckpoint, now_ms: int) -> str:
    """Name another checkpoint of the job, so that an earlier one can be chosen."""
    age = "" if one.written_ms is None else f", written {utc(one.written_ms)}, {_ago(one.written_ms, now_ms)}"
    return f"checkpoint {one.id}{age}: {safe(one.uri)}"


def _ago(written_ms: int, now_ms: int) -> str:
    return f"{duration(max(0, now_ms - written_ms))} ago"


def _operators(out: Console, read: Checkpoint) -> None:
    if not read.operators:
        return
    table = _table(out, ("operator", "state", "kind"), ("parallelism", "elements", "bytes"), first=3)
    for one in read.operators:
        name = safe(one.uid or one.name or one.id)
        for state in one.states:
            elements = "" if state.elements is None else f"{state.elements:,}"
            table.add_row(
                name, safe(state.name), safe(state.kind), f"{one.parallelism:,}", elements, f"{state.size_bytes:,}"
            )
        if not one.states:
            table.add_row(name, "finished" if one.finished else "no state", "", f"{one.parallelism:,}", "", "")
    _print_table(out, table)


def _transactions(out: Console, read: Checkpoint) -> None:
    if not read.transactions:
        return
    table = _table(out, ("transaction", "state", "schema"), ("producer", "epoch", "checkpoint"), first=3)
    for one in read.transactions:
        epoch = number(one.epoch)
        producer = "?" if one.producer_id is None else str(one.producer_id)
        table.add_row(
            safe(one.transactional_id), one.state, one.schema or "?", producer, epoch, f"{one.checkpoint_id:,}"
        )
    _print_table(out, table)


def comparison(out: Console, made: Comparison) -> None:
    """Show a comparison: the answer, the partitions, the findings."""
    subject = f"checkpoint {made.checkpoint.uri}" if made.checkpoint is not None else f"group {made.group}"
    tone, head, rest = verdicts.answer(made)
    out.print(f"[{_STYLES[tone]}]{head}[/] {rest}")
    out.print(f"{places(made)}\n")
    out.print(f"{safe(made.migration)}: {safe(subject)}", soft_wrap=True)
    out.print(f"old cluster '{safe(made.old.name)}', new cluster '{safe(made.new.name)}', read {safe(made.taken_at)}")
    out.print(safe(made.belongs_to.reason))
    table = _table(
        out, ("partition", "exactness", "if unedited"), ("old offset", "new offset", "lag old", "lag new"), first=1
    )
    for row in made.partitions:
        table.add_row(*_cells(row))
    _print_table(out, table)
    by_code: dict[str, list[Finding]] = {}
    for finding in sorted(made.findings, key=lambda each: [*Severity].index(each.severity)):
        by_code.setdefault(finding.code, []).append(finding)
    for code, findings in by_code.items():
        out.print(f"{verdict(verdicts.SEVERITY[findings[0].severity])} [bold]{code}[/]")
        for each in findings:
            _indented(out, f"{safe(_where(each))}{safe(each.message)}")
        for remedy in dict.fromkeys(each.remedy for each in findings):
            _indented(out, f"→ {safe(remedy)} [dim]({describe(code).page})[/]")


def reconciliation(out: Console, made: Reconciliation) -> None:
    """Show what both clusters hold of a topic."""
    out.print(f"[bold]{safe(made.summary())}[/]\n")
    names = ("old records", "new records", "on both", "missing", "duplicated", "only on new")
    table = _table(out, ("partition",), names)
    for each in made.partitions:
        counts = (each.old_records, each.new_records, each.both, each.missing, each.duplicated, each.foreign)
        table.add_row(str(each.partition), *(f"{count:,}" for count in counts))
    _print_table(out, table)
    for span in made.differences:
        counted = ((span.missing, "missing"), (span.duplicated, "duplicated"), (span.foreign, "only here"))
        what = ", ".join(f"{count:,} {word}" for count, word in counted if count)
        out.print(f"partition {span.partition}, {span.cluster} offsets {span.start:,} to {span.end - 1:,}: {what}")


def plan(out: Console, made: Plan) -> None:
    """Show a plan: what it writes, what it costs, and whether the job may start."""
    total = made.totals
    targets = ", ".join(str(target) for target in made.targets)
    count = many(total.partitions, "partition")
    out.print(f"[bold]{safe(made.strategy)}[/] to {safe(targets)}: {count}", soft_wrap=True)
    unknown = f", unknown for {total.uncounted:,}" if total.uncounted else ""
    out.print(
        f"read twice: {at_most(total.replay)}, never read: {at_most(total.skip)}{unknown}; "
        f"{total.overridden:,} decided by people",
        soft_wrap=True,
    )
    for name, told in (("keeps", made.keeps), ("gives up", made.gives_up)):
        out.print(f"{name}: {safe('; '.join(told))}", soft_wrap=True)
    out.print(f"unedited: {safe(made.prediction.effect)}. {safe(made.prediction.told)}", soft_wrap=True)
    for check in made.gate:
        out.print(f"{verdict(verdicts.GATE[check.outcome])} {safe(check.name)}: {safe(check.told)}", soft_wrap=True)


def places(made: Comparison) -> str:
    """Say in one sentence how many new offsets are known, and how well."""
    summary = made.summary
    proven = summary.exact + summary.position_exact + summary.preserved
    rest = [
        f"{count:,} {word}"
        for count, word in (
            (summary.bounded, "known within bounds"),
            (summary.claimed, "only claimed"),
            (summary.unknown, "unknown"),
        )
        if count
    ]
    share = f"all {proven:,}" if not rest and proven > 1 else f"{proven:,} of {summary.partitions:,}"
    known = f"The place on the new cluster is proven for {share}"
    return ", ".join([known, *rest]) + "."


def _table(out: Console, texts: tuple[str, ...], numbers: tuple[str, ...], *, first: int | None = None) -> Table:
    """Make a table whose numbers never break; they stand behind the first few of the text columns, or all."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    lead = len(texts) if first is None else first
    for name in (*texts[:lead], *numbers, *texts[lead:]):
        header = name if out.width >= ROOMY else name.replace(" ", "\n")
        if name in numbers:
            table.add_column(header, justify="right", no_wrap=True)
        else:
            table.add_column(header, overflow="fold", min_width=min(len(name), 9))
    return table


def _print_table(out: Console, table: Table) -> None:
    """Print a table; where its numbers need more than the terminal has, that wraps the lines, and nothing is cut."""
    numbers = [
        max(len(line) for text in (column.header, *column.cells) for line in str(text).splitlines())
        for column in table.columns
        if column.no_wrap
    ]
    texts = [column.min_width or 0 for column in table.columns if not column.no_wrap]
    least = sum(numbers) + sum(texts) + 3 * len(table.columns)
    if least > out.width:
        table.width = least
    out.print(table, crop=False, no_wrap=True, overflow="ignore")


def _indented(out: Console, text: str) -> None:
    out.print(Padding(text, (0, 0, 0, 4), expand=False))


def _cells(row: PartitionComparison) -> tuple[str, ...]:
    name = f"{row.topic}-{row.partition}"
    if row.topic != row.new_topic:
        name += f" → {row.new_topic}-{row.partition}"
    return (
        safe(name),
        number(row.old_offset),
        number(row.new_offset),
        number(row.lag_old),
        number(row.lag_new),
        _exactness(row),
        verdict(verdicts.raw(row)),
    )


def _exactness(row: PartitionComparison) -> str:
    shown = verdict(verdicts.EXACTNESS[row.exactness])
    return f"{shown}, {at_most(row.replay)} twice" if row.exactness is Exactness.BOUNDED and row.replay else shown


def _where(finding: Finding) -> str:
    if finding.topic is None:
        return ""
    return f"{finding.topic}: " if finding.partition is None else f"{finding.topic}-{finding.partition}: "
