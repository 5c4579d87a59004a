"""The positions of all plans of a set in one table, worst first, and the plans with what each of them costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offsetwise.console.plan import positions
from offsetwise.console.plan.panel.position_words import at_most, from_old_to_new, mark, moves
from offsetwise.console.plan.plan_status import STATES
from offsetwise.console.plan.positions import Attention
from offsetwise.console.widgets import table
from offsetwise.console.widgets.cached import cached, told_apart_by
from offsetwise.console.widgets.escaping import cut, markdown
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import GateCheck, Outcome
from offsetwise.plan.checks import checks_of
from offsetwise.review.sets.sheet import MemberSheet, SetSheet
from offsetwise.store.review_rows import State
from offsetwise.wording import many, number, signed, verdicts
from offsetwise.wording.verdicts import Tone, Verdict


@told_apart_by(lambda row: row.name)
@dataclass(frozen=True, slots=True, kw_only=True)
class PositionOfSet:
    job: str
    """With its kind."""
    plan: int
    row: positions.Row

    @property
    def name(self) -> str:
        return f"{self.job}: {self.row.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine:
    job: str
    plan: int | None
    state: Verdict
    partitions: int | None
    changed: int | None
    """Positions that change."""
    unsafe: int | None
    open_checks: int | None
    attention: Attention
    why: str
    """Why there is no plan; empty if there is one."""


@told_apart_by(lambda shown: shown.key)
@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSet:
    """What is derived from the plans of a set; it depends on the digest only."""

    key: str
    """The digest of the set."""
    rows: tuple[PositionOfSet, ...]
    headline: str
    cost: tuple[int | None, int | None, int]
    """Upper bounds of skipped and replayed records, None if unknown, and the number of positions without one."""
    changed: int
    """Positions whose offset changes."""
    jobs: tuple[str, ...]
    """Jobs that have positions, in alphabetical order."""
    quiet: frozenset[str]
    """Names of the positions that stay and need no attention; empty if that is all of them."""
    plans: tuple[PlanLine, ...]
    """In the order of the set; their states are those of a new set."""
    checks: tuple[GateCheck, ...]
    """Each check once, worst outcome first; checks that all plans meet last."""


POSITIONS: Final[Columns[PositionOfSet]] = (
    Column("job", lambda row: _short(row.job), 128, pinned=True),
    Column("topic-partition", lambda row: str(row.row.position.topic_partition), 118),
    Column("old", lambda row: row.row.position.old_offset, 64, "The next record to read on the old cluster."),
    Column("new", lambda row: row.row.position.new_offset, 64, "Where the plan resumes on the new cluster."),
    Column(
        "shift",
        lambda row: verdicts.shift(row.row.position),
        56,
        "New offset minus old offset; 0 stays.",
        printed=signed,
        right=True,
    ),
    Column("proof", lambda row: mark(row.row.position), 84, "How well it is known, or that a person chose it."),
    Column(
        "replays",
        lambda row: at_most(row.row.position, row.row.position.replay),
        62,
        "Records read twice, at most.",
        right=True,
    ),
    Column(
        "skips",
        lambda row: at_most(row.row.position, row.row.position.skip),
        50,
        "Records never read, at most.",
        lambda row: Tone.RIGHT if row.row.position.skip == 0 else Tone.WRONG,
        right=True,
    ),
    Column(
        "risk", lambda row: cut("; ".join(row.row.risks)), 260, when=lambda rows: any(row.row.risks for row in rows)
    ),
)
PLANS: Final[Columns[PlanLine]] = (
    Column("job", lambda line: cut(line.job), 170, pinned=True),
    Column("plan", lambda line: "" if line.plan is None else str(line.plan), 52),
    Column("state", lambda line: line.state, 110),
    Column("positions", lambda line: _count(line.partitions), 72, right=True),
    Column("change", lambda line: _count(line.changed), 60, "Positions whose offset changes.", right=True),
    Column(
        "unsafe",
        lambda line: _count(line.unsafe),
        60,
        "Positions with a risk: something skipped, unknown or decided by a person.",
        lambda line: Tone.WRONG if line.unsafe else None,
        right=True,
    ),
    Column(
        "open checks",
        lambda line: _count(line.open_checks),
        88,
        "Checks that are not met or not known.",
        lambda line: Tone.CAREFUL if line.open_checks else None,
        right=True,
    ),
    Column("why", lambda line: cut(line.why), 320, when=lambda lines: any(line.why for line in lines)),
)
_LARGEST: Final = 3
"""Positions in a one-line summary."""
_NO_PLAN: Final = Verdict(icon="–", word="no plan", tone=Tone.CAREFUL)


@cached(2)
def shown(sheet: SetSheet) -> ShownSet:
    """Return the positions of a set, those that need attention first, and the checks of its plans."""
    rows = [
        PositionOfSet(job=member.entry.job, plan=member.row.id, row=row)
        for member, plan in zip(sheet.members, sheet.plans, strict=True)
        for row in positions.rows_of(plan, None)
    ]
    rows.sort(key=lambda entry: (positions.order(entry.row), entry.plan))
    alone = [entry.row for entry in rows]
    stays = {entry.name for entry in rows if entry.row.attention is Attention.NOTHING and not moves(entry.row.position)}
    return ShownSet(
        key=sheet.digest,
        rows=tuple(rows),
        headline=positions.headline(alone),
        cost=positions.cost(alone),
        changed=sum(moves(row.position) for row in alone),
        jobs=tuple(sorted({entry.job for entry in rows})),
        quiet=frozenset(stays) if len(stays) < len(rows) else frozenset(),
        plans=tuple(_plan_lines(sheet, rows)),
        checks=checks(sheet),
    )


def _short(job: str) -> str:
    return job.partition(" ")[2]


def _count(count: int | None) -> str:
    return "" if count is None else number(count)


def largest(rows: Sequence[PositionOfSet]) -> str:
    """Summarise the first positions that change, as Markdown: on a phone the table has no room for both offsets."""
    moved = [entry for entry in rows if moves(entry.row.position)][:_LARGEST]
    return " · ".join(f"{markdown(_short(entry.job))} {from_old_to_new(entry.row.position)}" for entry in moved)


def job_of(member: MemberSheet) -> str:
    return _short(member.entry.job)


def checks(sheet: SetSheet) -> tuple[GateCheck, ...]:
    """Return every check once; for an open one, the number of plans and the message of the first.

    A check has the worst outcome that it has for any plan.
    """
    order = (Outcome.FAILED, Outcome.UNKNOWN, Outcome.PASSED)
    checks_by_name: dict[str, list[tuple[str, GateCheck]]] = {}
    for member, plan in zip(sheet.members, sheet.plans, strict=True):
        for check in checks_of(plan):
            checks_by_name.setdefault(check.name, []).append((job_of(member), check))
    results = []
    for name, of_jobs in checks_by_name.items():
        job, worst = min(of_jobs, key=lambda job_check: order.index(job_check[1].outcome))
        count = sum(check.outcome is worst.outcome for _, check in of_jobs)
        message = worst.told
        if worst.outcome is not Outcome.PASSED:
            message = f"{many(count, 'plan')} of {len(sheet.members):,}, such as that of {job}: {worst.told}"
        elif len(of_jobs) > 1:
            message = f"in all {len(of_jobs):,} plans."
        results.append(GateCheck(name=name, outcome=worst.outcome, told=message))
    return tuple(sorted(results, key=lambda check: order.index(check.outcome)))


def _plan_lines(sheet: SetSheet, rows: Sequence[PositionOfSet]) -> Iterator[PlanLine]:
    attention: dict[int, Attention] = {}
    changed, unsafe = Counter[int](), Counter[int]()
    for entry in rows:
        attention.setdefault(entry.plan, entry.row.attention)
        changed[entry.plan] += moves(entry.row.position)
        unsafe[entry.plan] += entry.row.attention is Attention.UNSAFE
    for member, plan in zip(sheet.members, sheet.plans, strict=True):
        yield PlanLine(
            job=member.entry.job,
            plan=member.row.id,
            state=STATES[State.SUBMITTED],
            partitions=len(plan.positions),
            changed=changed[member.row.id],
            unsafe=unsafe[member.row.id],
            open_checks=sum(check.outcome is not Outcome.PASSED for check in checks_of(plan)),
            attention=attention.get(member.row.id, Attention.NOTHING),
            why="",
        )


def lines(sheet: SetSheet) -> tuple[PlanLine, ...]:
    """Return the plans of a set and the jobs without a plan, those that need attention first."""
    plans = shown(sheet).plans
    results = [replace(line, state=_state(member)) for line, member in zip(plans, sheet.members, strict=True)]
    results += [
        PlanLine(
            job=refused.job,
            plan=None,
            state=_NO_PLAN,
            partitions=None,
            changed=None,
            unsafe=None,
            open_checks=None,
            attention=Attention.UNSAFE,
            why=refused.problem,
        )
        for refused in sheet.document.refused
    ]
    return tuple(sorted(results, key=lambda line: (line.plan is not None, line.attention, -(line.open_checks or 0))))


@cached(8)
def filtered(shown_set: ShownSet, jobs: tuple[str, ...], *, quiet: bool) -> tuple[PositionOfSet, ...]:
    """Return the positions of these jobs, or of all if empty; without the quiet ones unless `quiet`."""
    hidden = frozenset() if quiet else shown_set.quiet
    return tuple(entry for entry in shown_set.rows if (not jobs or entry.job in jobs) and entry.name not in hidden)


@cached(8)
def line_table(_lines: Sequence[PlanLine], cells: str, colours: Palette) -> table.Prepared:  # noqa: ARG001 - the key
    return table.prepared(PLANS, _lines, colours)


def _state(member: MemberSheet) -> Verdict:
    if member.replaced:
        return Verdict(icon="▲", word=f"version {member.row.number} now", tone=Tone.CAREFUL)
    return STATES[member.row.state]


@cached(16)
def position_table(key: str, rows: tuple[PositionOfSet, ...], colours: Palette) -> table.Prepared:  # noqa: ARG001 - the key
    return table.prepared(POSITIONS, rows, colours)
