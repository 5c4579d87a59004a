"""From what was read to rows and sums."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import offsetwise as ow
from offsetwise.comparison import (
    Scene,
    assemble,
    candidates_of,
    positions_of,
    summarise,
    target_of,
    under_own_names,
)
from offsetwise.comparison.subjects import ReadSubject
from offsetwise.config import ClusterConfig, Migration, TopicSettings
from offsetwise.model import (
    Batch,
    BelongsTo,
    Candidate,
    Checkpoint,
    CheckpointSource,
    Cluster,
    Exactness,
    GroupOffset,
    GroupState,
    IsolationLevel,
    LogRange,
    Method,
    MirrorState,
    MirrorTopic,
    OffsetSync,
    PartitionState,
    RawReuse,
    RawVerdict,
    Snapshot,
    SourcePosition,
    SubjectKind,
    TopicState,
)
from offsetwise.plugins.spark.engine.details import SparkDetails
from offsetwise.translation.mirror import mm2_answer
from offsetwise.translation.query import Query
from offsetwise.translation.resolve import Match
from offsetwise.translation.search import Span
from offsetwise.translation.windows import Cut, Reason
from offsetwise.translation.worker import Answer
from tests.checkpoints import changed
from tests.findings.cases import OLD, ROW
from tests.with_cases import with_cases

MIGRATION = Migration(
    name="orders-to-new",
    source=ClusterConfig(name="old", properties={"bootstrap.servers": "127.0.0.1:1"}),
    target=ClusterConfig(name="new", properties={"bootstrap.servers": "127.0.0.1:2"}),
)


def log(partition: int, start: int, end: int, *, lso: int | None = None) -> PartitionState:
    return PartitionState(partition=partition, log_start=start, hw=end, lso=end if lso is None else lso)


OLD_ORDERS = TopicState(name="orders", partitions=(log(0, 100, 1200, lso=1180), log(1, 100, 1180)))
NEW_ORDERS = TopicState(name="orders", partitions=(log(0, 0, 1100), log(1, 0, 1080)))
SYNCS = MirrorState(
    topics=(MirrorTopic(name="mm2-offset-syncs.new.internal", kind="offset-syncs", alias="new", records=2),),
    syncs=(
        (
            "mm2-offset-syncs.new.internal",
            (
                OffsetSync(topic="orders", partition=0, upstream=1009, downstream=909),
                OffsetSync(topic="orders", partition=0, upstream=1110, downstream=1010),
            ),
        ),
    ),
)
CHECKPOINT = Checkpoint(
    uri="checkpoints/orders",
    engine="spark",
    job_id="0d1c",
    restart="Batch 7 runs again.",
    sources=(
        CheckpointSource(
            index=0,
            id="0",
            kind="kafka",
            positions=(
                SourcePosition(topic="orders", partition=0, offset=1050, planned_offset=1100),
                SourcePosition(topic="orders", partition=1, offset=1030, planned_offset=1080),
            ),
        ),
        CheckpointSource(index=1, id="1", kind="other", raw="7"),
    ),
    details=SparkDetails(
        last_planned_batch=7,
        last_committed_batch=6,
        reruns_batch=7,
        batches=(
            Batch(id=6, committed=True, sources=(), timestamp_ms=1_767_225_600_000),
            Batch(id=7, committed=False, sources=(), timestamp_ms=1_767_225_660_000),
        ),
    ),
)
GROUP = GroupState(name="etl", offsets=(GroupOffset(topic="orders", partition=0, offset=1000),))


def snapshot(cluster: Cluster, *topics: TopicState, mirror: MirrorState | None = None) -> Snapshot:
    return Snapshot(
        cluster=cluster,
        name=str(cluster),
        alias=str(cluster),
        cluster_id=f"id of {cluster}",
        taken_at="2026-01-01T00:00:00+00:00",
        topics=topics,
        groups=(GROUP,) if cluster is Cluster.OLD else (),
        mirror=mirror or MirrorState(),
    )


def scene(
    *,
    migration: Migration = MIGRATION,
    subject: ReadSubject | None = None,
    old: tuple[TopicState, ...] = (OLD_ORDERS,),
    new: tuple[TopicState, ...] = (NEW_ORDERS,),
    live: bool = False,
) -> Scene:
    return Scene.of(
        migration,
        subject or ReadSubject(kind=SubjectKind.CHECKPOINT, name="orders", read=CHECKPOINT),
        snapshot(Cluster.OLD, *old, mirror=SYNCS),
        snapshot(Cluster.NEW, *new),
        live=live,
    )


def first(given: Scene) -> Query:
    return positions_of(given)[0]


def test_a_checkpoints_positions_carry_both_ends_of_a_pending_batch() -> None:
    position = first(scene())

    assert (position.offset, position.of.batch, position.planned, position.of.planned_batch) == (1050, 6, 1100, 7)
    assert (position.old, position.new) == (
        LogRange(log_start=100, lso=1180, hw=1200),
        LogRange(log_start=0, lso=1100, hw=1100),
    )


def test_sources_that_are_not_kafkas_have_no_position() -> None:
    assert {position.of.source for position in positions_of(scene())} == {"0"}


def test_a_partition_that_the_checkpoint_lacks_follows_its_topics_own() -> None:
    wider = replace(NEW_ORDERS, partitions=(*NEW_ORDERS.partitions, log(2, 0, 5)))

    assert [(p.partition, p.offset) for p in positions_of(scene(new=(wider,)))] == [(0, 1050), (1, 1030), (2, None)]


def test_a_renamed_topic_is_looked_up_under_its_new_name() -> None:
    renamed = MIGRATION.model_copy(update={"topics": TopicSettings(map={"orders": "old.orders"})})
    given = scene(migration=renamed, new=(replace(NEW_ORDERS, name="old.orders"),))

    assert (first(given).new_topic, first(given).new) == ("old.orders", LogRange(log_start=0, lso=1100, hw=1100))


def test_a_partition_that_does_not_exist_is_told_from_one_that_was_not_read() -> None:
    assert first(scene(new=())).new is None
    assert first(scene(new=(TopicState(name="orders", error="not authorised"),))).new == LogRange(
        log_start=None, lso=None, hw=None
    )


def test_a_groups_topics_are_those_it_committed() -> None:
    subject = ReadSubject(kind=SubjectKind.GROUP, name="etl")

    assert subject.topics() == ()
    assert subject.topics(snapshot(Cluster.OLD)) == ("orders",)
    assert [(p.of.source, p.partition, p.offset) for p in positions_of(scene(subject=subject))] == [
        ("etl", 0, 1000),
        ("etl", 1, None),
    ]


def test_a_position_is_looked_for_between_what_the_job_may_read() -> None:
    committed = MIGRATION.model_copy(update={"isolation_level": IsolationLevel.READ_COMMITTED})
    for migration, end in ((MIGRATION, 1200), (committed, 1180)):
        given = scene(migration=migration)
        target = target_of(given, first(given), 1050, ())
        assert target is not None
        assert target.old == Span(start=100, end=end)


def test_brackets_without_an_end_are_no_place_to_look() -> None:
    given = scene()
    open_ended = Candidate(method=Method.MIRROR_SYNC, lo=910, hi=None, said_by="")
    closed = replace(open_ended, hi=1010)

    target = target_of(given, first(given), 1050, (open_ended, closed))

    assert target is not None
    assert target.brackets == (Span(start=910, end=1010),)


def test_a_position_past_the_old_log_or_without_a_log_is_not_looked_for() -> None:
    given = scene()

    assert target_of(given, first(given), 1201, ()) is None
    assert target_of(scene(new=()), first(scene(new=())), 1050, ()) is None


def test_the_mirrors_bracket_and_its_own_answer_stand_side_by_side() -> None:
    given = scene()

    bracket = next(each for each in candidates_of(given, first(given), 1050) if not each.guess)
    assert (bracket.lo, bracket.hi) == (910, 1010)
    assert mm2_answer(1050, "orders", 0, given.syncs) == 910
    assert mm2_answer(1030, "orders", 1, given.syncs) is None


def test_a_partition_the_new_cluster_lacks_has_no_candidate() -> None:
    assert candidates_of(scene(new=()), first(scene(new=())), 1050) == ()


def test_the_cluster_is_inferred_under_the_topics_own_name() -> None:
    renamed = MIGRATION.model_copy(update={"topics": TopicSettings(map={"orders": "old.orders"})})
    given = scene(migration=renamed, new=(replace(NEW_ORDERS, name="old.orders"),))

    assert [position.new for position in under_own_names(given, positions_of(given))] == [None, None]


def test_the_last_committed_batch_says_when_the_positions_were_planned() -> None:
    assert CHECKPOINT.restart_planned_ms == 1_767_225_600_000
    assert changed(CHECKPOINT, batches=()).restart_planned_ms is None


def test_rows_carry_the_codes_of_their_findings() -> None:
    given = scene()
    made = assemble(given, [Match(query=p) for p in positions_of(given)], OLD)

    assert [row.findings for row in made.partitions] == [("OPEN_TRANSACTION", "UNTRANSLATED"), ("UNTRANSLATED",)]
    assert {finding.code for finding in made.findings} >= {"UNTRANSLATED", "PENDING_BATCH"}
    assert (made.old.cluster_id, made.taken_at) == ("id of old", "2026-01-01T00:00:00+00:00")


@with_cases(("live", "codes"), [(True, {"TOPIC_RECREATED"}), (False, set())])
def test_a_sync_past_the_new_logs_end_tells_of_a_topic_made_again_only_where_it_was_read_first(
    live: bool, codes: set[str]
) -> None:
    given = scene(new=(TopicState(name="orders", partitions=(log(0, 0, 1010), log(1, 0, 1080))),), live=live)
    made = assemble(given, [Match(query=p) for p in positions_of(given)], OLD)

    assert [{"TOPIC_RECREATED"} & set(row.findings) for row in made.partitions] == [codes, set()]


@with_cases(("reason", "codes"), [(Reason.AHEAD_NOT_READ, {"EARLIER_COPIES_POSSIBLE"}), (Reason.COPIES_BELOW, set())])
def test_copies_anywhere_are_warned_of_where_no_timestamp_says_where_they_lie(reason: Reason, codes: set[str]) -> None:
    given = scene()
    cut = Cut(exactness=Exactness.BOUNDED, reason=reason, offset=0, lo=0)
    answer = Answer(cut=cut)
    made = assemble(given, [Match(query=p, answer=answer) for p in positions_of(given)], OLD)

    assert [{"EARLIER_COPIES_POSSIBLE"} & set(row.findings) for row in made.partitions] == [codes, codes]


def test_without_knowing_the_cluster_everything_is_flagged() -> None:
    given = scene()
    unclear = BelongsTo(cluster=None, reason="Every position lies inside both.")

    made = assemble(given, [Match(query=p) for p in positions_of(given)], unclear)

    assert "CLUSTER_UNCLEAR" in {finding.code for finding in made.findings}


class TestTheSums:
    def test_count_each_class(self) -> None:
        rows = [replace(ROW, partition=n, exactness=exactness) for n, exactness in enumerate(Exactness)]

        sums = summarise(rows, [])

        assert (sums.partitions, sums.exact, sums.position_exact, sums.preserved) == (6, 1, 1, 1)
        assert (sums.bounded, sums.claimed, sums.unknown) == (1, 1, 1)

    def test_add_nothing_for_what_is_unknown(self) -> None:
        loss = replace(ROW, raw=RawReuse(verdict=RawVerdict.LOSS, skip=100, replay=0))
        uncounted = replace(ROW, raw=RawReuse(verdict=RawVerdict.LOSS))

        sums = summarise([loss, uncounted], [])

        assert (sums.raw_wrong, sums.raw_skip, sums.raw_replay) == (2, 100, 0)

    def test_call_every_verdict_wrong_but_same_and_unknown(self) -> None:
        rows = [replace(ROW, raw=RawReuse(verdict=verdict)) for verdict in RawVerdict]

        assert (summarise(rows, []).raw_wrong, summarise(rows, []).raw_out_of_range) == (4, 1)

    def test_block_a_partition_once_and_not_for_what_only_an_unedited_job_meets(self) -> None:
        given = scene()
        made = assemble(given, [Match(query=p) for p in positions_of(given)], OLD)
        edited = [each for each in made.findings if each.code == "UNTRANSLATED"]
        unedited = replace(edited[0], code="LOSS_INSIDE_LOG")

        assert summarise(made.partitions, [*edited, *edited]).blocked == 2
        assert summarise(made.partitions, [unedited]).blocked == 0


@with_cases(
    ("old", "new", "told"),
    [
        (3, 3, "both leaders are at epoch 3."),
        (3, 5, "the old leader is at epoch 3, the new one at 5."),
        (5, 3, "so the copy does not carry the epochs of the old log."),
        (None, 3, "with its log has."),
    ],
    ids=["the same epoch", "a later one", "an earlier one", "not known"],
)
def test_a_topic_that_was_copied_with_its_id_is_told_with_its_leader_epochs(
    old: int | None, new: int | None, told: str, tmp_path: Path
) -> None:
    shutil.copytree(Path(ow.__file__).parent / "sample", tmp_path / "sample")
    for side, epoch, topic_id in (("old", old, "one"), ("new", new, "one"), ("other", 0, "another")):
        path = tmp_path / "sample" / ("new.json" if side == "other" else f"{side}.json")
        body = json.loads(path.read_text(encoding="utf-8"))
        for topic in body["topics"]:
            topic["id"] = topic_id if topic["name"] == "orders" else f"{side}-{topic['name']}"
            for partition in topic["partitions"]:
                partition["leader_epoch"] = epoch
        (tmp_path / "sample" / f"{side}.json").write_text(json.dumps(body), encoding="utf-8")

    file = tmp_path / "sample" / "migration.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("link: mirrormaker", "link: preserving"), encoding="utf-8")

    def statements(new: str) -> list[list[str]]:
        snapshots = ow.load_snapshots(*(tmp_path / "sample" / f"{side}.json" for side in ("old", new)))
        job = ow.Migration.load(file).group("orders-etl")
        return [list(row.evidence.statements) for row in job.compare(snapshots=snapshots).partitions]

    assert [sentences[0].endswith(told) for sentences in statements("new")] == [True, True]
    assert not any(" same id " in sentence for sentences in statements("other") for sentence in sentences)
