"""A world to apply plans in: two clusters as values, a group in memory that can fail, a recorded checkpoint on disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from offsetwise import files
from offsetwise.api.readers import LiveReaders
from offsetwise.apply.disk import Disk
from offsetwise.apply.readers import RecordPlace
from offsetwise.apply.reversal import BackOrder
from offsetwise.apply.run import ApplyOrder, Tools
from offsetwise.apply.writers import TargetWriters
from offsetwise.approval import ApprovalFile, ApprovalPolicy, keygen, sign
from offsetwise.config import ClusterConfig, Migration
from offsetwise.engines.engine import CheckpointReading
from offsetwise.errors import ClusterUnreachableError, LostReplyError
from offsetwise.model import (
    Checkpoint,
    Cluster,
    Cutover,
    GroupBefore,
    GroupOffset,
    GroupState,
    IsolationLevel,
    Neighbour,
    PartitionState,
    Plan,
    PlannedPosition,
    PlannedTransaction,
    Proof,
    Side,
    Snapshot,
    Target,
    TopicPartition,
    TopicRequirement,
    TopicState,
)
from offsetwise.plugins.kafka.targets.group.checks import other_cluster
from offsetwise.plugins.kafka.targets.group.port import Reply
from offsetwise.plugins.kafka.targets.group.writer import GroupWriter
from offsetwise.ports.stretches import ReadStretch, Stretch
from offsetwise.position import offset_of
from offsetwise.transactions.ended import Ends
from offsetwise.transactions.report import SinkTransactions
from offsetwise.translation.identify import Records, identify_as
from offsetwise.translation.identity import content_hash
from tests.apply.plans import COPY, MIGRATION, SHIFT, drafted, recorded

GROUP = "etl"
TO_GROUP = Target(kind="consumer-group", group=GROUP)
SALT = bytes(range(16))
BEFORE = 7
"""What the group had committed before, where it had."""
SAMPLE = "spark-4.0.0-agg-rocksdb"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
REVIEWER = keygen(subject="reviewer@example.org")
MADE_OF = "timestamp, key, value and headers"


def record(topic: str, partition: int, serial: int) -> Records:
    """Return one record as Spark hands it over; equal serials make equal records."""
    value = f"{topic}-{partition}-{serial}".encode()
    return Records(
        offsets=(serial,),
        timestamps=(1_000 + serial,),
        log_append=(False,),
        content=(content_hash(SALT, None, value),),
        masked=(None,),
        key_schema=(None,),
        value_schema=(None,),
        headers=((),),
    )


def identity(topic: str, partition: int, serial: int) -> str:
    """Return a record's identity, as a plan keeps it."""
    made = identify_as(record(topic, partition, serial), timed=True, ignored_headers=(), schema_ids={}, is_new=False)
    return made[0].hex()


def proof(position: PlannedPosition) -> Proof:
    """Prove a position by the records on both sides of it; a record keeps its number, SHIFT further on."""
    assert position.old_offset is not None

    def neighbour(old: int) -> Neighbour | None:
        if old < 0:
            return None
        return Neighbour(
            old_offset=old,
            new_offset=old + SHIFT,
            timestamp_ms=1_000 + old,
            identity=identity(position.topic, position.partition, old),
            side=Side.READ,
        )

    return Proof(
        salt=SALT.hex(),
        identity=MADE_OF,
        before=neighbour(offset_of(position.old_offset) - 1),
        after=neighbour(offset_of(position.old_offset)),
    )


def proven(position: PlannedPosition) -> PlannedPosition:
    """Prove a position, and the end of its pending batch."""
    end = proof(replace(position, old_offset=position.restart[-1].old)) if len(position.restart) > 1 else None
    return replace(position, proof=proof(position), end_proof=end)


