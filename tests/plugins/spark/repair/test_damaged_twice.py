"""Repairs of checkpoints that are damaged in two places, and settings that are spelled otherwise."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.findings.reading import blocking_problems
from offsetwise.workflow.repairing import fitting_repairs
from tests.plugins.kinesis.test_checkpoints import AWSLABS
from tests.plugins.spark.folders import checkpoint, orders, write
from tests.plugins.spark.repair.flow import aged, drafted, repaired
from tests.plugins.spark.repair.test_repairs import DAMAGED, ID, SHARD, TWO_LEFT
from tests.with_cases import with_cases


@with_cases("pending", [True, False])
def test_several_topics_that_left_are_put_back_together(tmp_path: Path, *, pending: bool) -> None:
    lines = {2: TWO_LEFT, 3: TWO_LEFT, 4: '{"orders":{"0":200}}'}
    folder = aged(write(checkpoint(lines, (2, 3) if pending else (2, 3, 4)), tmp_path / "a"))
    (damage,) = [each for each in read_checkpoint(str(folder)).problems if each.code.startswith("TOPIC_")]
    assert "--set topic=legacy,clicks " in damage.fix
    assert ("topic=clicks,legacy",) in {each.settings for each in fitting_repairs(str(folder))}

    copy, plan = repaired(folder, "restore-topic", tmp_path / "work", "--set", "topic=legacy,clicks")

    back = '{"orders":{"0":200},"clicks":{"0":7,"1":9},"legacy":{"0":155}}'
    assert (copy / "offsets/4").read_text().endswith(back)
    assert not [each for each in read_checkpoint(str(copy)).problems if each.code.startswith("TOPIC_")]
    assert "clicks-0 at 7, clicks-1 at 9, where batch 3 ended; legacy-0 at 155" in plan["repair"]["costs"][0]


def test_topics_that_the_first_batch_lacks_are_put_back_where_the_query_began(tmp_path: Path) -> None:
    files = checkpoint({0: '{"orders":{"0":200}}'}, initial={"0": b"\0v1\n" + TWO_LEFT.encode()})
    folder = aged(write(files, tmp_path / "a"))
    (damage,) = read_checkpoint(str(folder)).problems
    assert "--set topic=legacy,clicks " in damage.fix
    assert ("topic=clicks,legacy",) in {each.settings for each in fitting_repairs(str(folder))}
    alone = drafted(folder, "restore-topic", tmp_path / "plan.json", "--set", "topic=legacy")
    assert alone.code == 1
    assert "Batch 0 lacks clicks as well" in json.loads(alone.out)["problem"]

    copy, plan = repaired(folder, "restore-topic", tmp_path / "work", "--set", "topic=legacy,clicks")

    back = '{"orders":{"0":200},"clicks":{"0":7,"1":9},"legacy":{"0":155}}'
    assert (copy / "offsets/0").read_text().endswith(back)
    assert [each.code for each in read_checkpoint(str(copy)).problems] == ["PENDING_BATCH"]
    assert "legacy-0 at 155, where the query began" in plan["repair"]["costs"][0]


@with_cases("topic", ["legacy", "clicks"])
def test_one_of_several_topics_that_a_pending_batch_lacks_is_refused_with_all_of_them(
    topic: str, tmp_path: Path
) -> None:
    folder = aged(write(checkpoint({3: TWO_LEFT, 4: '{"orders":{"0":200}}'}, (3,)), tmp_path / "a"))
    ran = drafted(folder, "restore-topic", tmp_path / "plan.json", "--set", f"topic={topic}")

    assert ran.code == 1
    named = json.loads(ran.out)["fix"].rpartition("--set topic=")[2].rstrip(".")
    assert set(named.split(",")) == {"legacy", "clicks"}
    assert drafted(folder, "restore-topic", tmp_path / "plan.json", "--set", f"topic={named}").code == 0


@with_cases("spelled", [ID.upper(), ID.replace("-", ""), f"{{{ID}}}", f"urn:uuid:{ID}"])
def test_the_id_is_written_as_java_reads_it(spelled: str, tmp_path: Path) -> None:
    folder = aged(write(DAMAGED["restore-metadata"], tmp_path / "source"))
    copy, plan = repaired(folder, "restore-metadata", tmp_path / "work", "--set", f"query_id={spelled}")

    assert json.loads((copy / "metadata").read_text()) == {"id": ID}
    assert plan["repair"]["job_id"] == ID


@with_cases("count", [2, 3, 4])
@with_cases("pending", [True, False])
@with_cases("data", [b"", b"v1\n{"])
def test_commits_that_are_damaged_one_after_the_other_are_removed_together(
    data: bytes, count: int, tmp_path: Path, *, pending: bool
) -> None:
    files = checkpoint({each: orders(10 * each) for each in range(2, 7 if pending else 6)}, (2, 3, 4, 5))
    files |= {f"commits/{5 - each}": data for each in range(count)}
    folder = aged(write(files, tmp_path / "source"))
    copy, plan = repaired(folder, "remove-damaged-commit", tmp_path / "work")

    assert {path.name for path in (copy / "commits").iterdir() if path.name.isdigit()} == {
        str(each) for each in range(2, 6 - count)
    }
    read = read_checkpoint(str(copy))
    assert read.details.progress.again == (6 if pending else 5)
    assert next(at.offset for at in read.sources[0].positions) == (50 if pending else 40)
    assert not [each for each in plan["repair"]["costs"] if each.startswith("Left as it is")]


@with_cases("data", [b"", b"v1\n{", b"v1\n{}"])
@with_cases("kind", ["drop-pending-batch", "drop-batch-after-gap"])
def test_a_batch_that_is_left_out_may_be_damaged_itself(kind: str, data: bytes, tmp_path: Path) -> None:
    newest = "offsets/5" if kind == "drop-pending-batch" else "offsets/202"
    folder = aged(write(DAMAGED[kind] | {newest: data}, tmp_path / "source"))
    codes = {each.code for each in read_checkpoint(str(folder)).problems}
    assert "CHECKPOINT_DAMAGED" in codes
    assert "PENDING_BATCH" not in codes
    assert "runs again" not in read_checkpoint(str(folder)).restart

    copy, plan = repaired(folder, kind, tmp_path / "work")

    assert not (copy / newest).exists()
    assert read_checkpoint(str(copy)).problems == ()
    assert "an unknown number of records" in plan["repair"]["costs"][0]


@with_cases("damaged", [{}, {"offsets/5": b""}, {"metadata": b"{"}, {"commits/4": b""}])
@with_cases("kind", ["drop-pending-batch", "remove-damaged-commit"])
def test_a_refusal_leads_to_no_draft_that_the_damage_refuses(
    kind: str, damaged: dict[str, bytes], tmp_path: Path
) -> None:
    files = checkpoint({4: orders(150), 5: orders(180)}, (4,)) | damaged
    if kind == "remove-damaged-commit":
        files |= {"commits/4": b"", "state/0/0/7.delta": b"x"}
    folder = aged(write(files, tmp_path / "source"))

    ran = drafted(folder, kind, tmp_path / "plan.json")

    assert ran.code == 1
    leads_to_draft = "--target seeded-checkpoint" in json.loads(ran.out)["fix"]
    assert leads_to_draft is not bool(blocking_problems(read_checkpoint(str(folder)).problems))


@with_cases("data", [b"", b'{"shardId":"shardId-0', b"[]"])
def test_an_end_of_a_shard_that_is_half_written_is_rebuilt_like_a_lost_one(data: bytes, tmp_path: Path) -> None:
    end = "sources/0/shard-commit/22/shardId-000000000000"
    folder = aged(write(DAMAGED["rebuild-shard-commit"] | {end: data}, tmp_path / "source"))
    (fix,) = [each.fix for each in read_checkpoint(str(folder)).problems if end in each.message]
    assert "--set repair=rebuild-shard-commit" in fix
    copy, _ = repaired(folder, "rebuild-shard-commit", tmp_path / "work")

    assert json.loads((copy / end).read_text()) == {"shardId": "shardId-000000000000"} | SHARD
    assert "CHECKPOINT_DAMAGED" not in {each.code for each in read_checkpoint(str(copy)).problems}


@with_cases("half_written", [0, 1])
@with_cases("lost", [1, 2, 9])
def test_each_single_end_that_is_lost_is_named_with_what_writes_it(
    lost: int, half_written: int, tmp_path: Path
) -> None:
    shards = [f"shardId-{number:012}" for number in range(11)]
    line = json.dumps({"metadata": {"streamName": "qb", "batchId": "22"}, **dict.fromkeys(shards, SHARD)})
    ends = {
        f"sources/0/shard-commit/22/{shard}": b"{"
        if number < half_written
        else json.dumps({"shardId": shard} | SHARD).encode()
        for number, shard in enumerate(shards[lost:])
    }
    folder = aged(write(checkpoint({21: line, 22: line}, (21, 22), initial={}) | ends, tmp_path / "source"))

    blocks = [each for each in read_checkpoint(str(folder)).problems if each.code == "CHECKPOINT_DAMAGED"]
    assert len(blocks) == 1 + half_written
    (without,) = [each for each in blocks if "is committed without an end" in each.message]
    assert f"Restore sources/0/shard-commit/22/{shards[0]}" in without.fix
    assert all("--set repair=rebuild-shard-commit" in each.fix for each in blocks)

    copy, _ = repaired(folder, "rebuild-shard-commit", tmp_path / "work")

    assert not [each for each in read_checkpoint(str(copy)).problems if each.code == "CHECKPOINT_DAMAGED"]


def test_an_end_that_awslabs_has_lost_is_not_said_to_be_rebuilt(tmp_path: Path) -> None:
    folder = shutil.copytree(AWSLABS, tmp_path / "source")
    newest = max((folder / "sources/0/shard-source").iterdir(), key=lambda path: int(path.name))
    min(path for path in newest.iterdir() if not path.name.startswith(".")).unlink()

    (lost,) = [each for each in read_checkpoint(str(folder)).problems if "is committed without an end" in each.message]
    assert "rebuild-shard-commit" not in lost.fix
    assert drafted(aged(folder), "rebuild-shard-commit", tmp_path / "plan.json").code == 1


@with_cases(
    ("kind", "given", "followed"),
    [
        ("restore-topic", (), "Write --set topic=VALUE"),
        ("restore-metadata", ("query_id=7",), "Write --set query_id=VALUE"),
        ("drop-pending-batch", ("topic=legacy",), "Leave --set topic out"),
        ("restore-topic", ("topic=legacy", "kcl=2"), "Leave --set kcl out"),
    ],
)
def test_the_refusal_of_a_setting_names_the_one_to_correct(
    kind: str, given: tuple[str, ...], followed: str, tmp_path: Path
) -> None:
    folder = write(DAMAGED[kind], tmp_path / "source")
    options = [text for each in given for text in ("--set", each)]

    assert json.loads(drafted(folder, kind, tmp_path / "plan.json", *options).out)["fix"].startswith(followed)
