"""Results as text for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from offsetwise.cli.output import safe
from offsetwise.engines.registry import engine_of
from offsetwise.findings import describe, worded
from offsetwise.model import (
    Checkpoint,
    CheckpointSource,
    Comparison,
    CutoverRequirement,
    Exactness,
    Finding,
    OpenPartition,
    PartitionComparison,
    Plan,
    Reconciliation,
    RetainedCheckpoint,
    Severity,
    Summary,
    epoch_ms,
)
from offsetwise.ports.stream import stream_of, terms_of
from offsetwise.position import OpaquePosition
from offsetwise.translation.alternatives import alternatives
from offsetwise.wording import at_most, brief, duration, many, number, utc, verdicts
from offsetwise.wording.cutover import required
from offsetwise.wording.irreversible import irreversible
from offsetwise.wording.terms import in_words
from offsetwise.wording.time_lag import lag_text, parts, quota
from offsetwise.wording.verdicts import Tone, Verdict

if TYPE_CHECKING:
    from offsetwise import Compared

_STYLES: Final = {Tone.RIGHT: "green", Tone.WRONG: "bold red", Tone.CAREFUL: "yellow", Tone.UNKNOWN: "default"}
ROOMY: Final = 100
"""From this number of columns on, headers are on one line."""
_MARKS: Final = 20
"""How many marked transactions of a plan are shown."""


def verdict(shown: Verdict) -> str:
    return f"[{_STYLES[shown.tone]}]{safe(str(shown))}[/]"


def checkpoint(out: Console, read: Checkpoint, *, now_ms: int) -> None:
    out.print(f"[bold]{safe(read.restart)}[/]")
    at = f" at {safe(read.endpoint)}" if read.endpoint else ""
    out.print(f"{safe(read.uri)}{at}  {_described(read, now_ms)}", soft_wrap=True)
    engine = engine_of(read.engine)
    table = new_table(out, ("source", "partition"), ("offset", "planned end") if engine.plans_batches else ("offset",))
    for source in (source for source in read.sources if not source.shards):
        rows = [(str(at.topic_partition), f"{at.offset:,}", at.planned_offset) for at in source.positions]
        rows += [(str(at.topic_partition), at.starts_at, None) for at in source.marked]
        for where, offset, planned in rows:
            cells = (safe(source.id), safe(where), offset, "" if planned is None else f"{planned:,}")
            table.add_row(*cells[: len(table.columns)])
        if not rows:
            cells = (safe(source.id), f"({source.kind}) {_unread(source)}", "", "")
            table.add_row(*cells[: len(table.columns)])
    if table.rows:
        print_table(out, table)
    for source in (source for source in read.sources if source.shards):
        _shards(out, source)
    for listing in engine.listings(read):
        if listing.rows:
            texts = listing.texts
            listed = new_table(out, listing.columns[:texts], listing.columns[texts:], first=texts)
            for row in listing.rows:
                listed.add_row(*map(safe, row))
            print_table(out, listed)
    stream = stream_of(read.sources[0].kind) if read.sources else None
    for reported in read.problems:
        problem = worded(reported, {} if stream is None else stream.terms)
        out.print(f"[bold]{safe(problem.code)}[/]")
        _indented(out, safe(problem.message))
        if problem.fix:
            _indented(out, f"→ {safe(problem.fix)}")


def _shards(out: Console, source: CheckpointSource) -> None:
    stream = stream_of(source.kind)
    streams = sorted({at.stream for at in source.shards if at.stream is not None})
    kind = source.kind if stream is None else stream.kinds[source.kind]
    named = f", {', '.join(streams)}" if streams else ", of a stream that it does not name"
    out.print(safe(f"source {source.id}: {kind}{named}"), soft_wrap=True)
    ahead = any(at.planned_position is not None for at in source.shards)
    lead = ("stream", "shard") if len(streams) > 1 else ("shard",)
    table = new_table(out, (*lead, "record arrived"), ("position", "planned end")[: 1 + ahead], first=len(lead))
    for at in source.shards:
        positions = (at.position, at.planned_position)[: 1 + ahead]
        cells = (at.stream or "", at.shard)[-len(lead) :]
        meaning = "" if stream is None else stream.tells(at.position)
        ends = ("" if end is None else str(end) for end in positions)
        table.add_row(*map(safe, (*cells, *ends, meaning)))
    for column in table.columns:
        column.no_wrap = True  # ids and numbers are copied from here
    print_table(out, table)


def audit(out: Console, broken: str | None, row: int, hash_: str, at_ms: int | None) -> None:
    if broken is not None:
        out.print(f"[bold red]! The audit log is broken.[/] {safe(broken)}", soft_wrap=True)
        out.print("→ Compare the database with a copy from before, and find out who could write to it.", soft_wrap=True)
    else:
        out.print("[green]✓ The audit log is intact.[/]")
    if at_ms is None:
        out.print("No row is whole.")
        return
    out.print(f"Last row that is whole: {row:,}, {utc(at_ms)}. Keep a note of it outside the database:", soft_wrap=True)
    out.print(f"{row}:{hash_}", soft_wrap=True)


def _unread(source: CheckpointSource) -> str:
    """Show the line of a source that is not read, in a form that cannot be taken for a position."""
    return "no offset that is read" if source.raw is None else f"not read; its line says: {safe(source.raw)}"


def _described(read: Checkpoint, now_ms: int) -> str:
    engine, details = engine_of(read.engine), read.details
    words = [read.engine, f"{engine.job} {safe(read.job_id or 'unknown')}", *map(safe, details.words)]
    if details.written_ms is not None and not engine.plans_batches:
        words.append(f"file dated {utc(details.written_ms)}, {_ago(details.written_ms, now_ms)}")
    text = ", ".join(words)
    if details.retained:
        older = "".join(f"\n  {_retained(checkpoint, now_ms)}" for checkpoint in details.retained)
        return f"{text}\nalso retained, newest first:{older}"
    return text


def _retained(older: RetainedCheckpoint, now_ms: int) -> str:
    age = "" if older.written_ms is None else f", file dated {utc(older.written_ms)}, {_ago(older.written_ms, now_ms)}"
    return f"checkpoint {older.id}{age}: {safe(older.uri)}"


def _ago(written_ms: int, now_ms: int) -> str:
    return f"{duration(max(0, now_ms - written_ms))} ago"


def comparison(out: Console, comparison: Comparison) -> None:
    terms = terms_of(comparison.partitions)
    tone, head, rest = verdicts.answer(comparison)
    out.print(f"[{_STYLES[tone]}]{in_words(head, terms)}[/] {in_words(rest, terms)}")
    out.print(f"{in_words(known_offsets(comparison.summary), terms)}\n")
    out.print(f"{safe(comparison.migration)}: {safe(str(comparison.kept_in))}", soft_wrap=True)
    clusters = (("old", comparison.old), ("new", comparison.new))
    sides = ", ".join(f"{in_words(f'{side} cluster', terms)} '{ref.name}'" for side, ref in clusters)
    out.print(f"{safe(sides)}, read {safe(comparison.taken_at)}")
    out.print(safe(in_words(comparison.belongs_to.reason, terms)))
    # Positions of another stream have no effect on the new one: the first sentence says so for all of them.
    another = all(map(verdicts.of_another_stream, comparison.partitions))
    texts = ("partition", "exactness") if another else ("partition", "exactness", "if unedited")
    table = new_table(out, texts, ("old offset", "new offset", "lag old", "lag new"), first=1, terms=terms)
    for row in comparison.partitions:
        table.add_row(*_cells(row, terms)[: len(table.columns)])
    print_table(out, table)
    for row in comparison.partitions:
        _in_shards(out, row)
    if comparison.quota is not None:
        out.print(f"{quota(comparison.quota)}\n", soft_wrap=True)
    for row in comparison.partitions:
        for choice in alternatives(row):
            out.print(
                f"{safe(str(row.new_topic_partition))} at {choice.offset:,}, {choice.name}: {choice.price}",
                soft_wrap=True,
            )
    findings(out, comparison.findings)


def findings(out: Console, findings: Sequence[Finding]) -> None:
    """Show findings, the most serious first, grouped by code, with their remedies."""
    by_code: dict[str, list[Finding]] = {}
    for severity in Severity:
        for finding in findings:
            if finding.severity is severity:
                by_code.setdefault(finding.code, []).append(finding)
    for code, alike in by_code.items():
        out.print(f"{verdict(verdicts.SEVERITY[alike[0].severity])} [bold]{code}[/]")
        for repeated in alike:
            _indented(out, f"{safe(_where(repeated))}{safe(repeated.message)}")
        for remedy in dict.fromkeys(finding.remedy for finding in alike):
            _indented(out, f"→ {safe(remedy)} [dim]({describe(code).page})[/]")


def compared(out: Console, outcome: Compared) -> None:
    if outcome.comparison is None:
        return
    terms = terms_of(outcome.comparison.partitions)
    tone, *answer = verdicts.answer(outcome.comparison)
    head, rest = (in_words(text, terms) for text in answer)
    note = " [dim](as compared before)[/]" if outcome.reused else ""
    out.print(f"{safe(str(outcome.job))}: [{_STYLES[tone]}]{head}[/] {rest}{note}", soft_wrap=True)


def compared_all(out: Console, jobs: Sequence[Compared]) -> None:
    summaries = [job.comparison.summary for job in jobs if job.comparison is not None]
    wrong = sum(bool(summary.raw_wrong) for summary in summaries)
    unread = len(jobs) - len(summaries)
    sentences = [f"{many(len(summaries), 'job')} compared", f"{wrong:,} would go wrong"]
    sentences += [f"{unread:,} could not be compared"] if unread else []
    out.print(f"[bold]{', '.join(sentences)}.[/]")


def reconciliation(out: Console, reconciliation: Reconciliation) -> None:
    out.print(f"[bold]{safe(reconciliation.summary())}[/]\n")
    names = ("old records", "new records", "on both", "missing", "duplicated", "only on new")
    table = new_table(out, ("partition",), names)
    for row in reconciliation.partitions:
        counts = (row.old_records, row.new_records, row.both, row.missing, row.duplicated, row.foreign)
        table.add_row(str(row.partition), *(f"{count:,}" for count in counts))
    print_table(out, table)
    for span in reconciliation.differences:
        counted = ((span.missing, "missing"), (span.duplicated, "duplicated"), (span.foreign, "only here"))
        what = ", ".join(f"{count:,} {word}" for count, word in counted if count)
        out.print(f"partition {span.partition}, {span.cluster} offsets {span.start:,} to {span.end - 1:,}: {what}")


def plan(out: Console, plan: Plan) -> None:
    from offsetwise.plan.target import target_type

    total, terms = plan.totals, terms_of(plan.positions)
    counted = (
        (plan.positions and in_words(many(total.partitions, "partition"), terms)),
        (plan.transactions and many(len(plan.transactions), "transaction")),
    )
    count = ", ".join(text for text in counted if text)
    targets = safe(", ".join(map(str, plan.targets)))
    out.print(f"[bold]{safe(plan.strategy)}[/] to {targets}{f': {count}' if count else ''}", soft_wrap=True)
    if plan.positions:
        uncounted = f", unknown for {total.uncounted:,}" if total.uncounted else ""
        out.print(
            f"read twice: {at_most(total.replay)}, never read: {at_most(total.skip)}{uncounted}; "
            f"{total.overridden:,} decided by people",
            soft_wrap=True,
        )
    for name, sentences in (("keeps", plan.keeps), ("gives up", plan.gives_up), *_required(plan.requirements.cutover)):
        if sentences:
            out.print(f"{name}: {safe('; '.join(sentences))}", soft_wrap=True)
    for cost in () if plan.repair is None else plan.repair.costs:
        out.print(f"costs: {safe(cost)}", soft_wrap=True)
    for target in plan.targets:
        if (created := target_type(target.kind).creates(plan.settings, target)) is not None:
            out.print(f"creates: {safe(created)}", soft_wrap=True)
    for at in plan.requirements.targets:
        out.print(f"now at {safe(target_type(at.target.kind).named(at.target))}: {safe(at.described)}", soft_wrap=True)
    if plan.settings:
        out.print(f"set: {safe(', '.join('='.join(setting) for setting in plan.settings))}", soft_wrap=True)
    out.print(f"unedited: {safe(plan.prediction.effect)}. {safe(plan.prediction.told)}", soft_wrap=True)
    for mark in plan.marks[:_MARKS]:
        name = f"{safe(mark.transactional_id)} (producer {mark.producer_id}, epoch {mark.epoch})"
        out.print(f"marked as committed in the copy: {name}. {safe(mark.reason)}", soft_wrap=True)
    if len(plan.marks) > _MARKS:
        out.print(f"and {len(plan.marks) - _MARKS:,} more transactions, which the plan's file lists")
    for check in plan.gate:
        out.print(f"{verdict(verdicts.GATE[check.outcome])} {safe(check.name)}: {safe(check.told)}", soft_wrap=True)
    transactions(out, plan)


def _required(cutover: CutoverRequirement | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    if cutover is not None:
        yield "required before it is applied", (required(cutover),)


def transactions(out: Console, plan: Plan) -> None:
    warning = irreversible(plan)
    if warning is None:
        return
    out.print(f"[bold]{safe(warning)}[/]", soft_wrap=True)
    for transaction in plan.transactions:
        partitions = ", ".join(_open(at) for at in transaction.partitions)
        until = "" if transaction.deadline is None else f", until {utc(epoch_ms(transaction.deadline))}"
        by = "" if transaction.by is None else f" (decided by {transaction.by})"
        out.print(
            f"[yellow]{transaction.decision}[/] {safe(transaction.name)} on {safe(partitions)}{until}: "
            f"{safe(transaction.reason)}{safe(by)}",
            soft_wrap=True,
        )


def _open(at: OpenPartition) -> str:
    if at.start_offset is None:
        return f"{at.topic_partition} (no record)"
    return f"{at.topic_partition} from {at.start_offset:,} ({number(at.records)} records)"


def known_offsets(summary: Summary) -> str:
    """Describe in one sentence how many new offsets are known, and how well."""
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
    known = f"The position on the new cluster is proven for {share}"
    return ", ".join([known, *rest]) + "."


def new_table(
    out: Console,
    texts: tuple[str, ...],
    numbers: tuple[str, ...],
    *,
    first: int | None = None,
    terms: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Create a table whose numbers never break; they follow the first few text columns, or all of them."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    lead = len(texts) if first is None else first
    for name in (*texts[:lead], *numbers, *texts[lead:]):
        header = in_words(name, terms)
        breaks = -1 if out.width < ROOMY else header.count(" ") - name.count(" ")
        header = "\n".join(header.rsplit(" ", breaks))
        if name in numbers:
            table.add_column(header, justify="right", no_wrap=True)
        else:
            table.add_column(header, overflow="fold", min_width=min(len(name), 9))
    return table


def print_table(out: Console, table: Table) -> None:
    """Print a table; if its numbers are wider than the terminal, it wraps the lines, and nothing is cut."""
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


def _cells(row: PartitionComparison, terms: Mapping[str, str]) -> tuple[str, ...]:
    name = str(row.topic_partition)
    if row.topic != row.new_topic:
        name += f" → {row.new_topic_partition}"
    return (
        safe(name),
        brief(row.old_offset),
        brief(row.new_offset),
        number(row.lag_old) if row.behind_old is None else lag_text(row.behind_old),
        number(row.lag_new) if row.behind_new is None else lag_text(row.behind_new),
        _exactness(row.exactness, row.replay),
        in_words(verdict(verdicts.raw(row)), terms),
    )


def _in_shards(out: Console, row: PartitionComparison) -> None:
    """Print positions that are not offsets in full: the table has room only for their ends."""
    for side, at, position, late, several in (
        ("old", row.topic_partition, row.old_offset, row.behind_old, row.behind_parts),
        ("new", row.new_topic_partition, row.new_offset, row.behind_new, ()),
    ):
        if isinstance(position, OpaquePosition):
            for part in parts(at, position, late, several):
                out.print(safe(f"{at.topic}-{row.partition} on {side}, {part}"), soft_wrap=True)


def _exactness(exactness: Exactness, replay: int | None) -> str:
    shown = verdict(verdicts.EXACTNESS[exactness])
    return f"{shown}, {at_most(replay)} twice" if exactness is Exactness.BOUNDED and replay else shown


def _where(finding: Finding) -> str:
    where = finding.topic_partition or finding.topic
    return "" if where is None else f"{where}: "
