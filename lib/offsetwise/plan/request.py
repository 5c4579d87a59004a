from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from offsetwise.config import JobTraits, Migration
from offsetwise.errors import PlanError
from offsetwise.findings import worded
from offsetwise.lookalikes import code_points, invisible
from offsetwise.model import (
    AnyPosition,
    Comparison,
    CutoverRequirement,
    Identity,
    Override,
    Problem,
    Settlement,
    Severity,
    Start,
    Subject,
    TableBefore,
    Target,
    TargetBefore,
    TopicPartition,
    epoch_ms,
)
from offsetwise.plan.repair.kinds import repair_kinds
from offsetwise.plan.settings import MarkSettings, Takers, accepted, settings_of
from offsetwise.plan.target import TargetRole, takers_of, target_type, target_types
from offsetwise.transactions.report import SinkTransactions
from offsetwise.wording import utc

_KAFKAS: Final[Mapping[str, str]] = MappingProxyType({})
"""No words of other streams: Kafka's own terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChoice:
    """A person's choice of the start of all partitions of one topic, instead of the translated offsets."""

    topic: str
    """Its name on the old cluster."""
    start: Start
    """`earliest`, `latest`, `timestamp` or `group`; a given offset is an `Override`."""
    reason: str
    by: str
    timestamp_ms: int | None = None
    """For `timestamp`."""
    group: str | None = None
    """For `group`: the group on the new cluster whose committed offsets are used."""
    looked_up: tuple[tuple[int, AnyPosition | None], ...] = ()
    """For `timestamp`: (partition, offset) as the new cluster answered; None if no record is that young."""


class Unset(StrEnum):
    """What to do for partitions without a commit of the group, or without a position in the positions file."""

    LEAVE = "leave"
    """Write nothing: the client's `auto.offset.reset` decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlementChoice:
    """A person's decision about a transaction of a sink that Offsetwise cannot explain."""

    transactional_id: str
    decision: Settlement
    reason: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    targets: tuple[Target, ...]
    author: str
    editors: tuple[str, ...] = ()
    identities: tuple[Identity, ...] = ()
    """Those of `author` and `editors` whom an identity provider signed in."""
    subject: Subject | None = None
    """The job whose positions are planned. The migration file states the traits of a checkpoint's job; if the subject
    has no name, the checkpoint with the same URI does."""
    rewind_to: int | None = None
    overrides: tuple[tuple[TopicPartition, Override], ...] = ()
    """By partition of the old cluster."""
    starts: tuple[StartChoice, ...] = ()
    unset: Unset | None = None
    """What to do for partitions without a commit or position, unless `overrides` or `starts` decide them."""
    settlements: tuple[SettlementChoice, ...] = ()
    sink_topics: tuple[str, ...] = ()
    """Topics of the sink to search for transactions, besides those that open transactions name."""
    sink: SinkTransactions | None = None
    """The transactions on the sink's cluster; None if it was not read."""
    repair: str | None = None
    """The kind of repair of the copy; None without a repair."""
    settings: tuple[tuple[str, str], ...] = ()
    """(key, value) of every `--set`, for the targets that take it."""
    tables: tuple[TableBefore, ...] = ()
    """The current state of the lease tables to write to; unreadable tables are missing."""
    before: tuple[TargetBefore, ...] = ()
    """The current state of targets of plug-ins."""
    sink_rewound: bool = False
    """Whether a person states that the sink is taken back with the job."""
    cutover_ms: int | None = None
    """When the job is to start on the new cluster, epoch ms."""
    cutover: CutoverRequirement | None = None
    """The state of the cutover that `apply` requires."""
    newest: tuple[tuple[TopicPartition, int | None], ...] = ()
    """(partition of the new cluster, time of its newest record in epoch ms), as far as they were read."""

    @property
    def mark_settled(self) -> bool:
        return settings_of(MarkSettings, self.settings).mark_settled

    @property
    def checkpoint(self) -> str | None:
        return None if self.subject is None else self.subject.checkpoint


def traits_of(migration: Migration, kept_in: Subject, name: str | None) -> JobTraits:
    """Return what the migration file states about the job.

    Args:
        migration: The migration.
        kept_in: What keeps its positions: a checkpoint by its URI, or a group.
        name: What the migration file calls that checkpoint; None to look for it by its URI.

    Raises:
        ConfigError: The file has no such checkpoint.
    """
    if kept_in.checkpoint is None:
        return migration.group_job(kept_in.group)
    if name is not None:
        return migration.checkpoint(name).job
    of_uri = (checkpoint.job for checkpoint in migration.checkpoints if checkpoint.uri == kept_in.checkpoint)
    return next(of_uri, JobTraits())


def refuse(reasons: tuple[Problem, ...], terms: Mapping[str, str] = _KAFKAS) -> None:
    """Raise if there are objections to a plan.

    Args:
        reasons: The objections.
        terms: The terms of the migration's streams, by Kafka's terms.

    Raises:
        PlanError: There are objections; the message names all of them, grouped by code.
    """
    if not reasons:
        return
    grouped: dict[str, list[Problem]] = {}
    for reason in reasons:
        grouped.setdefault(reason.code, []).append(worded(reason, terms))
    sentences = [f"{code}: {_together(problems)}" for code, problems in grouped.items()]
    fixes = dict.fromkeys(problems[0].fix for problems in grouped.values())
    kinds = "1 reason" if len(grouped) == 1 else f"{len(grouped):,} kinds of reasons"
    raise PlanError(
        f"The plan may not be drafted as asked for, {kinds}. {' '.join(sentences)} Nothing was written.",
        fix=" ".join(fixes),
    )


