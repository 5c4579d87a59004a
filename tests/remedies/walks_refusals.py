"""Remedies of ways that do not fit the job, of plans that end transactions, and of plans that are read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from offsetwise import files
from offsetwise.config import JobTraits
from offsetwise.model import Cluster, LogRange, Plan, Target
from offsetwise.plan import exports, settings
from offsetwise.plan.draft import _group
from offsetwise.plan.reading import read_plan
from offsetwise.plan.sinks.ending import settle
from offsetwise.plan.strategies import judge_strategies
from offsetwise.plugins.kinesis.stream.spec import after
from offsetwise.plugins.spark.targets.rewind import rewound
from offsetwise.plugins.spark.targets.seeded.spec import seeded_offsets
from offsetwise.transactions.decisions import Decision
from offsetwise.transactions.report import SinkTransactions
from tests.plan import test_sinks as sinks
from tests.plan.scene import (
    COPY,
    ETL,
    FIRST,
    SEEDED,
    batch,
    checkpoint,
    comparison,
    drafted,
    migration,
    override,
    rows,
    snapshot,
)
from tests.plan.test_gate import TestSkew
from tests.plugins.flink.test_ways import SAVEPOINT, savepoint
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN, shard_plan
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.remedies.walk import corrected
from tests.remedies.walks_plans import TWO_SOURCES
from tests.transactions.settling import NOW_MS, asked, choice, found, row

Call = Callable[[], object]
REFUSALS = "plan/refusals.py::"


# Ways that an answer, or the clusters, rule out.
def objections(made: Any, way: str, **stated: Any) -> Call:
    """Return what speaks against one way, as the Plan page and `strategies` list it."""

    def command() -> object:
        judged = {each.kind.name: each for each in judge_strategies(made, migration(JobTraits.model_validate(stated)))}
        return judged[way].objections

    return command


SQL = JobTraits.model_validate({"sql": True})
RENAMED = savepoint({"new_topic": "new.orders"})
DRAINED = savepoint({"lag_old": 0, "new_offset": 0, "new": LogRange(log_start=0, lso=0, hw=0)})
LAGGING = savepoint({"lag_old": 7, "new_offset": 0, "new": LogRange(log_start=0, lso=0, hw=0)})
corrected(
    REFUSALS + "subscription",
    "state `subscription_changeable: true`",
    "names_of_topics_stay",
    objections(RENAMED, "topic-rename", subscription_changeable=False),
    objections(RENAMED, "topic-rename", subscription_changeable=True),
)
corrected(
    REFUSALS + "no_rename",
    "If a name does change, say so",
    "no_name_changes",
    objections(savepoint(), "topic-rename"),
    objections(RENAMED, "topic-rename"),
)
corrected(
    REFUSALS + "retained_data",
    "or state `needs_retained_data: false`",
    "old_records_needed",
    objections(DRAINED, "producers-first", needs_retained_data=True),
    objections(DRAINED, "producers-first", needs_retained_data=False),
)
corrected(
    REFUSALS + "not_drained",
    "let the job read to the end there",
    "records_left",
    objections(LAGGING, "producers-first"),
    objections(DRAINED, "producers-first"),
)
corrected(
    "plugins/flink/targets/migration_rules.py::no_uid",
    "or drop the source's state",
    "sql_job",
    objections(savepoint(), "new-operator-uid", sql=True),
    lambda: drafted(savepoint(), Target(kind="flink-savepoint-without-sources"), ETL, job=SQL),
)
corrected(
    "plugins/flink/targets/spec.py::state_elsewhere",
    "Take a savepoint:",
    "state_of_the_job",
    lambda: drafted(savepoint(place="absolute"), SAVEPOINT),
    lambda: drafted(savepoint(), SAVEPOINT),
)
corrected(
    "plugins/spark/targets/copy/spec.py::no_batch",
    "Edit a copy of the checkpoint",
    "no_earlier_batch",
    objections(comparison(checkpoint=checkpoint(batches=(batch(6),))), "rewind"),
    lambda: drafted(comparison(checkpoint=checkpoint(batches=(batch(6),))), COPY),
)
corrected(
    "plugins/spark/targets/copy/spec.py::not_moved",
    "Go back only once the job has run on the new cluster",
    "not_moved",
    objections(comparison(), "failback"),
    objections(comparison(belongs_to=replace(comparison().belongs_to, cluster=Cluster.NEW)), "failback"),
)
SKEWED = comparison(*TestSkew.PAIR)
corrected(
    "plan/gate.py::mirror_skew_exceeds_watermark",
    "let the mirror bring every partition to its end",
    "skew",
    lambda: drafted(SKEWED, job=TestSkew.JOB, newest=TestSkew.newest(25 * 60_000)),
    lambda: drafted(comparison(*rows({}, {})), job=TestSkew.JOB, newest=TestSkew.newest(25 * 60_000)),
)

# Decisions and options.
corrected(
    "plan/decide.py::_check_stream",
    "Write the position as `inspect` and `compare` show",
    "position_of_another_stream",
    lambda: drafted(overrides=((FIRST, replace(override(0), offset=after(5))),)),
    lambda: drafted(overrides=((FIRST, override(950)),)),
)
corrected(
    "plan/settings.py::parse",
    "for example --set kcl=2",
    "key_without_value",
    lambda: settings.parse(["kcl"]) and None,
    lambda: settings.parse(["kcl=2"]) and None,
)
corrected(
    "plugins/spark/targets/rewind.py::rewound",
    "Name an earlier committed batch",
    "last_batch",
    lambda: rewound(checkpoint(), 6),
    lambda: rewound(checkpoint(), 5),
)


def with_source(*batches: int) -> Any:
    """Return a checkpoint of two sources, of which the second one is in some batches only."""
    held = checkpoint()
    first = held.sources[0]
    second = replace(first, index=1, id="1")
    kept = tuple(
        replace(batch(number), sources=(*batch(number).sources, replace(batch(number).sources[0], id="1")))
        if number in batches
        else batch(number)
        for number in (4, 5, 6)
    )
    return checkpoint(sources=(first, second), batches=kept)


corrected(
    "plugins/spark/targets/rewind.py::_source",
    "Name a batch in which every source had a position",
    "source_that_came_later",
    lambda: rewound(with_source(5, 6), 4),
    lambda: rewound(with_source(5, 6), 5),
)
corrected(
    "plan/draft.py::_group",
    "among `groups` of the migration file",
    "group_not_read",
    lambda: _group(snapshot(Cluster.NEW, groups=()), "etl", set()) and None,
    lambda: _group(snapshot(Cluster.NEW), "etl", set()) and None,
)
FLINK_KINESIS = shard_plan(DATA / "flink" / "streams-source-5.1.0-two-shards")
corrected(
    "plan/exports.py::starting_form",
    "Export the plan in another form",
    "savepoint_of_kinesis",
    lambda: exports.starting_offsets(shard_plan(DATA / CHAIN, stream="chain")) and None,
    lambda: exports.planned_offsets(drafted(savepoint(), ETL), "etl") and None,
)
SEVERAL = replace(drafted(TWO_SOURCES), targets=(SEEDED,))
corrected(
    "plugins/spark/targets/seeded/spec.py::seeded_offsets",
    "Copy the checkpoint",
    "seed_of_two_sources",
    lambda: seeded_offsets(SEVERAL) and None,
    lambda: drafted(TWO_SOURCES, COPY),
)
corrected(
    "plugins/spark/targets/migration_rules.py::_option",
    "Copy the checkpoint",
    "option_for_two_sources",
    lambda: exports.starting_offsets(drafted(TWO_SOURCES)) and None,
    lambda: drafted(TWO_SOURCES, COPY),
)

# Plans that are read again.
READING = "plan/reading.py::read_plan"


def reread(plan: Plan | bytes) -> Call:
    data = plan if isinstance(plan, bytes) else files.dump(plan).encode()
    return lambda: read_plan(data, subject="plan.json") and None


WHOLE = drafted()
corrected(
    READING,
    "or draft it again",
    "plan_that_contradicts_itself",
    reread(replace(WHOLE, totals=replace(WHOLE.totals, skip=1))),
    reread(WHOLE),
)
corrected(
    READING,
    "Use the release of Offsetwise that wrote the file",
    "plan_of_another_engine",
    reread(
        replace(
            WHOLE,
            requirements=replace(
                WHOLE.requirements,
                checkpoint=replace(WHOLE.requirements.checkpoint, engine="beam"),  # type: ignore[type-var]
            ),
        )
    ),
    reread(WHOLE),
)

# Marks in the copy of a savepoint.
MARKING = "plan/sinks/marking.py::"
corrected(
    MARKING + "_nothing_to_mark",
    "Draft it without --set mark_settled.",
    "nothing_to_mark",
    lambda: sinks.plan(sinks.SETTLED, made=savepoint()),
    lambda: sinks.plan(sinks.SETTLED, made=savepoint(), mark_settled=False),
)
PENDING = sinks.said(sinks.row(sinks.HELD, Decision.COMMIT, "Ongoing"), sinks.row(sinks.OTHER))
corrected(
    MARKING + "mark_not_settled",
    "Else draft without --set mark_settled",
    "mark_of_a_pending_one",
    lambda: sinks.plan(PENDING),
    lambda: sinks.plan(PENDING, mark_settled=False),
)


# Ending transactions.
def settled(made: SinkTransactions, *, job: JobTraits | None = None, request: Any = None) -> Call:
    return lambda: settle(
        made, cluster="old", topics=(), request=request or asked(), job=job or JobTraits(), now_ms=NOW_MS
    )


def settling(function: str, words: str, name: str, before: Call, after: Call) -> None:
    corrected(f"plan/sinks/ending.py::{function}", words, name, before, after)


COMMIT = row(0, Decision.COMMIT)
ENDED = found(COMMIT, row(1, Decision.SETTLED, held=True))
settling(
    "_against_all",
    "Draft the plan again when the cluster answers",
    "no_cluster_id",
    settled(found(COMMIT, cluster_id=None)),
    settled(found(COMMIT)),
)
settling(
    "_against_all",
    "Grant the right, then draft the plan again",
    "not_all_read",
    settled(found(COMMIT, problems=("A broker refused.",), complete=False)),
    settled(found(COMMIT)),
)
UNEXPLAINED = row(0, Decision.UNEXPLAINED)
settling(
    "_against_all",
    "Say with --reason why",
    "choice_without_a_reason",
    settled(found(UNEXPLAINED), request=asked(settlements=(choice("tx-0-7", "commit", " "),))),
    settled(found(UNEXPLAINED), request=asked(settlements=(choice("tx-0-7", "commit"),))),
)
settling(
    "_against_all",
    "Leave the decision out",
    "choice_for_an_explained_one",
    settled(found(COMMIT), request=asked(settlements=(choice("tx-0-7", "commit"),))),
    settled(found(COMMIT)),
)
for decision, words, later in (
    (Decision.LIVE, "Stop the job, then draft the plan again", ENDED),
    (Decision.WAIT, "Draft the plan again in a moment", ENDED),
    (Decision.LOST, "Start from an earlier checkpoint", found(COMMIT)),
    (Decision.DENIED, "Grant the right, then draft the plan again", ENDED),
    (Decision.WRONG_CLUSTER, "Correct sink_cluster or sink_servers", ENDED),
):
    settling(
        "_objections",
        words,
        f"one_that_is_{decision.lower()}",
        settled(found(COMMIT, row(1, decision))),
        settled(later),
    )
settling(
    "_objections",
    "Decide about it, with a reason",
    "one_that_nothing_explains",
    settled(found(UNEXPLAINED)),
    settled(found(UNEXPLAINED), request=asked(settlements=(choice("tx-0-7", "abort"),))),
)
settling(
    "_objections",
    "or state that the job is taken back: --sink-rewound",
    "one_of_a_newer_checkpoint",
    settled(found(row(0, Decision.NOT_NEWEST))),
    settled(found(row(0, Decision.NOT_NEWEST)), request=asked(sink_rewound=True)),
)
settling(
    "_objections",
    "or state `tolerates_replay: true`",
    "sink_that_went_on",
    settled(found(COMMIT, row(1, Decision.SINK_WENT_ON))),
    settled(found(COMMIT, row(1, Decision.SINK_WENT_ON)), job=JobTraits(tolerates_replay=True)),
)
settling(
    "_against_planned",
    "Grant READ on the topics of the sink",
    "hidden_partitions",
    settled(found(row(0, Decision.COMMIT, partitions=()))),
    settled(found(COMMIT)),
)
settling(
    "_against_planned",
    "Start from an earlier checkpoint",
    "too_late_to_commit",
    settled(found(row(0, Decision.COMMIT, deadline="2026-11-21T12:00:59Z"), row(1, Decision.COMMIT))),
    settled(found(row(1, Decision.COMMIT))),
)
settling(
    "settle",
    "Leave the target",
    "nothing_open",
    settled(found(row(0, Decision.SETTLED))),
    lambda: drafted(savepoint(), SAVEPOINT),
)
