"""Results as text for people at a terminal."""

from __future__ import annotations

import unicodedata
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from offsetwise.findings import describe
from offsetwise.model import (
    Checkpoint,
    Comparison,
    Exactness,
    Finding,
    PartitionComparison,
    RawReuse,
    RawVerdict,
    Reconciliation,
    Severity,
)

CLASSES: Final = {
    Exactness.EXACT: "[green]✓ exact[/]",
    Exactness.POSITION_EXACT: "[green]✓ position exact[/]",
    Exactness.PRESERVED: "[green]✓ preserved[/]",
    Exactness.BOUNDED: "[yellow]≈ bounded[/]",
    Exactness.CLAIMED: "[yellow]? claimed[/]",
    Exactness.UNKNOWN: "? unknown",
}
SEVERITIES: Final = {
    Severity.BLOCKS: "[bold red]! blocks[/]",
    Severity.WARNS: "[yellow]▲ warns[/]",
    Severity.INFORMS: "[blue]i informs[/]",
}


def printable(text: str) -> str:
    """Replace what could drive a terminal or turn text around: controls, and bidirectional marks."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"} else c for c in text
    )


def checkpoint(out: Console, read: Checkpoint) -> None:
    """Show where a checkpoint's job would restart."""
    out.print(f"[bold]{_safe(read.uri)}[/]  {read.engine}, query {_safe(read.job_id or 'unknown')}")
    out.print(_safe(read.restart))
    table = Table("source", "topic", "partition", "offset", "planned")
    for source in read.sources:
        for position in source.positions:
            planned = "" if position.planned_offset is None else f"{position.planned_offset:,}"
            table.add_row(source.id, _safe(position.topic), str(position.partition), f"{position.offset:,}", planned)
        if not source.positions:
            table.add_row(source.id, f"({source.kind})", "", _safe(source.raw or "no offset yet"), "")
    out.print(table)
    for problem in read.problems:
        out.print(f"[bold]{problem.code}[/] {_safe(problem.message)} {_safe(problem.fix)}")


def comparison(out: Console, made: Comparison) -> None:
    """Show a comparison: the answer, the partitions, the findings."""
    subject = f"checkpoint {made.checkpoint.uri}" if made.checkpoint is not None else f"group {made.group}"
    out.print(
        f"[bold]{_safe(made.migration)}[/]  {_safe(subject)}, old {_safe(made.old.name)}, new {_safe(made.new.name)}"
    )
    out.print(f"{_safe(made.belongs_to.reason)}\n")
    out.print(f"[bold]{headline(made)}[/]\n")
    table = Table()
    for name in ("topic", "p"):
        table.add_column(name)
    for name in ("old offset", "new offset"):
        table.add_column(name, justify="right")
    table.add_column("exactness")
    table.add_column("if unedited")
    for name in ("lag old", "lag new"):
        table.add_column(name, justify="right")
    for row in made.partitions:
        table.add_row(*_cells(row))
    out.print(table)
    for finding in made.findings:
        out.print(f"{SEVERITIES[finding.severity]} {finding.code} {_safe(_where(finding))}{_safe(finding.message)}")
        out.print(f"    {_safe(finding.remedy)} [dim]({describe(finding.code).page})[/]")


def reconciliation(out: Console, made: Reconciliation) -> None:
    """Show what both clusters hold of a topic."""
    out.print(f"[bold]{_safe(made.summary())}[/]\n")
    table = Table()
    for name in ("p", "old records", "new records", "on both", "missing", "duplicated", "only on new"):
        table.add_column(name, justify="right")
    for each in made.partitions:
        counts = (each.old_records, each.new_records, each.both, each.missing, each.duplicated, each.foreign)
        table.add_row(str(each.partition), *(f"{count:,}" for count in counts))
    out.print(table)
    for span in made.differences:
        counted = ((span.missing, "missing"), (span.duplicated, "duplicated"), (span.foreign, "only here"))
        what = ", ".join(f"{count:,} {word}" for count, word in counted if count)
        out.print(f"partition {span.partition}, {span.cluster} offsets {span.start:,} to {span.end - 1:,}: {what}")


def headline(made: Comparison) -> str:
    """Say in one sentence what would happen if nobody acted."""
    total, wrong = made.summary.partitions, made.summary.raw_wrong
    if not wrong:
        unknown = sum(row.raw.verdict is RawVerdict.UNKNOWN for row in made.partitions)
        known = f"None of {total} partitions is known to go wrong if the old numbers are used as they are"
        return f"{known}; of {unknown} it is not known." if unknown else f"{known}."
    effects = []
    if made.summary.raw_skip:
        effects.append(f"at least {made.summary.raw_skip:,} records never read")
    if made.summary.raw_replay:
        effects.append(f"at least {made.summary.raw_replay:,} records read twice")
    if made.summary.raw_out_of_range:
        effects.append(f"{made.summary.raw_out_of_range} outside the new log")
    confused = sum(row.raw.verdict is RawVerdict.CONFUSION for row in made.partitions)
    if confused:
        effects.append(f"{confused} reading other records")
    told = ", ".join(effects) or "see below"
    return f"{wrong} of {total} partitions would go wrong if the old numbers were used: {told}."


def _cells(row: PartitionComparison) -> tuple[str, ...]:
    name = row.topic if row.topic == row.new_topic else f"{row.topic} → {row.new_topic}"
    return (
        _safe(name),
        str(row.partition),
        _number(row.old_offset),
        _number(row.new_offset),
        CLASSES[row.exactness],
        _raw(row.raw),
        _number(row.lag_old),
        _number(row.lag_new),
    )


def _raw(raw: RawReuse) -> str:
    skip, replay = ("" if n is None else f" {n:,}" for n in (raw.skip, raw.replay))
    return {
        RawVerdict.SAME: "✓ same record",
        RawVerdict.LOSS: f"[bold red]! skips{skip}[/]",
        RawVerdict.REPLAY: f"[bold red]! repeats{replay}[/]",
        RawVerdict.CONFUSION: "[bold red]! other record[/]",
        RawVerdict.OUT_OF_RANGE: "[bold red]! outside the log[/]",
        RawVerdict.UNKNOWN: "? unknown",
    }[raw.verdict]


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _where(finding: Finding) -> str:
    if finding.topic is None:
        return ""
    return f"{finding.topic}: " if finding.partition is None else f"{finding.topic}-{finding.partition}: "


def _safe(text: str) -> str:
    return escape(printable(text))
