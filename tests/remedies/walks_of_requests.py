"""Remedies of requests for a plan that do not fit together, or not the readings that they are drafted from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import yaml

import offsetwise as ow
from offsetwise import files
from offsetwise.config import JobTraits
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import Cluster, Comparison, CopiedRecord, Evidence, GroupState, PartProof, RestartPoint, Target
from offsetwise.plan import options
from offsetwise.plan.strategies import judge_strategies
from offsetwise.plugins.kinesis.stream.spec import after, at, in_shards
from tests.plan.scene import STARTING, URI, checkpoint, comparison, drafted, migration, pending, rows, snapshot
from tests.plugins.flink.test_ways import savepoint
from tests.plugins.kinesis.streams import lease
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.remedies.walk import Remembered, Scene, Steps, corrected, walk
from tests.remedies.walks_commands import run, sample
from tests.remedies.walks_streams import TRAITS, made

Call = Callable[[], object]
REQUEST = "plan/request.py::check_request"
READINGS = "plan/request.py::check_readings"
COPY = ("--target", "spark-checkpoint")
AUTHOR = ("--author", "ada")


def draft(path: Path, *given: str) -> Call:
    """Return the draft of a plan from the sample's recorded comparison, each time to a new file."""
    folder = path.parent
    recorded = (
        *("--migration", path, "--checkpoint", "payments", "--comparison", folder / "comparison-payments.json"),
        *("--snapshots", folder / "old.json", folder / "new.json"),
    )

    def command() -> object:
        out = folder / f"plan-{len(list(folder.glob('plan-*')))}.json"
        return run("draft", *recorded, "--out", out, *given)()

    return command


