"""The codes of all findings: what each means, how serious it is, and what to do about it.

A code never changes its meaning; new ones may come. `docs/findings/<CODE>.md` explains each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from offsetwise.model import Severity


class Code(StrEnum):
    """The stable name of a kind of finding, the most serious first."""

    LOSS_BEYOND_END = "LOSS_BEYOND_END"
    LOSS_INSIDE_LOG = "LOSS_INSIDE_LOG"
    CONFUSION = "CONFUSION"
    BELOW_LOG_START = "BELOW_LOG_START"
    PARTITION_MISSING = "PARTITION_MISSING"
    TOPIC_MISSING = "TOPIC_MISSING"
    TOPIC_RECREATED = "TOPIC_RECREATED"
    OPEN_TRANSACTION = "OPEN_TRANSACTION"
    NOT_YET_MIRRORED = "NOT_YET_MIRRORED"
    CHECKPOINT_POLLUTED = "CHECKPOINT_POLLUTED"
    CHECKPOINT_DAMAGED = "CHECKPOINT_DAMAGED"
    CLUSTER_UNCLEAR = "CLUSTER_UNCLEAR"
    PARTITIONS_FEWER = "PARTITIONS_FEWER"
    PENDING_BATCH_DIFFERS = "PENDING_BATCH_DIFFERS"
    NATIVE_BELOW = "NATIVE_BELOW"
    ABORTED_VISIBLE = "ABORTED_VISIBLE"
    MIRROR_SKEW_EXCEEDS_WATERMARK = "MIRROR_SKEW_EXCEEDS_WATERMARK"
    REPLAY_NOT_TOLERATED = "REPLAY_NOT_TOLERATED"
    UNTRANSLATED = "UNTRANSLATED"
    NO_POSITION = "NO_POSITION"
    REPLAY = "REPLAY"
    NEW_PARTITION = "NEW_PARTITION"
    TARGET_AHEAD = "TARGET_AHEAD"
    MIRROR_STALLED = "MIRROR_STALLED"
    MISSING_AHEAD = "MISSING_AHEAD"
    FOREIGN_AHEAD = "FOREIGN_AHEAD"
    SCHEMA_IDS_MASKED = "SCHEMA_IDS_MASKED"
    GROUP_OFFSETS_EXPIRE = "GROUP_OFFSETS_EXPIRE"
    METADATA_NOT_CARRIED = "METADATA_NOT_CARRIED"
    PENDING_BATCH = "PENDING_BATCH"
    RETENTION_BEFORE_CUTOVER = "RETENTION_BEFORE_CUTOVER"
    DUPLICATES_AHEAD = "DUPLICATES_AHEAD"
    EARLIER_COPIES_POSSIBLE = "EARLIER_COPIES_POSSIBLE"
    READER_SUSPECTED = "READER_SUSPECTED"
    LEADER_EPOCH_CARRIED = "LEADER_EPOCH_CARRIED"
    GROUP_DRIFT = "GROUP_DRIFT"
    SINK_BATCH_IDS = "SINK_BATCH_IDS"
    ISOLATION_DIFFERS = "ISOLATION_DIFFERS"
    TOPIC_UNREADABLE = "TOPIC_UNREADABLE"
    PARTITION_UNREADABLE = "PARTITION_UNREADABLE"
    CONFIG_UNREADABLE = "CONFIG_UNREADABLE"
    GROUP_UNREADABLE = "GROUP_UNREADABLE"
    MIRROR_UNREADABLE = "MIRROR_UNREADABLE"
    CHECKPOINT_UNALIGNED = "CHECKPOINT_UNALIGNED"
    TRANSACTION_PENDING = "TRANSACTION_PENDING"
    TRANSACTION_EXPIRED = "TRANSACTION_EXPIRED"
    GROUP_AHEAD = "GROUP_AHEAD"
    CHECKPOINT_NOT_RETAINED = "CHECKPOINT_NOT_RETAINED"
    SOURCE_NOT_COMPARED = "SOURCE_NOT_COMPARED"
    TIMESTAMPS_UNUSABLE = "TIMESTAMPS_UNUSABLE"
    COMPACTED = "COMPACTED"
    GAP = "GAP"
    RECORDS_FILTERED = "RECORDS_FILTERED"
    PARTITIONS_MORE = "PARTITIONS_MORE"
    CHECKPOINT_OLD = "CHECKPOINT_OLD"
    GROUP_BEHIND = "GROUP_BEHIND"
    CHECKPOINT_INTERVAL = "CHECKPOINT_INTERVAL"


class Stage(StrEnum):
    """Where a finding is decided."""

    READER = "reader"
    """By the reader of a checkpoint or a cluster, which puts the code into `problems`."""
    COMPARISON = "comparison"
    SAMPLES = "samples"
    """From two samples of the lag (`offsetwise watch`)."""
    PLAN = "plan"
    """When a plan is drafted, by the start gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingKind:
    """What one code stands for."""

    code: str
    severity: Severity
    title: str
    remedy: str
    stage: Stage = Stage.COMPARISON
    unedited: bool = False
    """Speaks about reusing the old number as it is; writing the translated offset settles it."""

    @property
    def page(self) -> str:
        """Give the path of the docs page, from the root of the repository."""
        return f"docs/findings/{self.code if self.code in KINDS else 'README'}.md"