NAMED = 5
"""How many partitions an error lists for one code."""


def _together(problems: list[Problem]) -> str:
    sentences = list(dict.fromkeys(reason.message for reason in problems))
    more = f" And {len(sentences) - NAMED:,} more like these." if len(sentences) > NAMED else ""
    return " ".join(sentences[:NAMED]) + more


def takers(request: DraftRequest) -> Takers:
    repair = {} if request.repair is None else {request.repair: repair_kinds()[request.repair]}
    return {**takers_of(request.targets), **repair}


def check_request(request: DraftRequest) -> None:
    """Raise if a request contradicts itself, before anything is read.

    Raises:
        PlanError: It does.
    """
    if not request.targets or len(set(request.targets)) != len(request.targets):
        raise unfit("at least one target, each once", f"{len(request.targets)}", fix="Name each target once.")
    chosen = {target: target_type(target.kind) for target in request.targets}
    roles = Counter(kind.role for kind in set(chosen.values()))
    if roles[TargetRole.STATE] > 1:
        raise unfit("the checkpoint copied or edited in place", "both", fix="Name one of them.")
    for kind in chosen.values():
        for error in kind.combination(request.targets):
            raise error
    if request.settlements and not roles[TargetRole.TRANSACTIONS]:
        ending = " or ".join(f"--target {kind.name}" for kind in target_types() if kind.role is TargetRole.TRANSACTIONS)
        raise unfit(
            "a target that ends transactions",
            "decisions about transactions and none",
            fix=f"Add {ending}, or leave the decisions out.",
        )
    for target, kind in chosen.items():
        if (kind.address is None) != (target.group is None):
            expected = f"{target.kind}:NAME" if kind.address else f"{target.kind} without a name"
            raise unfit(
                expected, str(target), fix=f"Name the {kind.address}." if kind.address else "Leave the name out."
            )
    if request.cutover is not None:
        _check_cutover(request.cutover, positions=roles[TargetRole.TRANSACTIONS] < len(set(chosen.values())))
    accepted(takers(request), request.settings)
    if not request.author.strip():
        raise unfit("an author", "none", fix="Say who drafts it: --author NAME.")
    for name in (request.author, *request.editors):
        if unseen := invisible(name) or tuple(character for character in name if not character.isprintable()):
            raise unfit(
                "names whose characters can all be seen",
                f"{code_points(unseen)} in {name[:80]!a}",
                fix="Write the name of the author or editor without it.",
            )


def _check_cutover(required: CutoverRequirement, *, positions: bool) -> None:
    objection = required.objection
    if objection is not None:
        expected, result = objection
        raise unfit(
            expected, result, fix="Name frozen, copied or both, and a time such as 60 s that no producer pauses for."
        )
    if not positions:
        raise unfit(
            "a target that writes positions, where the old logs are required to stand still",
            "only what ends transactions",
            fix="Leave --require out, or add the target that the job starts from.",
        )


def check_readings(comparison: Comparison, migration: Migration, request: DraftRequest) -> None:
    """Raise unless the comparison, its snapshots and the migration belong together."""
    old, new = comparison.snapshots
    for name, expected, result in (
        ("migration", migration.name, comparison.migration),
        ("old cluster", comparison.old.cluster_id, old.cluster_id),
        ("new cluster", comparison.new.cluster_id, new.cluster_id),
    ):
        if expected != result:
            raise unfit(f"one {name}", f"{expected!r} and {result!r}", fix="Compare again, and draft from that.")
    if request.unset is not None and not comparison.begins_by_setting:
        result = "the checkpoint of a job that begins new partitions itself"
        raise unfit("unset for a consumer group or a positions file", result, fix="Leave --set unset out.")
    if not comparison.partitions:
        why = next(
            (f". {finding.message}" for finding in comparison.findings if finding.severity is Severity.BLOCKS), ""
        )
        raise unfit("partitions to plan", f"none{why}", fix="Compare a checkpoint or a group that has positions.")
    if request.cutover is not None and all(row.old_offset is None for row in comparison.partitions):
        raise unfit(
            "a position on the old cluster, where its logs are required to stand still",
            "none",
            fix="Leave --require out: the job has read nothing behind which the old logs could grow.",
        )
    _check_start(request.cutover_ms, read_ms=epoch_ms(new.taken_at))
    rewind_to = request.rewind_to
    if rewind_to is not None and any(
        row.restart and row.restart[0].batch != rewind_to for row in comparison.partitions
    ):
        raise unfit(
            f"the positions after batch {rewind_to}",
            "those of another",
            fix=f"Draft it without a comparison: the checkpoint is compared as of batch {rewind_to} then.",
        )


def _check_start(cutover_ms: int | None, *, read_ms: int) -> None:
    """Refuse a time to start that has passed: retention takes nothing before it, whatever it takes."""
    if cutover_ms is not None and cutover_ms < read_ms:
        raise unfit(
            f"a cutover after the clusters were read, {utc(read_ms)}",
            utc(cutover_ms),
            fix="Name the time at which the job is to start, with its zone, such as 2026-11-21T12:00:00Z; or none.",
        )


def unfit(expected: str, actual: str, *, fix: str) -> PlanError:
    return PlanError(f"The plan: expected {expected}, found {actual}. Nothing was written.", fix=fix)