def other_request(scope: str, words: str, name: str, before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """Add a walk whose remedy is the same draft with other options."""

    @walk(scope, words, name=name)
    def _(scene: Scene) -> Steps:
        path = sample(scene)
        return Steps(draft(path, *before), lambda: None, draft(path, *after))


other_request(REQUEST, "Name each target once", "target_twice", (*COPY, *COPY, *AUTHOR), (*COPY, *AUTHOR))
other_request(
    REQUEST,
    "Name one of them",
    "copy_and_edit_in_place",
    (*COPY, "--target", "spark-checkpoint-in-place", *AUTHOR),
    (*COPY, *AUTHOR),
)
other_request(
    REQUEST, "Say who drafts it: --author NAME", "nobody_drafts_it", (*COPY, "--author", " "), (*COPY, *AUTHOR)
)
other_request(
    REQUEST,
    "Write the name of the author or editor without it",
    "author_with_an_unseen_character",
    (*COPY, "--author", "a\u200bda"),
    (*COPY, *AUTHOR),
)
DECIDED = ("--abort-transaction", "tx", "--reason", "Nobody knows it.")
other_request(
    REQUEST, "or leave the decisions out", "decision_about_no_target", (*COPY, *AUTHOR, *DECIDED), (*COPY, *AUTHOR)
)
other_request(
    READINGS,
    "Leave --set unset out",
    "unset_of_a_checkpoint",
    (*COPY, *AUTHOR, "--set", "unset=leave"),
    (*COPY, *AUTHOR),
)


@walk(REQUEST, "Leave the name out")
def name_of_a_target_without_names(scene: Scene) -> Steps:
    path = sample(scene)
    job = ow.Migration.load(path).checkpoint("payments")
    read = ow.load_comparison(*(path.parent / name for name in ("comparison-payments.json", "old.json", "new.json")))

    def asked(target: Target) -> Call:
        return lambda: job.draft(target, author="ada", comparison=read) and None

    return Steps(
        asked(Target(kind="spark-checkpoint", group="payments")), lambda: None, asked(Target(kind="spark-checkpoint"))
    )


# Readings.
def lease_files(scene: Scene) -> tuple[Path, Call, Call]:
    """Return a migration of an application of the KCL, its comparison into files, and a draft from those."""
    path = made(scene).migration(scene.folder, lease(0, "5"), lease(1, "9"), job=TRAITS)
    number = iter(range(9))
    names = [scene.folder / name for name in ("old.json", "new.json")]

    def compare() -> None:
        observed = ow.Migration.load(path).checkpoint("app").compare()
        (scene.folder / "comparison.json").write_text(files.dump(observed))
        for read, name in zip(observed.snapshots, names, strict=True):
            name.write_text(files.dump(read))

    recorded: tuple[str | Path, ...] = ("--comparison", scene.folder / "comparison.json", "--snapshots", *names)

    def drafted_from_them() -> object:
        given = ("--target", "starting-position", *AUTHOR, "--out", scene.folder / f"plan-{next(number)}.json")
        return run("draft", "--migration", path, "--checkpoint", "app", *recorded, *given)()

    return path, compare, drafted_from_them


@walk(READINGS, "Compare again, and draft from that")
def comparison_of_a_migration_that_was_renamed(scene: Scene) -> Steps:
    path, compare, drafted_from_them = lease_files(scene)
    compare()
    path.write_text(path.read_text().replace("name: chain\n", "name: renamed\n"))
    return Steps(drafted_from_them, compare)


corrected(
    READINGS,
    "Compare a checkpoint or a group that has positions",
    "comparison_without_positions",
    lambda: drafted(comparison(partitions=())) and None,
    lambda: drafted() and None,
)


def back_to(batch: int) -> Comparison:
    """Compare the positions after an earlier batch."""
    return comparison(*rows({"restart": (RestartPoint(batch=batch, old=1010, new=910),)}))


corrected(
    READINGS,
    "Draft it without a comparison",
    "comparison_of_the_last_batch",
    lambda: drafted(rewind_to=4, sink_rewound=True) and None,
    lambda: drafted(back_to(4), rewind_to=4, sink_rewound=True) and None,
)

# Groups, partitions and the pending batch.
TWO = Target(kind="consumer-group", group="etl-2")
READ_TWO = snapshot(Cluster.NEW, rows({}), groups=(GroupState(name="etl-2", state="Empty"),))
corrected(
    "plan/draft.py::_against_groups",
    "among `groups` of the migration file",
    "group_that_was_not_read",
    lambda: drafted(None, TWO) and None,
    lambda: drafted(None, TWO, new=READ_TWO) and None,
)
corrected(
    "plan/draft.py::_against_clusters",
    "Compare again.",
    "partition_twice",
    lambda: drafted(comparison(*rows({}), *rows({}))) and None,
    lambda: drafted(comparison(*rows({}))) and None,
)
PENDING = checkpoint(reruns_batch=7, last_planned_batch=7)
corrected(
    "plan/decide.py::_against_pending",
    "Let the pending batch commit on the old cluster",
    "pending_batch_with_other_records",
    lambda: drafted(comparison(*rows(pending(1000, equal=False)), checkpoint=PENDING)) and None,
    lambda: drafted(comparison(*rows({"old_offset": 1100, "new_offset": 1000}))) and None,
)
LOGS = snapshot(Cluster.NEW, rows({}, {}))
corrected(
    "plan/exports.py::against_gaps",
    "Compare again, so that every partition is there",
    "start_without_a_partition",
    lambda: drafted(comparison(*rows({})), STARTING, new=LOGS) and None,
    lambda: drafted(comparison(*rows({}, {})), STARTING, new=LOGS) and None,
)


# What is stated about the job.
def both(*drafts: Call) -> Call:
    """Return the drafts of both alternatives that a remedy names."""
    return lambda: [drafts_it() for drafts_it in drafts] and None


corrected(
    "plan/strategies.py::against_target",
    "or state `tolerates_replay: true` for the job",
    "back_to_an_earlier_batch",
    lambda: drafted(back_to(4), rewind_to=4) and None,
    both(
        lambda: drafted(back_to(4), rewind_to=4, sink_rewound=True),
        lambda: drafted(back_to(4), rewind_to=4, job=JobTraits(sink="kafka", tolerates_replay=True)),
    ),
)


def sink_of(path: Path, sink: str | None) -> None:
    """Write into a copy of the sample which sink the job has."""
    body = yaml.safe_load(path.read_text(encoding="utf-8"))
    (job,) = (each["job"] for each in body["checkpoints"] if each["name"] == "payments")
    job["sink"] = sink
    path.write_text(yaml.safe_dump(body), encoding="utf-8")


ANEW = ("--target", "starting-offsets", *AUTHOR)


@walk("plugins/spark/targets/sink.py::batch_ids", "State `sink` of the checkpoint's job in the migration file")
def sink_that_nobody_states(scene: Scene) -> Steps:
    path = sample(scene)
    sink_of(path, None)
    return Steps(draft(path, *ANEW), lambda: sink_of(path, "kafka"))


@walk("plugins/spark/targets/sink.py::batch_ids", "or edit a copy of the checkpoint")
def sink_that_remembers_batches(scene: Scene) -> Steps:
    path = sample(scene)
    taken_back, copied = draft(path, *ANEW, "--sink-rewound"), draft(path, *COPY, *AUTHOR)
    return Steps(draft(path, *ANEW), lambda: None, lambda: taken_back() or copied())


def judged(*, uids: bool | None = None) -> Call:
    """Judge the way that gives the source of a savepoint another uid."""
    old = savepoint(uid=None, version=4)
    ways = {way.kind.name: way for way in judge_strategies(old, migration(JobTraits.model_validate({"uids": uids})))}
    return lambda: ways["new-operator-uid"].objections


corrected(
    "plugins/flink/targets/migration_rules.py::no_uid",
    "Look into the job's code, and state `uids`",
    "uids_that_nobody_knows",
    judged(),
    judged(uids=True),
)


# Another stream.
def goes_to_kafka(recorded: str, *targets: Target) -> None:
    """Add the walk of a job of Kinesis whose own state is to hold positions of Kafka, and then each target named."""

    @walk("plan/strategies.py::_against_stream", "Write where the new job begins", name=f"to_kafka_from_{recorded}")
    def _(_: Scene) -> Steps:
        read = replace(read_checkpoint(str(DATA / recorded)), uri=URI)
        (row,) = rows({"old_offset": in_shards({0: after(5)})})
        assert isinstance(row.new_offset, int)
        last = CopiedRecord(old=at(5), new=row.new_offset - 1, identity="ab")
        proven = Evidence(reason="", salt="00", parts=(PartProof(partition=0, before=last, after=None),))
        compared = comparison(replace(row, evidence=proven), checkpoint=read)
        command = Remembered(lambda: drafted(compared, *targets) and None)

        def instead() -> None:
            names = re.findall(r"--target ([A-Za-z:-]+)", command.remedy)
            assert "consumer-group:NAME" in names
            for name in names:
                drafted(compared, options.target(name.replace("NAME", "etl")), job=JobTraits(sink="kafka"))

        return Steps(command, lambda: None, instead)


goes_to_kafka(CHAIN, options.target("kcl-leases:app"))
goes_to_kafka("spark/awslabs-2.0.0-committed", options.target("spark-checkpoint"))
goes_to_kafka("flink/streams-source-5.1.0-two-shards", options.target("flink-savepoint"))


@walk("plan/strategies.py::_against_stream", "Write a target that takes positions of that stream")
def group_of_kafka_for_shards(scene: Scene) -> Steps:
    path = made(scene).migration(scene.folder, lease(0, "5"), lease(1, "9"), job=TRAITS)
    given = ("draft", "--migration", path, "--checkpoint", "app", *AUTHOR)
    return Steps(
        run(*given, "--target", "seeded-checkpoint", "--out", scene.folder / "seeded.json"),
        lambda: None,
        run(*given, "--target", "starting-position", "--out", scene.folder / "plan.json"),
    )
