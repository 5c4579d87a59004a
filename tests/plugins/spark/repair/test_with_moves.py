"""Repairs whose copy has other positions as well: of topics that left, and of shards of Kinesis."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from offsetwise.apply.writing import StepStanding
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.findings.reading import blocking_problems
from offsetwise.model import Plan, Turnout
from offsetwise.plan.repair.draft import with_repair
from offsetwise.plan.request import DraftRequest
from offsetwise.plugins.spark.targets.copy.spec import TYPE
from offsetwise.position import offset_of
from offsetwise.workflow.repairing import repaired_checkpoint
from tests.apply.plans import COPY, SHIFT, context, files_of, journal, spark_checkpoint
from tests.apply.plans import drafted as moved
from tests.commands import call
from tests.plugins.kinesis.streams import STREAM, Stream
from tests.plugins.kinesis.targets.kinesis_plans import back, shard_plan
from tests.plugins.spark.folders import checkpoint, write
from tests.plugins.spark.repair.flow import aged
from tests.plugins.spark.repair.test_repairs import DAMAGED, LEGACY, TWO_LEFT
from tests.plugins.spark.targets.test_kinesis_spark import seen
from tests.with_cases import with_cases

END = "sources/0/shard-commit/22/shardId-000000000000"
SHARDS = DAMAGED["rebuild-shard-commit"]
LEFT = '{"orders":{"0":200}}'
BATCHES = (20, 21, 22)


def compact(body: Mapping[str, Any]) -> str:
    """Return JSON as the connectors write it."""
    return json.dumps(body, separators=(",", ":"))


def repaired_as(folder: Path, kind: str, overlay: Path, **values: str) -> Plan:
    """Return a plan that repairs a checkpoint and moves every position of what it repairs it to."""
    before, made = repaired_checkpoint(str(folder), kind, values, roots=None)
    write(files_of(folder) | dict(made.replaced), overlay)
    request = DraftRequest(targets=(COPY,), author="ada", repair=kind, settings=tuple(values.items()))
    plan = shard_plan(aged(overlay), COPY, move=back) if kind == "rebuild-shard-commit" else moved(str(overlay))
    return with_repair(plan, before, made, request)


@with_cases(
    ("lines", "committed", "topics"),
    [
        ({3: LEGACY, 4: LEFT}, (3,), "legacy"),
        ({3: LEGACY, 4: LEFT}, (3, 4), "legacy"),
        ({2: LEGACY, 3: LEFT, 4: LEFT}, (2, 3), "legacy"),
        ({3: TWO_LEFT, 4: LEFT}, (3,), "legacy,clicks"),
        ({3: TWO_LEFT, 4: LEFT}, (3, 4), "clicks,legacy"),
    ],
)
def test_topics_are_put_back_at_their_new_positions(
    lines: Mapping[int, str], committed: tuple[int, ...], topics: str, tmp_path: Path
) -> None:
    folder = aged(write(checkpoint(lines, committed), tmp_path / "source"))
    overlay = tmp_path / "as-repaired"
    plan = repaired_as(folder, "restore-topic", overlay, topic=topics)
    with journal(tmp_path) as one:
        step = spark_checkpoint.write(plan, COPY, context(tmp_path, journal=one))
        read, expected = read_checkpoint(step.place), read_checkpoint(str(overlay))

        ends = [
            (at.topic, at.partition, at.offset, at.planned_offset) for source in read.sources for at in source.positions
        ]
        assert ends == [
            (
                at.topic,
                at.partition,
                offset_of(at.offset) + SHIFT,
                None if at.planned_offset is None else offset_of(at.planned_offset) + SHIFT,
            )
            for source in expected.sources
            for at in source.positions
        ]
        assert {at[0] for at in ends} == {"orders", *topics.split(",")}
        assert blocking_problems(read.problems) == []
        assert seen(plan, step, tmp_path) == {Turnout.CONFIRMED}
        assert spark_checkpoint.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
        assert list(TYPE.disagreements(plan, "ab" * 32, step)) == []
        spark_checkpoint.undo(plan, step, context(tmp_path, journal=one))
    assert not Path(step.place).exists()


@with_cases("half_written", [False, True])
def test_ends_of_shards_are_rebuilt_at_their_new_positions(tmp_path: Path, *, half_written: bool) -> None:
    damage = {END: b'{"shardId":"shardId-0'} if half_written else {}
    folder = aged(write(SHARDS | damage, tmp_path / "source"))
    overlay = tmp_path / "as-repaired"
    plan = repaired_as(folder, "rebuild-shard-commit", overlay)
    (planned,) = plan.positions
    with journal(tmp_path) as one:
        step = spark_checkpoint.write(plan, COPY, context(tmp_path, journal=one))
        (shard,) = read_checkpoint(step.place).sources[0].shards

        assert shard.position == planned.new_offset != planned.old_offset
        end = json.loads((Path(step.place) / END).read_text())
        assert int(end["iteratorPosition"]) == int(str(planned.old_offset)[4:]) - 16
        assert blocking_problems(read_checkpoint(step.place).problems) == []
        assert seen(plan, step, tmp_path) == {Turnout.CONFIRMED}
        assert spark_checkpoint.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
        assert list(TYPE.disagreements(plan, "ab" * 32, step)) == []
        spark_checkpoint.undo(plan, step, context(tmp_path, journal=one))
    assert not Path(step.place).exists()


@with_cases("half_written", [False, True])
def test_commands_rebuild_the_ends_of_a_stream_that_is_read_on(
    stream: Stream, tmp_path: Path, *, half_written: bool
) -> None:
    names = [f"shardId-{number:012}" for number in (0, 1)]
    at = {name: {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": "3"} for name in names}
    lines = {batch: compact({"metadata": {"streamName": STREAM, "batchId": str(batch)}} | at) for batch in BATCHES}
    ends = {
        f"sources/0/shard-commit/{batch}/{name}": compact({"shardId": name} | at[name]).encode()
        for name in names
        for batch in BATCHES
    }
    ends[END] = b'{"shardId":"shardId-0' if half_written else b""
    aged(write(checkpoint(lines, BATCHES, initial={}) | ends, tmp_path / "query"))
    path = stream.migration(tmp_path, job="{stateful: false, sink: kafka, tolerates_replay: true}")
    path.write_text(path.read_text().replace("./dumps/app.json", "./query"))
    work, of = tmp_path / "out", ("--migration", path)
    work.mkdir()
    file, key, approval = work / "plan.json", work / "rea", work / "approval.json"
    plan = call(
        *("draft", *of, "--checkpoint", "app", "--target", "spark-checkpoint", "--author", "ada"),
        *(
            "--set",
            "repair=rebuild-shard-commit",
            "--out",
            file,
            "--override",
            "chain:1=seq:2",
        ),
        *("--reason", "Once more.", "--json"),
    ).answered()
    assert {each["partition"]: each["new_offset"] for each in plan["positions"]} == {0: "seq:3", 1: "seq:2"}
    assert "batch 23 begins where batch 22 began" in " ".join(plan["repair"]["costs"])

    assert call("keygen", "--out", key, "--as", "rea").code == 0
    assert call("sign", file, "--key", key, "--as", "rea", "--out", approval).code == 0
    given = ("--approval", approval, "--trust", f"{key}.pub", "--output", work / "copy", "--execute")
    ran = call("apply", file, *of, *given)
    assert ran.code == 0, ran.err
    assert call("verify", work / "plan.receipt.json", *of).code == 0
    assert json.loads((work / "copy" / END).read_text()) == {"shardId": names[0]} | at[names[0]]
    read = read_checkpoint(str(work / "copy"))
    assert [str(each.position) for each in read.sources[0].shards] == ["seq:3", "seq:2"]
    assert blocking_problems(read.problems) == []
