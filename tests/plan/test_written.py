"""Drafted plans are what the writers take: on the sample's own checkpoints, every number moves as planned."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from offsetwise import workflow
from offsetwise.model import Checkpoint, Evidence, Plan, RestartPoint
from offsetwise.plan import exports
from offsetwise.plan.request import DraftRequest
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.plugins.spark.targets.rewind import rewound
from offsetwise.position import Position
from offsetwise.targets.moves import starting_positions
from tests.apply.plans import aged, context, spark_checkpoint
from tests.plan.scene import AT, COPY, SAMPLE, STARTING, observed, proven
from tests.subjects import checkpoint
from tests.with_cases import with_cases


def copied(name: str, folder: Path) -> Checkpoint:
    shutil.copytree(SAMPLE / "checkpoints" / name, folder / "source")
    return read_checkpoint(str(aged(folder / "source")))


def drafted(name: str, read: Checkpoint, *, pending_equal: bool | None = None, **request: object) -> Plan:
    seen = observed(name)
    rows = tuple(replace(row, pending_equal=pending_equal) for row in seen.partitions)
    seen = replace(seen, checkpoint=read, partitions=rows)
    made = replace(DraftRequest(targets=(COPY,), author="ada"), **request)  # type: ignore[arg-type]
    return workflow.draft(workflow.sample(), checkpoint(name), made, comparison=seen, drafted_at=AT)


def changes(plan: Plan, folder: Path) -> dict[str, set[tuple[str, int, Position | None, Position]]]:
    preview = spark_checkpoint.prepare(plan, COPY, context(folder))
    return {
        file.path: {(one.new_topic, one.partition, one.before, one.after) for one in file.numbers}
        for file in preview.files
    }


def test_a_committed_checkpoint_is_edited_at_its_last_batch(tmp_path: Path) -> None:
    plan = drafted("payments", copied("payments", tmp_path))

    assert changes(plan, tmp_path)["offsets/0"] == {("payments", 0, 720, 600), ("payments", 1, 720, 600)}


def test_a_pending_batch_is_edited_at_both_ends(tmp_path: Path) -> None:
    made = changes(drafted("orders", copied("orders", tmp_path), pending_equal=True), tmp_path)

    assert {("orders", 0, 1050, 950), ("old.clicks", 0, 525, 525)} <= made["offsets/6"]
    assert {("orders", 0, 1100, 1000), ("old.clicks", 0, 550, 550)} <= made["offsets/7"]


def test_a_rewind_drops_what_came_later(tmp_path: Path) -> None:
    read = rewound(copied("orders", tmp_path), 5)
    reached = {each.topic_partition: each.offset for each in read.sources[0].positions}
    seen = observed("orders")
    rows = []
    for row in seen.partitions:
        old = reached[row.topic_partition]
        assert row.old_offset is not None
        assert row.new_offset is not None
        point = RestartPoint(batch=5, old=old, new=row.new_offset)
        rows.append(proven(replace(row, old_offset=old, restart=(point,), evidence=Evidence(reason="It is."))))
    comparison = replace(seen, checkpoint=read, partitions=tuple(rows), findings=())
    request = DraftRequest(targets=(COPY,), author="ada", rewind_to=5, sink_rewound=True)
    plan = workflow.draft(
        workflow.sample(),
        checkpoint("orders"),
        request,
        comparison=comparison,
        drafted_at=AT,
    )

    preview = spark_checkpoint.prepare(plan, COPY, context(tmp_path))

    assert {file.path for file in preview.files if file.what == "dropped"} >= {"offsets/6", "offsets/7", "commits/6"}


def test_what_is_exported_is_what_is_written(tmp_path: Path) -> None:
    plan = drafted("payments", copied("payments", tmp_path), targets=(STARTING,), sink_rewound=True)

    text, _ = starting_positions(plan)

    assert exports.starting_offsets(plan) == text


@with_cases("name", ["payments", "orders"])
def test_a_plan_is_made_of_the_files_that_decide_the_restart(name: str, tmp_path: Path) -> None:
    read = copied(name, tmp_path)

    wanted = drafted(name, read, pending_equal=True).requirements.checkpoint

    assert wanted is not None
    assert wanted.files == read.pins
    assert wanted.uri == read.uri