def describe(code: str) -> FindingKind:
    """Give what a code stands for. One that only a later release knows blocks: it may be serious.

    >>> describe("LOSS_INSIDE_LOG").severity.value
    'blocks'
    """
    return KINDS.get(code) or FindingKind(
        code=code,
        severity=Severity.BLOCKS,
        title="A finding that this release does not know",
        remedy="Use the release of Offsetwise that wrote the file.",
        stage=Stage.READER,
    )


def _kind(
    code: Code,
    severity: Severity,
    title: str,
    remedy: str,
    *,
    stage: Stage = Stage.COMPARISON,
    unedited: bool = False,
) -> FindingKind:
    return FindingKind(code=code.value, severity=severity, title=title, remedy=remedy, stage=stage, unedited=unedited)


_BLOCKS, _WARNS, _INFORMS = Severity.BLOCKS, Severity.WARNS, Severity.INFORMS

_ALL: Final = (
    _kind(
        Code.LOSS_BEYOND_END,
        _BLOCKS,
        "The old number lies past the new log's end",
        "Write the translated offset; do not start the job from this checkpoint unedited.",
        unedited=True,
    ),
    _kind(
        Code.LOSS_INSIDE_LOG,
        _BLOCKS,
        "The old number would skip unread records",
        "Write the translated offset; do not start the job from this checkpoint unedited.",
        unedited=True,
    ),
    _kind(
        Code.CONFUSION,
        _BLOCKS,
        "The old number points at another record",
        "Do not reuse the number. Find out what filled the new topic, then decide where this partition starts.",
        unedited=True,
    ),
    _kind(
        Code.BELOW_LOG_START,
        _BLOCKS,
        "A position lies below a log start",
        "Raise the topic's retention now, then decide in writing whether the job may go on without the records gone.",
    ),
    _kind(
        Code.PARTITION_MISSING,
        _BLOCKS,
        "The topic lacks this partition",
        "Give the new topic the same number of partitions as the old one and mirror it again.",
    ),
    _kind(
        Code.TOPIC_MISSING,
        _BLOCKS,
        "The topic does not exist",
        "Check the topic policy and `topics.map` in the migration file, then that the topic is mirrored.",
    ),
    _kind(
        Code.TOPIC_RECREATED,
        _BLOCKS,
        "The new topic is not the one the mirror filled",
        "Stop the mirror, reset its stored source offsets, fill the new topic from the start, and compare again.",
    ),
    _kind(
        Code.OPEN_TRANSACTION,
        _BLOCKS,
        "A transaction is open",
        "Let the producers end their transactions; find a hanging one with `kafka-transactions.sh find-hanging`.",
    ),
    _kind(
        Code.NOT_YET_MIRRORED,
        _BLOCKS,
        "The place is not on the new cluster yet",
        "Let the mirror catch up, then compare again.",
    ),
    _kind(
        Code.CHECKPOINT_POLLUTED,
        _BLOCKS,
        "The last planned batch carries the other cluster's numbers",
        "Drop the last planned batch in the copy; go on from the last committed one.",
    ),
    _kind(
        Code.CHECKPOINT_DAMAGED,
        _BLOCKS,
        "The checkpoint cannot be relied on",
        "Restore the folder from a backup, or compare an older copy of it.",
        stage=Stage.READER,
    ),
    _kind(
        Code.CLUSTER_UNCLEAR,
        _BLOCKS,
        "It is unclear which cluster the checkpoint belongs to",
        "Say `belongs_to: old` or `belongs_to: new` for the checkpoint in the migration file, and compare again.",
    ),
    _kind(
        Code.PARTITIONS_FEWER,
        _BLOCKS,
        "The new topic has fewer partitions",
        "Give the new topic the same number of partitions as the old one and mirror it again.",
    ),
    _kind(
        Code.PENDING_BATCH_DIFFERS,
        _BLOCKS,
        "The pending batch would hold other records",
        "Let the pending batch commit on the old cluster before the switch.",
    ),
    _kind(
        Code.NATIVE_BELOW,
        _BLOCKS,
        "Records of other writers lie below the place",
        "Find out who wrote them; state in writing that the job need not read them, or start below them.",
    ),
    _kind(
        Code.ABORTED_VISIBLE,
        _BLOCKS,
        "Aborted records are visible on the new cluster",
        "Mirror the topic again with a read_committed consumer (`consumer.isolation.level`); no offset repairs this.",
    ),
    _kind(
        Code.MIRROR_SKEW_EXCEEDS_WATERMARK,
        _BLOCKS,
        "One partition is mirrored behind the others by more than the watermark",
        "Stop the producers and let the mirror bring every partition to its end before the job starts.",
        stage=Stage.PLAN,
    ),
    _kind(
        Code.REPLAY_NOT_TOLERATED,
        _BLOCKS,
        "The job would read records twice and does not tolerate it",
        "Narrow the place (larger `content` budgets, stop the writers), or state `tolerates_replay: true` for the job.",
    ),
    _kind(
        Code.UNTRANSLATED,
        _BLOCKS,
        "No proven place on the new cluster",
        "Follow the reason in the evidence; a place nobody can prove needs a person's decision in writing.",
    ),
    _kind(
        Code.NO_POSITION,
        _BLOCKS,
        "The checkpoint names a partition without a position to translate",
        "Let the job read from the partition once on the old cluster, then take a new savepoint.",
        stage=Stage.READER,
    ),
    _kind(
        Code.REPLAY,
        _WARNS,
        "Records would be read twice",
        "Make sure that the sink drops repeated records, or narrow the place.",
    ),
    _kind(
        Code.NEW_PARTITION,
        _WARNS,
        "The job has no position for this partition",
        "Confirm that the job shall read the partition from its start.",
    ),
    _kind(
        Code.TARGET_AHEAD,
        _WARNS,
        "The group's offset on the new cluster lies past the translated one",
        "Write the translated offset and exclude the group from the mirror's group sync, which never lowers an offset.",
    ),
    _kind(
        Code.MIRROR_STALLED,
        _WARNS,
        "The mirror's heartbeat is old",
        "Look at the mirror's connectors; compare again when it runs.",
    ),
    _kind(
        Code.MISSING_AHEAD,
        _WARNS,
        "Unread records are missing on the new cluster",
        "Let the mirror catch up; if the number stays, find them with `offsetwise reconcile`.",
    ),
    _kind(
        Code.FOREIGN_AHEAD,
        _WARNS,
        "Records of unknown origin lie ahead",
        "Find out who writes to the new topic; the job will read these records.",
    ),
    _kind(
        Code.SCHEMA_IDS_MASKED,
        _WARNS,
        "Schema registry ids differ between the clusters",
        "Check that the new registry holds the new ids before the job reads there.",
    ),
    _kind(
        Code.GROUP_OFFSETS_EXPIRE,
        _WARNS,
        "Offsets written for an empty group expire",
        "Start the consumers soon after writing, or raise `offsets.retention.minutes` on the new cluster.",
    ),
    _kind(
        Code.METADATA_NOT_CARRIED,
        _WARNS,
        "The commit carries metadata that is not carried over",
        "Check what the client keeps there (Parallel Consumer, Streams); without it the client may repeat records.",
    ),
    _kind(
        Code.PENDING_BATCH,
        _WARNS,
        "A batch was planned and not committed",
        "Best let it commit on the old cluster first; else both of its ends have to be translated.",
    ),
    _kind(
        Code.RETENTION_BEFORE_CUTOVER,
        _WARNS,
        "Retention may take the next record soon",
        "Raise `retention.ms` of the new topic until the job reads there.",
    ),
    _kind(
        Code.DUPLICATES_AHEAD,
        _WARNS,
        "Second copies lie ahead",
        "Make sure that the sink drops repeated records; see them with `offsetwise reconcile`.",
    ),
    _kind(
        Code.EARLIER_COPIES_POSSIBLE,
        _WARNS,
        "Copies of unread records may lie below the place",
        "Raise `content.budget_records` and `content.budget_bytes` until all that lies ahead is read, or make sure "
        "that the topic was never mirrored twice.",
    ),
    _kind(
        Code.READER_SUSPECTED,
        _WARNS,
        "The job may still be running",
        "Stop the job, then compare again: a running one moves its positions.",
    ),
    _kind(
        Code.LEADER_EPOCH_CARRIED,
        _WARNS,
        "The group's commit carries the old cluster's leader epoch",
        "Write the offset again without a leader epoch.",
    ),
    _kind(
        Code.GROUP_DRIFT,
        _WARNS,
        "The group moved after it was read",
        "Stop the group's members, take a new snapshot, and draft the plan again.",
        stage=Stage.SAMPLES,
    ),
    _kind(
        Code.SINK_BATCH_IDS,
        _WARNS,
        "The sink remembers batch ids",
        "Keep this checkpoint's batch ids (edit a copy); a fresh checkpoint would have its first batches ignored.",
    ),
    _kind(
        Code.ISOLATION_DIFFERS,
        _WARNS,
        "The position contradicts the stated isolation level",
        "Check the job's `kafka.isolation.level` and say the same in the migration file.",
    ),
    _kind(
        Code.TOPIC_UNREADABLE,
        _WARNS,
        "A topic was not described",
        "Grant DESCRIBE on the topic, or take the snapshot again.",
        stage=Stage.READER,
    ),
    _kind(
        Code.PARTITION_UNREADABLE,
        _WARNS,
        "Partitions were not read",
        "Check the brokers that lead them, then take the snapshot again.",
        stage=Stage.READER,
    ),
    _kind(
        Code.CONFIG_UNREADABLE,
        _WARNS,
        "Topic configurations were not read",
        "Grant DESCRIBE_CONFIGS on the topics, or take the snapshot again.",
        stage=Stage.READER,
    ),
    _kind(
        Code.GROUP_UNREADABLE,
        _WARNS,
        "A consumer group was not read",
        "Grant DESCRIBE on the group and its topics, or take the snapshot again.",
        stage=Stage.READER,
    ),
    _kind(
        Code.MIRROR_UNREADABLE,
        _WARNS,
        "One of MirrorMaker's topics was not read whole",
        "Grant READ on the topic, or take the snapshot again.",
        stage=Stage.READER,
    ),
    _kind(
        Code.CHECKPOINT_UNALIGNED,
        _WARNS,
        "The checkpoint holds records in flight",
        "Take a savepoint: it is always aligned.",
        stage=Stage.READER,
    ),
    _kind(
        Code.TRANSACTION_PENDING,
        _WARNS,
        "The checkpoint holds transactions of a sink",
        "Ask the sink's cluster whether they are committed: `kafka-transactions.sh describe --transactional-id NAME`.",
        stage=Stage.READER,
    ),
    _kind(
        Code.TRANSACTION_EXPIRED,
        _WARNS,
        "Transactions of the sink may have run out",
        "Count the sink's records of the last interval; if some are missing, start from an earlier checkpoint. Ask:",
    ),
    _kind(
        Code.GROUP_AHEAD,
        _WARNS,
        "The job's group is ahead of the checkpoint",
        "Take a new savepoint as you stop the job, and compare again.",
    ),
    _kind(
        Code.CHECKPOINT_NOT_RETAINED,
        _WARNS,
        "The checkpoint goes when its job is cancelled",
        "Stop the job with a savepoint.",
        stage=Stage.READER,
    ),
    _kind(
        Code.SOURCE_NOT_COMPARED,
        _WARNS,
        "A source of another kind is not compared",
        "Find out where that source restarts. Edit a copy of the checkpoint, which leaves its position as it is.",
    ),
    _kind(
        Code.TIMESTAMPS_UNUSABLE,
        _INFORMS,
        "Timestamps are set when records are appended",
        "Expect other event times on the new cluster if the job uses the record timestamp.",
    ),
    _kind(
        Code.COMPACTED,
        _INFORMS,
        "The topic is compacted",
        "Nothing, as long as the job may see a key's later value without the earlier ones.",
    ),
    _kind(
        Code.GAP,
        _INFORMS,
        "Batch ids are missing in the checkpoint",
        "Nothing, if the job uses asynchronous progress tracking; else keep the option as it was when it wrote them.",
        stage=Stage.READER,
    ),
    _kind(
        Code.RECORDS_FILTERED,
        _INFORMS,
        "Some records near the position were not copied",
        "Check that the mirror is meant to leave them out.",
    ),
    _kind(
        Code.PARTITIONS_MORE,
        _INFORMS,
        "The new topic has more partitions",
        "Confirm where the job starts in the extra partitions, and that the order per key is kept.",
    ),
    _kind(
        Code.CHECKPOINT_OLD,
        _INFORMS,
        "The checkpoint is old",
        "Check that this is the checkpoint the job really uses.",
    ),
    _kind(
        Code.GROUP_BEHIND,
        _INFORMS,
        "The job's group is behind the checkpoint",
        "Take positions from the checkpoint; before a start from the group's offsets, write the translated ones to it.",
    ),
    _kind(
        Code.CHECKPOINT_INTERVAL,
        _INFORMS,
        "How far apart checkpoints are bounds what is read again",
        "Keep `execution.checkpointing.interval` at 10 s or more, and set `execution.checkpointing.min-pause`.",
        stage=Stage.READER,
    ),
)

KINDS: Final[Mapping[str, FindingKind]] = MappingProxyType({kind.code: kind for kind in _ALL})
