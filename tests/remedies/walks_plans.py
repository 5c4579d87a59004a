"""Remedies of drafting and exporting: the decision, the target or the statement that is named is given."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from offsetwise import files
from offsetwise.cli.targets import targets
from offsetwise.model import Cluster, ClusterRef, Exactness, GroupState, Target, TopicPartition
from offsetwise.plan import exports, options
from offsetwise.plan.reading import plan_bytes
from offsetwise.plan.request import DraftRequest, check_request
from offsetwise.plan.target import target_type
from offsetwise.registry import TARGETS
from tests.plan.scene import (
    AT,
    COPY,
    ETL,
    FIRST,
    comparison,
    drafted,
    grouped,
    override,
    rows,
    snapshot,
)
from tests.remedies.walk import Scene, Steps, corrected, walk

Call = Callable[[], object]


def draft(scope: str, words: str, name: str, before: Call, after: Call) -> None:
    corrected(scope, words, name, before, after)


# What a command line says.
REASON = ("Test data.",)
OPTIONS = "plan/options.py::"
draft(
    OPTIONS + "target",
    "Name a target as expected",
    "unknown_target",
    lambda: options.target("spark"),
    lambda: options.target("spark-checkpoint"),
)
draft(
    OPTIONS + "target",
    "Name a target as expected",
    "target_without_its_group",
    lambda: options.target("consumer-group"),
    lambda: options.target("consumer-group:etl"),
)
draft(
    OPTIONS + "overrides",
    "Write for example --override orders:0=950",
    "no_override",
    lambda: options.overrides(["orders-0=950"], REASON, by="ada"),
    lambda: options.overrides(["orders:0=950"], REASON, by="ada"),
)
draft(
    OPTIONS + "settlements",
    "Decide whether it is committed or aborted",
    "committed_and_aborted",
    lambda: options.settlements(["tx"], ["tx"], REASON * 2, by="ada"),
    lambda: options.settlements(["tx"], [], REASON, by="ada"),
)
draft(
    OPTIONS + "reasons_for",
    "Give every decision a --reason",
    "no_reason",
    lambda: options.reasons_for(2, []),
    lambda: options.reasons_for(2, ["a", "b"]),
)
draft(
    OPTIONS + "time_ms",
    "Write it in ISO 8601",
    "no_time",
    lambda: options.time_ms("tomorrow", "--cutover"),
    lambda: options.time_ms("2026-11-21T12:00:00Z", "--cutover"),
)
draft(
    OPTIONS + "_start",
    "Write for example --start orders=earliest",
    "no_start",
    lambda: options.starts(["orders=first"], REASON, by="ada"),
    lambda: options.starts(["orders=earliest"], REASON, by="ada"),
)

# Decisions.
UNPROVEN: dict[str, Any] = {"exactness": Exactness.UNKNOWN, "new_offset": None}
DECIDE = "plan/decide.py::_check_decision"
draft(
    DECIDE,
    "Name partitions as topic:partition",
    "partition_that_is_not_there",
    lambda: drafted(overrides=((TopicPartition("orders", 9), override(950)),)),
    lambda: drafted(overrides=((FIRST, override(950)),)),
)
draft(
    DECIDE,
    "Say with --reason why this offset is right",
    "override_without_a_reason",
    lambda: drafted(overrides=((FIRST, override(950, reason=" ")),)),
    lambda: drafted(overrides=((FIRST, override(950)),)),
)

# Ways that do not fit the job.
REFUSALS = "plan/refusals.py::"
SKIPS = comparison(*rows({"skip": 3, "exactness": Exactness.BOUNDED}))
draft(
    REFUSALS + "skip",
    "or decide it: --override",
    "position_that_skips",
    lambda: drafted(SKIPS),
    lambda: drafted(SKIPS, overrides=((FIRST, override(947)),)),
)
draft(
    REFUSALS + "cluster_id",
    "Compare again when the cluster answers",
    "no_cluster_id",
    lambda: drafted(
        comparison(new=ClusterRef(name="new", cluster_id=None, taken_at=AT)),
        new=snapshot(Cluster.NEW, rows({}), cluster_id=None),
    ),
    drafted,
)
draft(
    REFUSALS + "no_checkpoint",
    "Write to a consumer group",
    "copy_of_a_group",
    lambda: drafted(grouped(), COPY),
    lambda: drafted(grouped(), ETL),
)
TWO_SOURCES = comparison(*rows({}), replace(rows({"new_offset": 940})[0], source="1"))
draft(
    REFUSALS + "sources",
    "Edit a copy of the checkpoint",
    "two_sources_in_a_group",
    lambda: drafted(TWO_SOURCES, ETL),
    lambda: drafted(TWO_SOURCES, COPY),
)
TWO = tuple(Target(kind="consumer-group", group=name) for name in ("connect-a", "etl"))
draft(
    REFUSALS + "group_type",
    "Use the means of the system",
    "group_of_connect",
    lambda: drafted(
        None, TWO[0], new=snapshot(Cluster.NEW, rows({}), groups=(GroupState(name="connect-a", state="Empty"),))
    ),
    lambda: drafted(None, ETL),
)


# Exports.
PLAN = drafted()
EXPORTS = "plan/exports.py::"
NO_TOPIC = replace(PLAN, positions=tuple(replace(row, new_topic="a b") for row in PLAN.positions))
draft(
    EXPORTS + "_named_by_kafka",
    "Draft the plan again; this file was not written",
    "no_topic_name",
    lambda: exports.consumer_groups_csv(NO_TOPIC),
    lambda: exports.consumer_groups_csv(PLAN),
)
LACKING = replace(
    PLAN,
    requirements=replace(
        PLAN.requirements,
        new=replace(
            PLAN.requirements.new,
            topics=tuple(replace(topic, partitions=2) for topic in PLAN.requirements.new.topics),
        ),
    ),
)
draft(
    EXPORTS + "whole_topics",
    "so that it has every partition",
    "partition_missing",
    lambda: exports.starting_offsets(LACKING),
    lambda: exports.starting_offsets(PLAN),
)
TWO_PLACES = drafted(TWO_SOURCES)
draft(
    EXPORTS + "consumer_groups_csv",
    "draft a plan from a checkpoint of one source",
    "two_sources_in_a_csv",
    lambda: exports.consumer_groups_csv(TWO_PLACES),
    lambda: exports.consumer_groups_csv(PLAN),
)
draft(
    EXPORTS + "planned_offsets",
    "move the job by its checkpoint",
    "two_sources_in_a_group",
    lambda: exports.planned_offsets(TWO_PLACES, "etl"),
    lambda: drafted(TWO_SOURCES, COPY),
)
FORMULA = replace(PLAN, targets=(Target(kind="consumer-group", group="=a"), ETL))
draft(
    EXPORTS + "consumer_groups_csv",
    "Draft one plan per group",
    "group_that_is_a_formula",
    lambda: exports.consumer_groups_csv(FORMULA),
    lambda: exports.consumer_groups_csv(replace(FORMULA, targets=FORMULA.targets[:1])),
)

READING = "plan/reading.py::"


@walk(READING + "plan_bytes", "Give the file that `offsetwise draft` wrote")
def plan_missing(scene: Scene) -> Steps:
    path = scene.folder / "plan.json"
    return Steps(lambda: plan_bytes(path), lambda: scene.write("plan.json", files.dump(PLAN)))


corrected(
    "cli/targets.py::targets",
    "or none to list all",
    "unknown_type_of_target",
    lambda: targets("spark"),
    targets,
)


@walk("registry.py::Registry._loaded", "or uninstall it")
def plug_in_that_cannot_be_loaded(scene: Scene) -> Steps:
    scene.write("a_plug_in-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: a-plug-in\nVersion: 1.0\n")
    points = scene.write("a_plug_in-1.0.dist-info/entry_points.txt", "[offsetwise.targets]\nshelf = a_plug_in.shelf\n")
    scene.patch.syspath_prepend(str(scene.folder))

    def drafted() -> None:
        for known in ("_installed", "installed"):
            TARGETS.__dict__.pop(known, None)  # as in a new process
        if "shelf" in TARGETS:
            target_type("shelf")

    scene.request.addfinalizer(lambda: [TARGETS.__dict__.pop(known, None) for known in ("_installed", "installed")])
    return Steps(drafted, lambda: shutil.rmtree(points.parent))


def asked(*names: str) -> Call:
    """Ask for a plan that writes targets together."""
    targets = tuple(options.target(name) for name in names)
    return lambda: check_request(DraftRequest(targets=targets, author="ada"))


corrected(
    "plugins/kafka/targets/hanging_transactions/spec.py::HangingTransactionsTarget.combination",
    "Draft a plan of its own for hanging transactions",
    "hanging_transactions_beside_a_copy",
    asked("hanging-transactions", "flink-savepoint"),
    asked("hanging-transactions"),
)
for beside in ("consumer-group:etl", "starting-offsets"):
    corrected(
        "plugins/flink/targets/savepoint_without_sources/spec.py::SavepointWithoutSourcesTarget.combination",
        "or --target starting-offsets",
        f"positions_beside_a_savepoint_without_sources_{beside.partition(':')[0]}",
        asked("flink-savepoint-without-sources"),
        asked("flink-savepoint-without-sources", beside),
    )