@dataclass
class Groups:
    """The groups of a cluster, in memory."""

    offsets: dict[str, dict[TopicPartition, GroupOffset]] = field(default_factory=dict)
    state: str = "Empty"
    type: str | None = "Classic"
    error: str | None = None
    refuse: dict[TopicPartition, str] = field(default_factory=dict)
    """Partitions whose commit is refused, once."""
    lose: Callable[[], None] | None = None
    """Loses the reply to the next commit: what raises loses it before it arrives, else it was done."""
    arrives: int | None = None
    """How many partitions of a commit whose reply is lost arrive; None for all."""
    unreadable_after: bool = False
    """After the next commit the cluster is silent."""
    silent: bool = False
    commits: list[tuple[GroupOffset, ...]] = field(default_factory=list)
    on_commit: Callable[[Groups], None] | None = None
    keep: str | None = None
    """Why a group is not deleted."""
    led_to: str | None = None
    """The other cluster that the address leads to."""

    def read(self, groups: Sequence[str], *, cluster_id: str | None) -> Mapping[str, GroupState]:
        self._reach(cluster_id)
        return {name: self.one(name) for name in groups}

    def commit(self, wanted: Mapping[str, tuple[GroupOffset, ...]], *, cluster_id: str | None) -> Mapping[str, Reply]:
        self._reach(cluster_id)
        return {name: self._reply(name, offsets) for name, offsets in wanted.items()}

    def _reply(self, name: str, offsets: tuple[GroupOffset, ...]) -> Reply:
        try:
            return self.commit_one(name, offsets)
        except LostReplyError as error:
            return error

    def _reach(self, cluster_id: str | None) -> None:
        assert cluster_id
        if self.led_to is not None:
            raise other_cluster("Cluster 'new'", cluster_id, self.led_to, "Nothing was sent.")

    def one(self, group: str) -> GroupState:
        if self.silent:
            raise ClusterUnreachableError("Cluster 'new': expected a broker, found none.", fix="Wait.")
        held = self.offsets.get(group, {})
        state = "Dead" if self.state == "Empty" and group not in self.offsets else self.state
        return GroupState(name=group, state=state, type=self.type, offsets=tuple(held.values()), error=self.error)

    def commit_one(self, group: str, offsets: tuple[GroupOffset, ...]) -> Mapping[TopicPartition, str]:
        self.commits.append(offsets)
        if self.on_commit is not None:
            self.on_commit(self)
        refused, self.refuse = self.refuse, {}
        held = self.offsets.setdefault(group, {})
        arriving = len(offsets) if self.arrives is None else self.arrives
        for one in offsets[:arriving]:
            key = one.topic_partition
            if key not in refused:
                held[key] = one
        self.silent = self.silent or self.unreadable_after
        if self.lose is not None:
            self.lose, self.arrives = None, None
            raise LostReplyError("The reply was lost.", fix="Read again.")
        return refused

    def remove(self, group: str, *, cluster_id: str | None) -> str | None:
        self._reach(cluster_id)
        if self.keep is None:
            self.offsets.pop(group, None)
        return self.keep

    def at(self, group: str = GROUP) -> dict[TopicPartition, tuple[int, str]]:
        return {key: (one.offset, one.metadata) for key, one in self.offsets.get(group, {}).items()}


