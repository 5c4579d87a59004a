"""A Flink job's ways to move: judged by what its savepoint tells, and never in the words of Spark."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from offsetwise.config import JobTraits
from offsetwise.errors import PlanError
from offsetwise.model import (
    CheckpointSource,
    Cluster,
    Comparison,
    LogRange,
    Outcome,
    RawReuse,
    RawVerdict,
    RestartPoint,
    Target,
    Transaction,
)
from offsetwise.plan.gate import start_gate
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.sinks.gate import PENDING, grounds_of_sinks
from offsetwise.plan.strategies import Strategy, judge_strategies
from offsetwise.plugins.flink.engine.details import FlinkDetails, Operator, OperatorState, Saved, flink_details
from offsetwise.plugins.flink.engine.source import LEGACY_STATE
from tests.checkpoints import changed
from tests.plan.scene import (
    AT,
    COPY,
    ETL,
    IN_PLACE,
    SEEDED,
    STARTING,
    checkpoint,
    comparison,
    drafted,
    migration,
    rows,
    snapshot,
)
from tests.with_cases import with_cases

SAVEPOINT = Target(kind="flink-savepoint")
WITHOUT = Target(kind="flink-savepoint-without-sources")
UID = "kafka-src"
WAYS = (
    *("savepoint-edit", "new-operator-uid", "topic-rename", "producers-first"),
    *("source-state-dropped", "fresh-starting-offsets"),
)
"""The four ways of the field, and two that need no uid, in the order in which they are shown."""
AT_MS = int(datetime.fromisoformat(AT).timestamp() * 1000)


def savepoint(
    *changes: dict[str, Any], uid: str | None = UID, version: int = 6, aligned: bool = True, place: str = "inline"
) -> Comparison:
    """Compare a savepoint whose source stands at the reference case."""
    state = OperatorState(name="SourceReaderState", kind="split", elements=1, size_bytes=45, places=(place,))
    operator = Operator(
        id="2cfff4cfdc12cf3ce3a313acc56edab3",
        name=None,
        uid=uid,
        parallelism=1,
        max_parallelism=128,
        finished=False,
        states=(state,),
        transactional_id_prefix=None,
    )
    saved = Saved(
        kind="savepoint",
        id=4,
        format_version=version,
        format="canonical",
        written_ms=None,
        aligned=aligned,
        compressed=False,
        retained=(),
    )
    held = checkpoint()
    found = replace(
        held,
        engine="flink",
        job_id=None,
        sources=tuple(replace(each, id=UID) for each in held.sources),
        details=FlinkDetails(saved=saved, operators=(operator,)),
        pins=(("_metadata", "ab" * 32),),
    )
    point = RestartPoint(batch=None, old=1050, new=950)
    compared = rows(*({"source": UID, "restart": (point,), **change} for change in changes or ({},)))
    return comparison(*compared, checkpoint=found)


def judged(made: Comparison, **stated: Any) -> dict[str, Strategy]:
    return {each.kind.name: each for each in judge_strategies(made, migration(JobTraits.model_validate(stated)))}


def test_a_savepoint_has_the_four_ways_of_the_field_and_two_that_need_no_uid() -> None:
    made = judged(savepoint())

    assert [name for name in made if name in WAYS] == [*WAYS]
    assert {name for name in WAYS if not made[name].applies} == {"topic-rename", "producers-first"}


@with_cases(
    ("way", "stated", "told"),
    [
        ("new-operator-uid", {"sql": True}, "a SQL job, whose operators get no uids"),
        ("new-operator-uid", {"uids": False}, "stated to have no uids"),
        ("topic-rename", {"subscription_changeable": False}, "stated to keep the names of its topics"),
        ("producers-first", {"needs_retained_data": True}, "stated to need what the old cluster retains"),
    ],
)
def test_an_answer_rules_a_way_out(way: str, stated: dict[str, Any], told: str) -> None:
    made = judged(savepoint({"new_topic": "new.orders"}), **stated)[way]

    assert not made.applies
    assert [why for why in made.why_not if told in why]


def test_an_answer_lets_a_way_apply() -> None:
    unnamed = savepoint(uid=None, version=4)
    drained = savepoint({"lag_old": 7, "new_offset": 0, "new": LogRange(log_start=0, lso=0, hw=0)})

    assert judged(unnamed, uids=True)["new-operator-uid"].applies
    assert not judged(drained)["producers-first"].applies
    assert judged(drained, needs_retained_data=False)["producers-first"].applies


@with_cases(
    ("way", "told"),
    [
        ("savepoint-edit", "with connectors up to 5.0.0 other initializers reset it"),
        ("savepoint-edit", "later ones that have FLINK-39888 do as the job's own `auto.offset.reset` says"),
        ("new-operator-uid", "a vendor's connector has the option `restore.mode`"),
    ],
)
def test_what_depends_on_the_connectors_release_is_said_with_it(way: str, told: str) -> None:
    assert [need for need in judged(savepoint())[way].kind.needs if told in need]


def test_what_nobody_stated_is_asked_and_an_answer_ends_the_asking() -> None:
    answered = {
        "sql": False,
        "uids": True,
        "commits_to": "etl",
        "subscription_changeable": True,
        "needs_retained_data": False,
    }
    asked = {name: each.questions for name, each in judged(savepoint(uid=None, version=4)).items()}

    assert {name: len(found) for name, found in asked.items() if found} == {
        "new-operator-uid": 3,
        "topic-rename": 1,
        "producers-first": 1,
        "source-state-dropped": 1,
    }
    assert {key for found in asked.values() for told in found for key in answered if f"`{key}`" in told} == {*answered}
    assert not any(each.questions for each in judged(savepoint(uid=None, version=4), **answered).values())


def test_the_group_that_the_job_commits_to_stands_in_the_commands() -> None:
    made = judged(savepoint(), commits_to="etl")

    assert "--target consumer-group:etl" in made["new-operator-uid"].commands[1]
    dropped = made["source-state-dropped"].commands
    assert "--target flink-savepoint-without-sources --target consumer-group:etl " in dropped[1]
    assert dropped[-1] == "flink run -s DIR JOB"
    assert made["fresh-starting-offsets"].commands[-1] == "flink run JOB"


def test_a_savepoint_that_keeps_no_position_needs_another_place_for_them() -> None:
    dropped = Target(kind="flink-savepoint-without-sources")

    with pytest.raises(PlanError, match="a file for the positions beside a savepoint that keeps none"):
        drafted(savepoint(), dropped)
    assert drafted(savepoint(), dropped, ETL).targets == (dropped, ETL)
    assert drafted(savepoint(), dropped, STARTING).strategy == "drop the source's state, in a copy of the savepoint"
    assert drafted(savepoint(), STARTING).strategy == "ignore the old state, specific offsets"


def test_the_commands_stop_the_job_and_start_it_from_what_was_written() -> None:
    made = judged(savepoint())

    for each in (made[name] for name in WAYS):
        assert each.commands[0].startswith("flink stop --type canonical --savepointPath ")
        assert each.commands[-1].startswith("flink run ")
    assert "--target flink-savepoint" in made["savepoint-edit"].commands[1]
    assert "--target consumer-group:GROUP" in made["new-operator-uid"].commands[1]
    assert "--allowNonRestoredState" in made["new-operator-uid"].commands[-1]
    assert "committedOffsets(NONE)" in " ".join(made["savepoint-edit"].kind.needs)


def test_a_sql_job_is_started_by_a_statement() -> None:
    edited = judged(savepoint(), sql=True)["savepoint-edit"].commands

    assert edited[-1].startswith("SET 'execution.state-recovery.path' = 'DIR';")


@with_cases(("version", "told"), [(6, "has no uid"), (4, "It is not known whether all operators have uids")])
def test_a_new_uid_needs_operators_that_are_known_by_their_own(version: int, told: str) -> None:
    made = judged(savepoint(uid=None, version=version))["new-operator-uid"]

    assert [why for why in made.why_not if told in why]


def test_a_renamed_topic_makes_that_way_apply() -> None:
    assert judged(savepoint({"new_topic": "new.orders"}))["topic-rename"].applies


@with_cases(
    ("schema", "cutover_ms", "outcome", "told"),
    [
        ("v1", None, Outcome.UNKNOWN, "run out by 2026-11-21T10:30:00Z, 30 min after the start"),
        ("v1", AT_MS + 45 * 60_000, Outcome.FAILED, "run out by 2026-11-21T10:30:00Z, 15 min before the start"),
        ("FLIP-319", AT_MS + 45 * 60_000, Outcome.UNKNOWN, "do not run out"),
        (None, None, None, ""),
    ],
)
def test_the_start_gate_holds_the_sinks_transactions_against_the_cutover(
    schema: str | None, cutover_ms: int | None, outcome: Outcome | None, told: str
) -> None:
    made = savepoint()
    assert made.checkpoint is not None
    held = Transaction(
        operator="sink",
        transactional_id="tx-1",
        producer_id=7,
        epoch=1,
        checkpoint_id=4,
        state="received",
        schema=schema,
    )
    read = changed(
        made.checkpoint,
        saved=replace(flink_details(made.checkpoint).saved, written_ms=AT_MS - 30 * 60_000),
        transactions=() if schema is None else (held,),
    )
    job = JobTraits(sink_servers="sink:9092")

    snapshots = (snapshot(Cluster.OLD, made.partitions), snapshot(Cluster.NEW, made.partitions))
    request = DraftRequest(targets=(SAVEPOINT,), author="ada", cutover_ms=cutover_ms)
    sinks = grounds_of_sinks(read.details, request, job, (), (), read_ms=AT_MS)
    compared = replace(made, checkpoint=read, read_from=snapshots)
    gate = start_gate(compared, migration(job), AT_MS, job=job, sinks=sinks)

    checks = [each for each in gate if each.name == PENDING]
    assert [each.outcome for each in checks] == ([] if outcome is None else [outcome])
    for each in checks:
        assert told in each.told
        assert "Each must be CompleteCommit: " in each.told
        assert each.told.endswith("--bootstrap-server sink:9092 describe --transactional-id tx-1")


def test_no_word_of_spark_is_said_of_a_flink_job() -> None:
    made = [
        text
        for each in judged(savepoint({"new_topic": "new.orders"}, {})).values()
        for text in (*each.why_not, *each.commands, *each.kind.keeps, *each.kind.gives_up, *each.kind.needs)
    ]
    plan = drafted(savepoint(), SAVEPOINT)
    made += [plan.strategy, plan.prediction.told, *plan.keeps, *plan.gives_up, *(check.told for check in plan.gate)]

    spark = re.compile(r"spark|\bbatch|\bquery\b|startingOffsets|failOnDataLoss", re.IGNORECASE)
    assert [text for text in made if spark.search(text)] == []


def test_a_plan_for_a_savepoint_has_every_place_and_the_digest_of_what_was_read() -> None:
    plan = drafted(savepoint(), SAVEPOINT, ETL)

    (position,) = plan.positions
    assert (position.source, position.old_offset, position.new_offset) == (UID, 1050, 950)
    assert [(point.batch, point.old, point.new) for point in position.restart] == [(None, 1050, 950)]
    assert plan.requirements.checkpoint is not None
    assert plan.requirements.checkpoint.files == (("_metadata", "ab" * 32),)
    assert plan.strategy == "edit the savepoint, in a copy"
    assert drafted(savepoint(), ETL).strategy == "new operator uid, group offsets"


@with_cases(
    ("made", "target", "told"),
    [
        (savepoint(aligned=False), SAVEPOINT, "CHECKPOINT_UNALIGNED"),
        (savepoint(place="absolute"), SAVEPOINT, "STATE_ELSEWHERE"),
        (savepoint(place="segment"), SAVEPOINT, "STATE_ELSEWHERE"),
        (comparison(), SAVEPOINT, "one of spark, not of Flink"),
        *((savepoint(), target, "one of flink, not of Spark") for target in (COPY, IN_PLACE, SEEDED)),
    ],
)
def test_a_target_that_does_not_fit_the_engine_or_the_savepoint_is_refused(
    made: Comparison, target: Target, told: str
) -> None:
    with pytest.raises(PlanError, match=told):
        drafted(made, target)


def with_legacy_consumer(made: Comparison) -> Comparison:
    """Let the source be the legacy consumer."""
    held = made.checkpoint
    assert held is not None
    details = flink_details(held)
    states = tuple(replace(each, name=LEGACY_STATE) for each in details.operators[0].states)
    legacy = replace(details, operators=(replace(details.operators[0], states=states),))
    return replace(made, checkpoint=replace(held, details=legacy))


def beside_a_source_of_several_clusters(made: Comparison) -> Comparison:
    held = made.checkpoint
    assert held is not None
    other = CheckpointSource(index=1, id="dynamic-src", kind="dynamic-kafka")
    return replace(made, checkpoint=replace(held, sources=(*held.sources, other)))


@with_cases(
    ("made", "targets", "told", "instead"),
    [
        (
            with_legacy_consumer(savepoint({"new_topic": "new.orders"})),
            (SAVEPOINT,),
            "SUBSCRIPTION: .*keeps names in Kryo",
            STARTING,
        ),
        (
            with_legacy_consumer(savepoint()),
            (WITHOUT, ETL),
            "SOURCE_KEEPS_MORE: topic-partition-offset-states is in operator 'kafka-src'",
            SAVEPOINT,
        ),
        (
            beside_a_source_of_several_clusters(savepoint()),
            (SAVEPOINT,),
            "SOURCES: .*DynamicKafkaSource 'dynamic-src'",
            ETL,
        ),
    ],
    ids=["legacy consumer, another name", "legacy consumer, without its state", "DynamicKafkaSource"],
)
def test_what_apply_would_refuse_is_refused_when_it_is_drafted_and_another_target_takes_it(
    made: Comparison, targets: tuple[Target, ...], told: str, instead: Target
) -> None:
    with pytest.raises(PlanError, match=told) as refused:
        drafted(made, *targets)

    assert f"--target {instead.kind}" in refused.value.fix
    assert drafted(made, instead).positions


@with_cases(
    ("change", "effect", "told"),
    [
        ({"new_topic": "new.orders"}, None, "mean nothing to new.orders"),
        ({"raw": RawReuse(verdict=RawVerdict.OUT_OF_RANGE)}, "unknown", "follows auto.offset.reset"),
        ({"raw": RawReuse(verdict=RawVerdict.LOSS, skip=100)}, "silent skip", "The job is restored without an error"),
        ({"raw": RawReuse(verdict=RawVerdict.REPLAY, replay=5)}, "replay", "reads again 5 records"),
        ({"raw": RawReuse(verdict=RawVerdict.SAME)}, "nothing", "same position"),
        ({"raw": RawReuse(verdict=RawVerdict.UNKNOWN)}, "unknown", "was not read"),
    ],
)
def test_an_unedited_restore_is_predicted(change: dict[str, Any], effect: str | None, told: str) -> None:
    made = drafted(savepoint(change), SAVEPOINT).prediction

    assert told in made.told
    assert effect in (None, made.effect)
