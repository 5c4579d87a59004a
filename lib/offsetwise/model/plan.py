"""A plan: what to write, why it is right, and what must still hold when it is written.

A plan never changes: its digest is the SHA-256 of the exact bytes of its file, and an approval names that digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from offsetwise.model.checkpoints import Checkpoint
from offsetwise.model.closed_sets import IsolationLevel
from offsetwise.model.clusters import ShardRange
from offsetwise.model.ended_transactions import PlannedTransaction, SinkRequirement
from offsetwise.model.findings import Finding
from offsetwise.model.gate import CutoverRequirement, GateCheck, Prediction
from offsetwise.model.offsets import AnyPosition, Count, Offset, Time
from offsetwise.model.planned_positions import PlannedPosition, UnsetPartition
from offsetwise.model.repair import Repair
from offsetwise.model.subjects import OfSubject


class RegisteredTarget:
    """Marks a text that names a registered target. A file with another name is rejected."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Accept the names that are registered when a file is read."""
        from pydantic_core import PydanticCustomError, core_schema  # noqa: PLC0415 - Spark's workers do not have it

        from offsetwise.registry import TARGETS, with_absent  # noqa: PLC0415 - as above

        def registered(name: str) -> str:
            if name not in TARGETS:
                raise PydanticCustomError(
                    "target",
                    "expected one of {expected}; found {found}",
                    {
                        "expected": ", ".join(TARGETS),
                        "found": repr(name[:100]),
                        "fix": with_absent(
                            "Correct the name where it is a typo. Install the plug-in where it is one's, or use the "
                            "release of Offsetwise that wrote the file where it is a newer one."
                        ),
                    },
                )
            return name

        return core_schema.no_info_after_validator_function(
            registered,
            core_schema.str_schema(strict=True),
            ref="TargetKind",
            metadata={"pydantic_js_functions": [self._described]},
        )

    def _described(self, schema: Any, handler: Any) -> dict[str, Any]:  # noqa: ARG002 - pydantic's signature
        from offsetwise.registry import TARGETS  # noqa: PLC0415 - as above

        message = "Where positions are written."
        return {"description": message, "enum": [*TARGETS], "title": "TargetKind", "type": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One place to write to."""

    kind: Annotated[str, RegisteredTarget()]
    """Its registered name; see `offsetwise.targets`."""
    group: str | None = None
    """The group's name; None for every other kind."""

    def __str__(self) -> str:
        return self.kind if self.group is None else f"{self.kind}:{self.group}"


MAX_PARTITIONS: Final = 100_000
"""The maximum of one topic: a plan with more was not drafted from a cluster."""
MAX_PARALLELISM: Final = 1 << 15
"""The maximum of a Flink job: `KeyGroupRangeAssignment.UPPER_BOUND_MAX_PARALLELISM`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequirement:
    """A topic that must still be the same one."""

    name: str
    id: str | None
    partitions: int
    shards: tuple[ShardRange, ...] = ()
    """For a stream that has shards, the shards when the plan is drafted: written positions take hash ranges and parents
    from here. Not written if empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequirement:
    """A cluster that must still be the same one, with its topics."""

    name: str
    cluster_id: str | None
    topics: tuple[TopicRequirement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRequirement:
    """A checkpoint that must not have moved on."""

    uri: str
    engine: str
    job_id: str | None
    last_planned_batch: int | None
    last_committed_batch: int | None
    files: tuple[tuple[str, str], ...]
    """(relative path, SHA-256 in hex) of the offset files that the positions were read from."""

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> CheckpointRequirement:
        """Require a checkpoint as it was read."""
        progress = checkpoint.details.progress
        return cls(
            uri=checkpoint.uri,
            engine=checkpoint.engine,
            job_id=checkpoint.job_id,
            last_planned_batch=progress.planned,
            last_committed_batch=progress.committed,
            files=checkpoint.pins,
        )

    @property
    def progress(self) -> tuple[tuple[str, int | None], ...]:
        """The progress of the job in the engine's counts: (name for people, number)."""
        return (
            ("last planned batch", self.last_planned_batch),
            ("last committed batch", self.last_committed_batch),
        )

    def moved(self, now: CheckpointRequirement) -> Iterator[tuple[str, int | None, int | None]]:
        """Yield the numbers that have changed: (name for people, before, now)."""
        for (what, before), (_, after) in zip(self.progress, now.progress, strict=True):
            if before != after:
                yield what, before, after


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBefore:
    """A group on the new cluster as it was when the plan was drafted."""

    group: str
    state: str | None
    offsets: tuple[tuple[str, int, Offset], ...]
    """(topic, partition, committed offset); a partition without a commit is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBefore:
    """A table of leases as it was when the plan was drafted."""

    table: str
    leases: tuple[tuple[str, AnyPosition], ...]
    """(lease key, position); a lease that did not exist is missing."""
    absent: bool | None = None
    """True if there was no such table. Not written if there was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetBefore:
    """What was at a target of a plug-in when the plan was drafted: to be reviewed, compared with, and put back."""

    target: Target
    before: Mapping[str, str | int | None]
    """As the plug-in reads it: names that people understand, each with a text or a number; null for nothing."""

    @property
    def described(self) -> str:
        return ", ".join(f"{key}: {'nothing' if value is None else value}" for key, value in self.before.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements(OfSubject):
    """What must still hold when the plan is applied. Growth of log ends is no drift."""

    old: ClusterRequirement
    new: ClusterRequirement
    checkpoint: CheckpointRequirement | None
    groups: tuple[GroupBefore, ...] = ()
    old_group: GroupBefore | None = None
    """The group on the old cluster that the positions were read from; None for a checkpoint."""
    tables: tuple[TableBefore, ...] = ()
    """The tables that are written to, as far as they could be read. Not written if empty."""
    targets: tuple[TargetBefore, ...] = ()
    """The state of targets of plug-ins, which only the plug-ins understand. Not written if empty."""
    sink: SinkRequirement | None = None
    """The cluster of the job's sinks, if the plan ends transactions there. Not written if null."""
    cutover: CutoverRequirement | None = None
    """The required state of the cutover. Not written if null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedJob:
    """What the migration file states about the job. None means not stated."""

    stateful: bool | None = None
    watermark_ms: int | None = None
    sink: str | None = None
    tolerates_replay: bool | None = None
    sink_rewound: bool | None = None
    """Whether a person states that the sink is taken back with the job."""
    dynamic_cluster: str | None = None
    """The cluster of a DynamicKafkaSource whose positions are moved; None if it has none. Not written if null."""
    dynamic_servers: str | None = None
    """The new cluster's `bootstrap.servers` in the state of that source. Not written if null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTotals:
    """The plan in numbers. Unknown counts add nothing and are counted beside."""

    partitions: int
    overridden: int
    replay: Count
    skip: Count
    uncounted: int
    """Partitions whose replay or skip is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Somebody as an identity provider names them, its parts apart."""

    issuer: str
    subject: str
    address: str | None = None
    """An e-mail address in lower case; None if the provider has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedTransaction:
    """A transaction of a sink that the copied savepoint says is committed, so that no restore commits it again."""

    transactional_id: str
    producer_id: Count
    epoch: int
    reason: str
    """The evidence that it is committed, or that this plan commits it first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSavepoint:
    """What a savepoint needs to know of its stream, and of the job that starts from it, and nothing else says."""

    stream_arn: str
    uid: str | None = None
    """The uid of the source. It and the following fields are for a savepoint that is created from positions alone."""
    parallelism: int | None = None
    max_parallelism: int | None = None

    @property
    def impossible(self) -> str | None:
        """A parallelism that no Flink job can have, as part of a sentence; None if it is possible or not stated."""
        parallelism, most = self.parallelism, self.max_parallelism
        if parallelism is None or most is None or 0 < parallelism <= most <= MAX_PARALLELISM:
            return None
        return f"parallelism {parallelism:,} and maximum parallelism {most:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An offset plan, as it is reviewed, approved and applied."""

    migration: str
    drafted_at: Time
    """ISO 8601, UTC."""
    author: str
    """As recorded, not verified."""
    editors: tuple[str, ...]
    """Everybody who edited an earlier version. Neither they nor the author may approve."""
    strategy: str
    """The name of the way in which the job moves, in the terms of the field."""
    targets: tuple[Target, ...]
    rewind_to: int | None
    """The earlier batch that the job goes back to; None if it does not go back."""
    compared_at: Time
    """When the comparison was taken, ISO 8601, UTC."""
    isolation_level: IsolationLevel
    job: StatedJob
    positions: tuple[PlannedPosition, ...]
    requirements: Requirements
    gate: tuple[GateCheck, ...]
    findings: tuple[Finding, ...]
    """Findings of the comparison and of drafting."""
    prediction: Prediction
    keeps: tuple[str, ...]
    gives_up: tuple[str, ...]
    totals: PlanTotals
    dropped_batch: int | None = None
    """The polluted batch that is left out of the written checkpoint; None if there is none."""
    identities: tuple[Identity, ...] = ()
    """Those of the author and the editors whom an identity provider signed in at the console. Not written if empty."""
    marks: tuple[MarkedTransaction, ...] = ()
    """Transactions of the savepoint that its copy marks as committed. Not written if empty."""
    transactions: tuple[PlannedTransaction, ...] = ()
    """The transactions of the job's sinks, in the order in which they are ended: commits before aborts. Not written if
    empty."""
    savepoint: NewSavepoint | None = None
    """A person's statements about a savepoint to create; None if no target takes them. Not written if null."""
    settings: tuple[tuple[str, str], ...] = ()
    """(key, value) of every `--set`, by key. Not written if empty."""
    repair: Repair | None = None
    """The repair of the copy. Not written if null."""
    from_files: bool | None = None
    """True if it was drafted from the files of a comparison and two snapshots, which people can change. None if the
    clusters were read; not written if null."""
    left_unset: tuple[UnsetPartition, ...] = ()
    """Partitions without a commit of the group, for which none is written: the client's `auto.offset.reset` decides.
    Not written if empty."""

    @property
    def job_id(self) -> str | None:
        """The job's id in its checkpoint."""
        if self.repair is not None and self.repair.job_id is not None:
            return self.repair.job_id
        return None if self.requirements.checkpoint is None else self.requirements.checkpoint.job_id

    @property
    def moves_nothing(self) -> bool:
        """Whether it repairs a checkpoint without reading a cluster; then it belongs to no migration."""
        return self.repair is not None and not self.positions

    @property
    def moves(self) -> str:
        """The moved subject; each has at most one open plan."""
        needs = self.requirements
        if needs.checkpoint is not None:
            moves = needs.moves(None)
            return moves if self.positions or self.repair is not None else transactions_of(moves)
        return needs.moves(self.positions[0].source if needs.old_group is None else needs.old_group.group)


def transactions_of(moves: str) -> str:
    """Return the subject of a plan that only ends transactions, so that it may be open next to one of the positions."""
    return f"transactions of {moves}"