@dataclass
class World:
    """Both clusters as values, and the checkpoint as it stands on disk."""

    live: LiveReaders
    clusters: dict[Cluster, Snapshot]
    groups: Groups
    other_records: set[tuple[Cluster, RecordPlace]] = field(default_factory=set)
    missing_records: set[tuple[Cluster, RecordPlace]] = field(default_factory=set)
    asked: list[tuple[Cluster, RecordPlace]] = field(default_factory=list)
    sink: Callable[[], SinkTransactions] | None = None
    """What is decided about the transactions of the job's sinks now."""
    cutovers: list[Cutover] = field(default_factory=list)
    """What watching the old logs shows, each time; nobody watches where a plan requires nothing of them."""

    def cutover(self, plan: Plan) -> Cutover:
        assert plan.requirements.cutover is not None
        return self.cutovers.pop(0)

    def transactions(self, plan: Plan) -> SinkTransactions:
        assert plan.requirements.sink is not None
        assert self.sink is not None
        return self.sink()

    def cluster(self, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        held = self.clusters[side]
        states = tuple(self.groups.one(name) for name in groups) if side is Cluster.NEW else held.groups
        return replace(held, topics=tuple(t for t in held.topics if t.name in topics), groups=states)

    def checkpoint(self, uri: str) -> Checkpoint:
        return self.live.checkpoint(uri)

    def with_times(self, uri: str) -> CheckpointReading:
        return self.live.with_times(uri)

    def files(self, folder: str, paths: tuple[str, ...]) -> Mapping[str, bytes]:
        return self.live.files(folder, paths)

    @property
    def migration(self) -> Migration:
        return self.live.migration

    @property
    def target(self) -> ClusterConfig:
        return self.live.target

    def ends(self, cluster: str, transactions: tuple[PlannedTransaction, ...]) -> Ends:
        return self.live.ends(cluster, transactions)

    def digests(self, checkpoint: Checkpoint, paths: tuple[str, ...]) -> Mapping[str, str]:
        return self.live.digests(checkpoint, paths)

    def stretches(self, side: Cluster, wanted: Sequence[Stretch], *, salt: bytes) -> Sequence[ReadStretch]:
        return self.live.stretches(side, wanted, salt=salt)

    def records(
        self, side: Cluster, places: Sequence[RecordPlace], *, isolation: IsolationLevel, salt: bytes
    ) -> Mapping[RecordPlace, Records]:
        assert salt == SALT
        assert isolation is IsolationLevel.READ_UNCOMMITTED
        made = {}
        for place in places:
            self.asked.append((side, place))
            if (side, place) in self.missing_records:
                continue
            (topic, partition), offset = place
            serial = offset - (SHIFT if side is Cluster.NEW else 0)
            made[place] = record(topic, partition, -serial - 1 if (side, place) in self.other_records else serial)
        return made

    def change(self, side: Cluster, **facts: Any) -> None:
        """Change what a cluster says about itself."""
        self.clusters[side] = replace(self.clusters[side], **facts)

    def change_topics(self, side: Cluster, change: Callable[[TopicState], TopicState | None]) -> None:
        """Change every topic of a cluster; None removes it."""
        changed = (change(topic) for topic in self.clusters[side].topics)
        self.change(side, topics=tuple(topic for topic in changed if topic is not None))

    def change_logs(self, side: Cluster, **facts: Any) -> None:
        """Change every partition of a cluster."""
        self.change_topics(
            side, lambda topic: replace(topic, partitions=tuple(replace(p, **facts) for p in topic.partitions))
        )


@dataclass
class Stage:
    """A plan in a world, ready to be applied."""

    folder: Path
    source: Path
    plan: Plan
    migration: Migration
    world: World
    groups: Groups
    approvals: tuple[ApprovalFile, ...] = ()
    output: str | None = None

    @property
    def receipt(self) -> str:
        return str(self.folder / "receipt.json")

    @property
    def data(self) -> bytes:
        return files.dump(self.plan).encode()

    def order(self, *, approved: bool = True) -> ApplyOrder:
        return ApplyOrder(
            plan_bytes=self.data,
            plan=self.plan,
            migration=self.migration,
            output=self.output,
            approvals=(approval(self.data),) if approved else (),
            policy=ApprovalPolicy(trusted=(REVIEWER.public,)),
        )

    def back(self, *, journal: bool = False, approved: bool = True, migration: Migration | None = None) -> BackOrder:
        """Order what this plan wrote back, by its receipt or its journal."""
        return BackOrder(
            path=self.receipt + (".journal" if journal else ""),
            migration=migration or self.migration,
            plan_bytes=self.data if journal else None,
            approvals=(approval(self.data),) if approved else (),
            policy=ApprovalPolicy(trusted=(REVIEWER.public,)),
        )

    def tools(self, disk: Disk | None = None) -> Tools:
        return Tools(readers=self.world, writers=writers_of(self.groups), disk=disk or Disk(), now=lambda: NOW)


def writers_of(groups: Groups) -> TargetWriters:
    """Return all writers, that of groups with groups in memory."""
    made = TargetWriters(MIGRATION)
    made[TO_GROUP.kind] = GroupWriter(groups)
    return made


def approval(data: bytes) -> ApprovalFile:
    """Sign a plan as the reviewer."""
    subject, issuer = REVIEWER.public.subject, REVIEWER.public.issuer
    return ApprovalFile(name="approval", content=sign(data, REVIEWER, subject=subject, issuer=issuer, now=NOW))


def stage(
    folder: Path, *targets: Target, sample: str = SAMPLE, absent: Collection[int] = (), source: Path | None = None
) -> Stage:
    """Lay out a checkpoint, two clusters, a group, and a plan for them.

    Args:
        folder: Where everything stands.
        targets: What the plan writes; a copy and a group where nothing is given.
        sample: The recorded checkpoint.
        absent: Positions (by number) whose partition the group has no commit in.
        source: Another checkpoint, in the place of a recorded one.
    """
    source = source or recorded(sample, folder)
    migration = Migration.model_validate(
        {
            "name": "test",
            "source": {"properties": {"bootstrap.servers": "old.invalid:9092"}},
            "target": {"properties": {"bootstrap.servers": "new.invalid:9092"}},
            "checkpoint_roots": [str(folder)],
            "write_roots": [str(folder)],
        }
    )
    plan = drafted(str(source))
    before = {one.new_topic_partition: BEFORE for number, one in enumerate(plan.positions) if number not in absent}
    named = tuple(each.group or "" for each in targets if each.kind == "consumer-group") or (GROUP,)
    old, new = _cluster(plan, Cluster.OLD), _cluster(plan, Cluster.NEW)
    requirements = replace(
        plan.requirements,
        old=replace(plan.requirements.old, cluster_id=old.cluster_id, topics=_required(old)),
        new=replace(plan.requirements.new, cluster_id=new.cluster_id, topics=_required(new)),
        groups=tuple(
            GroupBefore(
                group=name,
                state="Empty",
                offsets=tuple((key.topic, key.partition, offset) for key, offset in sorted(before.items())),
            )
            for name in named
        ),
    )
    plan = replace(
        plan,
        targets=targets or (COPY, TO_GROUP),
        requirements=requirements,
        positions=tuple(map(proven, plan.positions)),
    )
    held = {
        key: GroupOffset(topic=key.topic, partition=key.partition, offset=offset, leader_epoch=4, metadata="mine")
        for key, offset in before.items()
    }
    groups = Groups(offsets={name: dict(held) for name in named})
    live = LiveReaders(migration=migration, progress=lambda *_: None)
    world = World(live=live, clusters={Cluster.OLD: old, Cluster.NEW: new}, groups=groups)
    return Stage(
        folder=folder,
        source=source,
        plan=plan,
        migration=migration,
        world=world,
        groups=groups,
        output=str(folder / "out" / "copy"),
    )


def _cluster(plan: Plan, side: Cluster) -> Snapshot:
    topics: dict[str, int] = {}
    for one in plan.positions:
        name = one.topic if side is Cluster.OLD else one.new_topic
        topics[name] = max(topics.get(name, 0), one.partition + 1)
    return Snapshot(
        cluster=side,
        name=str(side),
        alias=str(side),
        cluster_id=f"id-of-{side}",
        taken_at="2026-11-21T12:00:00Z",
        topics=tuple(
            TopicState(
                name=name,
                id=f"{side}-{name}",
                partitions=tuple(
                    PartitionState(partition=number, log_start=0, lso=100_000, hw=100_000) for number in range(count)
                ),
            )
            for name, count in topics.items()
        ),
    )


def _required(snapshot: Snapshot) -> tuple[TopicRequirement, ...]:
    return tuple(TopicRequirement(name=t.name, id=t.id, partitions=len(t.partitions)) for t in snapshot.topics)
