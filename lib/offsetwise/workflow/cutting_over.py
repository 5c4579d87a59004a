"""Watch a cutover: do the old logs still grow, and has everything been copied?"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NoReturn

from offsetwise.comparison import Scene, assemble, positions_of
from offsetwise.comparison.subjects import ReadSubject
from offsetwise.config import Migration, spark_properties
from offsetwise.engines.checkpoint import read_newest
from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError, ConfigError, UsageError
from offsetwise.findings.reading import partition_unreadable
from offsetwise.findings.target_position import not_yet_mirrored
from offsetwise.lag.cutover import CopiesFound, LogWatch, findings_of, late_commits, state_of
from offsetwise.model import (
    MIN_STILL_FOR_MS,
    AnyPosition,
    BelongsTo,
    Cluster,
    ClusterRef,
    Cutover,
    CutoverState,
    GroupOffset,
    GroupState,
    Link,
    Outcome,
    PartitionComparison,
    Plan,
    Problem,
    Snapshot,
    Subject,
    SubjectKind,
    TopicPartition,
    time_of,
)
from offsetwise.pipeline.start import install_pyspark
from offsetwise.plan.gate import mirrored
from offsetwise.plan.options import STILL_FOR_S
from offsetwise.position import offset_of
from offsetwise.progress import Progress, no_progress
from offsetwise.proof import match_of, prove
from offsetwise.streams.reader import look_at_logs, read_cluster
from offsetwise.workflow.scenes import check_two_clusters

EVERY_S: Final = 5.0
COPIES_EVERY_S: Final = 15.0
"""How long the mirror may continue before the records are compared again."""
_ENDS: Final = Subject(kind=SubjectKind.GROUP, name="ends of the logs")
"""A pretended group that has committed the ends of the logs: its positions are compared."""


def cutover(
    migration: Migration,
    *,
    topics: tuple[str, ...] = (),
    plan: tuple[Plan, str | None] | None = None,
    still_for_s: float | None = None,
    every_s: float = EVERY_S,
    until_copied: bool = False,
    records: bool = True,
    heard: Callable[[Cutover], None] = lambda _: None,
    progress: Progress = no_progress,
    wait: Callable[[float], object] = time.sleep,
) -> Cutover:
    """Watch the old cluster's logs: whether they have stopped growing, and are copied to the new cluster.

    Args:
        migration: The migration.
        topics: Topics of the old cluster; if empty, those of the plan, or of every job in the migration file.
        plan: A plan and its digest: its topics are watched, and the commits of its group compared.
        still_for_s: How long a log must not have grown, in seconds; None for what the plan requires, or 60.
        every_s: Seconds between observations.
        until_copied: Whether to continue until every record is on the new cluster, or the plan's requirement holds.
            Otherwise it ends as soon as a log grows, or once no log has grown for `still_for_s`.
        records: Whether to search for copies of a topic, with Spark, once its logs have stopped: else none is COPIED.
        heard: Called with the result of each observation.
        progress: Called with each step.
        wait: Waits for a number of seconds between two observations.

    Raises:
        ClusterError: A cluster does not answer, has none of the topics, or is another one than before.
        ConfigError: No topic is named anywhere.
        SparkError: Spark cannot read the records.
        UsageError: The time is shorter than two observations take.
    """
    watch = _CutoverWatch(migration, topics, plan, still_for_s=still_for_s, records=records, progress=progress)
    while True:
        heard(judged := watch.observe(again=until_copied))
        if judged.state.reaches(watch.goal) or (watch.logs.is_over and not until_copied):
            return judged
        wait(watch.pause_s(every_s))


def watch_logs(
    migration: Migration,
    topics: tuple[str, ...],
    *,
    still_for_s: float | None,
    records: bool,
    heard: Callable[[Cutover], None],
) -> NoReturn:
    """Watch the logs of topics of the old cluster until `heard` raises, because a copied log may grow again.

    The arguments and errors are those of `cutover`.
    """
    watch = _CutoverWatch(migration, topics, None, still_for_s=still_for_s, records=records, progress=no_progress)
    while True:
        heard(watch.observe(again=True))
        time.sleep(watch.pause_s(EVERY_S))


class _CutoverWatch:
    def __init__(
        self,
        migration: Migration,
        topics: tuple[str, ...],
        plan: tuple[Plan, str | None] | None,
        *,
        still_for_s: float | None,
        records: bool,
        progress: Progress,
    ) -> None:
        required = None if plan is None else plan[0].requirements.cutover
        if still_for_s is None:
            still_for_s = STILL_FOR_S if required is None else required.still_for_ms / 1000
        if 1000 * still_for_s < MIN_STILL_FOR_MS:
            raise UsageError(
                f"cutover: expected at least {MIN_STILL_FOR_MS / 1000:g} s for which the logs stand still, found "
                f"{still_for_s:g} s. Nothing was read.",
                fix="Give the longest pause that a producer makes, as in --still-for 60s.",
            )
        self.migration = migration
        self.plan = None if plan is None else plan[0]
        self.digest = None if plan is None else plan[1]
        self.goal = CutoverState.COPIED if required is None else required.goal
        self.topics = topics or _topics_of(migration, self.plan)
        self.logs = LogWatch(still_for_ms=round(still_for_s * 1000))
        self.records = records and self.goal is CutoverState.COPIED
        self.progress = progress
        self.began_at = time_of(datetime.now(UTC))
        self.new = ClusterRef(name=migration.target.name, cluster_id=None, taken_at=self.began_at)
        self.copies: Mapping[TopicPartition, CopiesFound] = {}
        self.copies_s = -COPIES_EVERY_S
        self.problems: tuple[Problem, ...] = ()

    def observe(self, *, again: bool) -> Cutover:
        """Observe the logs once, then the copies of topics whose logs have stopped growing, and then the logs again.

        Args:
            again: Whether a later observation will ask a cluster that does not answer now.
        """
        try:
            self._look_at_logs()
            if self.records and (topics := self._topics_due()):
                self.copies_s = time.monotonic()
                self.copies = {**self.copies, **self._compare_copies(topics)}
                self._look_at_logs()
        except (ClusterUnreachableError, ClusterAuthError) as error:
            if not again or not self.logs.look_count:
                raise
            self.logs.missed()
            self.problems = (partition_unreadable.problem(error.problem, fix=error.fix),)
            self.taken_at = time_of(datetime.now(UTC))
        rows = self.logs.partitions(self.migration.new_topic, self.copies)
        needs = None if self.plan is None else self.plan.requirements.old_group
        late = () if needs is None else late_commits(needs, self._group(needs.group))
        return Cutover(
            migration=self.migration.name,
            plan=self.digest,
            began_at=self.began_at,
            taken_at=self.taken_at,
            looks_taken=self.logs.look_count,
            still_for_ms=self.logs.still_for_ms,
            state=state_of(rows),
            old=ClusterRef(name=self.migration.source.name, cluster_id=self.logs.cluster_id, taken_at=self.taken_at),
            new=self.new,
            partitions=rows,
            late_commits=late,
            findings=findings_of(rows, None if needs is None else needs.group, late),
            problems=self.problems,
        )

    def pause_s(self, every_s: float) -> float:
        """Return the seconds until the next observation, at most until no log has grown for long enough."""
        left_s = (self.logs.still_for_ms - self.logs.least_still_ms) / 1000
        return min(every_s, left_s) if left_s > 0 else every_s

    def _look_at_logs(self) -> None:
        began_ms = time.monotonic_ns() // 1_000_000
        observation = look_at_logs(self.migration, self.topics, self.logs.ends)
        over_ms, now = time.monotonic_ns() // 1_000_000, datetime.now(UTC)
        self._require_same_cluster(observation.cluster_id)
        if not observation.logs and not self.logs.look_count:
            raise ClusterError(
                f"{self.migration.source.name!r}: expected the topics {', '.join(self.topics)}, found none of them. "
                "Nothing was watched.",
                fix="Correct the topics' names, or grant DESCRIBE on them.",
            )
        self.problems = observation.problems
        self.taken_at = time_of(now)
        self.logs.heard(observation, began_ms=began_ms, over_ms=over_ms, clock_ms=round(now.timestamp() * 1000))

    def _require_same_cluster(self, cluster_id: str | None) -> None:
        planned = None if self.plan is None else self.plan.requirements.old.cluster_id
        expected = self.logs.cluster_id or planned
        if expected is not None and cluster_id != expected:
            raise ClusterError(
                f"{self.migration.source.name!r}: expected cluster {expected}, as before, found {cluster_id}. What was "
                "seen does not hold for it.",
                fix="Correct bootstrap.servers in the migration file, and watch again from the beginning.",
            )

    def _group(self, name: str) -> GroupState | None:
        return read_cluster(self.migration, Cluster.OLD, topics=(), groups=(name,), mirror=False).group(name)

    def _topics_due(self) -> tuple[str, ...]:
        if time.monotonic() - self.copies_s < COPIES_EVERY_S:
            return ()
        undecided = {at.topic for at, end in self.logs.ends.items() if not self._is_copied(at, end)}
        return tuple(sorted(undecided & self.logs.frozen_topics))

    def _is_copied(self, at: TopicPartition, end: int) -> bool:
        copies = self.copies.get(at)
        return copies is not None and (copies.end, copies.outcome) == (end, Outcome.PASSED)

    def _compare_copies(self, names: tuple[str, ...]) -> Mapping[TopicPartition, CopiesFound]:
        """Compare the ends of old logs, by the records of both clusters, as if a job had read up to there.

        Args:
            names: The topics.
        """
        install_pyspark(self.progress)
        migration = self.migration
        old = read_cluster(migration, Cluster.OLD, topics=names, groups=(), progress=self.progress)
        self._require_same_cluster(old.cluster_id)
        new_names = tuple(sorted({migration.new_topic(name) for name in names}))
        new = read_cluster(migration, Cluster.NEW, topics=new_names, groups=(), progress=self.progress)
        check_two_clusters(old, new)
        self.new = ClusterRef(name=new.name, cluster_id=new.cluster_id, taken_at=new.taken_at)
        self.problems = (*self.problems, *new.problems)
        belongs = BelongsTo(cluster=Cluster.OLD, reason="They are the ends of the old cluster's logs.")
        subject = ReadSubject.of(_ENDS, migration, stated=belongs)
        scene = Scene.of(migration, subject, _with_ends_committed(old, migration), new, live=True)
        scene = replace(scene, queries=positions_of(scene), belongs_to=belongs)
        read = prove([scene], spark_properties(migration), self.progress)
        compared = assemble(scene, [match_of(scene, query, read) for query in scene.queries], belongs)
        results = {
            finding.topic_partition: finding.message
            for finding in compared.findings
            if finding.code == not_yet_mirrored.code
        }
        return {
            row.topic_partition: _copies_of(row, row.old.hw, migration, results.get(row.topic_partition))
            for row in compared.partitions
            if row.old.hw is not None
        }


def _copies_of(
    row: PartitionComparison, end: AnyPosition, migration: Migration, lag_message: str | None
) -> CopiesFound:
    outcome = mirrored(row, migration.link)
    there = "an unknown offset" if row.new.hw is None else f"{row.new.hw:,}"
    longer = row.new.hw is not None and row.new.hw > end
    if migration.link is Link.PRESERVING and outcome is Outcome.PASSED and longer:
        outcome = Outcome.FAILED
        message = (
            f"{row.new_topic_partition} ends at {there}, though the link is stated to keep offsets, which makes both "
            "logs end alike: something else has written to the new topic."
        )
    elif row.old.hw == row.old.log_start:
        message = "It holds no record that could be copied."
    elif outcome is Outcome.PASSED:
        message = f"Its last record is on the new cluster, where {row.new_topic_partition} ends at {there}."
    elif lag_message is not None:
        message = lag_message
    else:
        message = f"Whether its last record is on the new cluster is not known: {row.evidence.reason}"
    return CopiesFound(end=offset_of(end), outcome=outcome, message=message)


def _with_ends_committed(old: Snapshot, migration: Migration) -> Snapshot:
    """Return a snapshot in which a group has committed the end of every known log."""
    ends = {at: state.log.end(migration.isolation_level) for at, state in old.partitions().items()}
    commits = tuple(
        GroupOffset(topic=at.topic, partition=at.partition, offset=offset_of(end))
        for at, end in sorted(ends.items())
        if end is not None
    )
    return replace(old, groups=(GroupState(name=_ENDS.name, state="Empty", offsets=commits),))


def _topics_of(migration: Migration, plan: Plan | None) -> tuple[str, ...]:
    """Return the topics of a plan, or of every job in the migration file.

    Raises:
        ConfigError: There is none.
        OffsetwiseError: A job cannot be read.
    """
    if plan is not None:
        topics = {position.topic for position in plan.positions if position.old_offset is not None}
    else:
        topics = set[str]()
        for config in migration.checkpoints:
            read = read_newest(config.uri, roots=migration.checkpoint_roots)
            subject = Subject(kind=SubjectKind.CHECKPOINT, name=config.name)
            topics |= {*ReadSubject.of(subject, migration, read=read, traits=config.job).topics()}
        if migration.group_names:
            committed = read_cluster(migration, Cluster.OLD, topics=(), groups=migration.group_names, mirror=False)
            topics |= {offset.topic for group in committed.groups for offset in group.offsets}
    if not topics:
        raise ConfigError(
            f"Migration {migration.name!r}: expected topics to watch, found none that its jobs read. Nothing was read.",
            fix="Name one with --topic, or its jobs under `checkpoints` or `groups` in the migration file.",
        )
    return tuple(sorted(topics))
