"""Every kind of repair: what the copy has, what it costs, where it is refused, and the way back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

import offsetwise
from offsetwise.apply.writing import StepStanding
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import ClusterError
from offsetwise.model import Checkpoint
from offsetwise.plan.repair.draft import with_repair
from offsetwise.plan.repair.kinds import RepairSettings, repair_kinds, repair_target
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.settings import Settings
from offsetwise.plugins.spark.engine.repairs.kinds import KINDS
from offsetwise.plugins.spark.targets.copy.repairs import SparkRepairSettings
from offsetwise.plugins.spark.targets.copy.spec import TYPE
from offsetwise.position import offset_of
from offsetwise.registry import TARGETS
from offsetwise.workflow.repairing import repaired_checkpoint
from tests.apply.plans import COPY, SHIFT, context, journal, spark_checkpoint, tree_hash
from tests.apply.plans import drafted as moved
from tests.commands import call
from tests.plugins.spark.folders import SAMPLES, checkpoint, orders, write
from tests.plugins.spark.repair.flow import aged, drafted, repaired, taken_back
from tests.toys.target.spec import CsvTarget
from tests.with_cases import with_cases

CASES = SAMPLES.parent / "cases"
ID = "d188985a-ef29-47bf-937e-53c1c76305fe"
LEGACY = '{"orders":{"0":150},"legacy":{"0":155}}'
TWO_LEFT = '{"orders":{"0":150},"legacy":{"0":155},"clicks":{"0":7,"1":9}}'
SHARD = {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": "49680454985066043810059188013317220236513625"}
LINE = '{{"metadata":{{"streamName":"qb","batchId":"{0}"}},"shardId-000000000000":{1}}}'


def _without(files: Mapping[str, bytes], *paths: str) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path not in paths}


def _qubole() -> dict[str, bytes]:
    line = {batch: LINE.format(batch, json.dumps(SHARD, separators=(",", ":"))) for batch in (20, 21, 22)}
    end = json.dumps({"shardId": "shardId-000000000000"} | SHARD, separators=(",", ":")).encode()
    ends = {f"sources/0/shard-commit/{batch}/shardId-000000000000": end for batch in (20, 21)}
    return checkpoint(line, (20, 21, 22), initial={}) | ends


PENDING = checkpoint({3: orders(100), 4: orders(150), 5: orders(180)}, (3, 4))
DAMAGED = {
    "drop-pending-batch": PENDING,
    "remove-damaged-commit": checkpoint({3: orders(100), 4: orders(150), 5: orders(180)}, (3, 4, 5))
    | {"commits/5": b""},
    "drop-batch-after-gap": checkpoint({n: orders(n) for n in (*range(150, 201), 202)}, tuple(range(150, 201))),
    "restore-topic": checkpoint({2: LEGACY, 3: LEGACY, 4: '{"orders":{"0":200}}'}, (2, 3)),
    "restore-metadata": _without(PENDING, "metadata"),
    "rebuild-shard-commit": _qubole(),
}
SETTINGS = {
    "restore-topic": ("--set", "topic=legacy"),
    "restore-metadata": ("--set", f"query_id={ID}"),
}
CHANGED: dict[str, tuple[set[str], set[str], set[str]]] = {
    "drop-pending-batch": (set(), {"offsets/5"}, set()),
    "remove-damaged-commit": (set(), {"commits/5"}, set()),
    "drop-batch-after-gap": (set(), {"offsets/202"}, set()),
    "restore-topic": ({"offsets/4"}, set(), set()),
    "restore-metadata": (set(), set(), {"metadata"}),
    "rebuild-shard-commit": (set(), set(), {"sources/0/shard-commit/22/shardId-000000000000"}),
}
"""Per kind the files of the copy that are others, lacking, and new."""


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _said(error: str) -> str:
    return " ".join(error.split())


@with_cases("kind", KINDS)
def test_a_repair_changes_what_it_says_and_nothing_else(kind: str, tmp_path: Path) -> None:
    folder = aged(write(DAMAGED[kind], tmp_path / "source"))
    before = tree_hash(folder)

    copy, plan = repaired(folder, kind, tmp_path / "work", *SETTINGS.get(kind, ()))
    original, there = _files(folder), _files(copy)

    others = {path for path in original.keys() & there.keys() if original[path] != there[path]}
    assert (others, original.keys() - there.keys(), there.keys() - original.keys()) == CHANGED[kind]
    assert tree_hash(folder) == before
    assert plan["repair"]["kind"] == kind
    assert plan["repair"]["costs"]
    assert plan["targets"] == [{"kind": "spark-checkpoint", "group": None}]
    blocking = {"BATCH_MISSING", "TOPIC_DROPPED", "CHECKPOINT_DAMAGED", "POSITIONS_ELSEWHERE"}
    assert blocking.isdisjoint({problem.code for problem in read_checkpoint(str(copy)).problems})

    ran = taken_back(tmp_path / "work")
    assert ran.code == 0, ran.err
    assert not copy.exists()
    assert tree_hash(folder) == before


@with_cases("kind", KINDS)
def test_a_repair_of_a_whole_checkpoint_is_refused(kind: str, tmp_path: Path) -> None:
    folder = write(checkpoint({3: orders(100), 4: orders(150)}, (3, 4)), tmp_path / "source")
    ran = drafted(folder, kind, tmp_path / "plan.json", *SETTINGS.get(kind, ()))

    assert ran.code == 1
    assert "REPAIR_REFUSED" in ran.out
    assert not (tmp_path / "plan.json").exists()


@with_cases("kind", KINDS)
def test_a_copy_whose_query_has_run_is_not_taken_back(kind: str, tmp_path: Path) -> None:
    folder = aged(write(DAMAGED[kind], tmp_path / "source"))
    copy, _ = repaired(folder, kind, tmp_path / "work", *SETTINGS.get(kind, ()))
    newest = max(int(path.name) for path in (copy / "offsets").iterdir() if path.name.isdigit())
    (copy / "offsets" / str(newest + 1)).write_bytes((copy / "offsets" / str(newest)).read_bytes())

    assert taken_back(tmp_path / "work").code == 1
    assert copy.exists()


@with_cases("kind", KINDS)
def test_a_checkpoint_that_has_moved_on_makes_the_plan_stale(kind: str, tmp_path: Path) -> None:
    folder = aged(write(DAMAGED[kind], tmp_path / "source"))
    plan = offsetwise.repair(
        str(folder), kind, author="ada", settings=dict(t.split("=") for t in SETTINGS.get(kind, ())[1:])
    )
    newest = max(int(path.name) for path in (folder / "offsets").iterdir())
    shutil.copy(folder / "offsets" / str(newest), folder / "offsets" / str(newest + 1))
    plan.save(tmp_path / "plan.json")

    assert call("drift", tmp_path / "plan.json").code == 3
    with pytest.raises(offsetwise.StalePlanError):
        plan.require(plan.apply(output=tmp_path / "copy"))


class _Theirs(RepairSettings):
    kinds = MappingProxyType({"restore-topic": Settings, "mend": Settings})


class _TheirTarget(CsvTarget):
    parameters = _Theirs


def test_the_kinds_are_those_of_the_engine_and_another_targets_are_not_taken_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(SparkRepairSettings.kinds) == list(KINDS)
    monkeypatch.setitem(TARGETS, CsvTarget.name, _TheirTarget)

    assert repair_kinds() == {"mend": Settings, **SparkRepairSettings.kinds}
    assert (repair_target("mend").kind, repair_target("restore-topic").kind) == (CsvTarget.name, "spark-checkpoint")
    refused = drafted(write(PENDING, tmp_path / "source"), "mend", tmp_path / "plan.json")
    assert refused.code == 1
    assert "A Spark checkpoint has no repair 'mend'" in " ".join(refused.out.split())


def test_the_reported_case_leads_to_a_new_checkpoint(tmp_path: Path) -> None:
    ran = drafted(CASES / "spark-38033-gap", "drop-batch-after-gap", tmp_path / "plan.json")

    assert ran.code == 1
    assert "REPAIR_REFUSED" in ran.out
    assert "offsets/113256" in ran.out
    assert "--target seeded-checkpoint" in ran.out


def test_the_costs_count_what_is_read_again(tmp_path: Path) -> None:
    folder = write(PENDING, tmp_path / "source")
    costs = drafted(folder, "drop-pending-batch", tmp_path / "plan.json").answered()["repair"]["costs"]

    assert "up to 30 records" in costs[0]
    assert "batch 5" in costs[1]
    assert costs[2] == "The query keeps no state."


def _stateful(versions: tuple[int, ...]) -> dict[str, bytes]:
    return {f"state/0/0/{version}.delta": b"x" for version in versions}


@with_cases("kind", ["drop-pending-batch", "remove-damaged-commit"])
def test_a_repair_is_refused_where_the_state_is_gone_and_drops_what_is_later(kind: str, tmp_path: Path) -> None:
    whole = DAMAGED[kind] | _stateful((1, 2, 3, 4, 5, 6))
    lost = write(_without(whole, "state/0/0/5.delta"), tmp_path / "lost")
    ran = drafted(lost, kind, tmp_path / "refused.json")

    assert ran.code == 1
    assert "REPAIR_REFUSED" in ran.out
    assert "version 5 of state/0/0 gone" in ran.out

    copy, plan = repaired(aged(write(whole, tmp_path / "whole")), kind, tmp_path / "work")
    assert (copy / "state/0/0/5.delta").exists()
    assert (copy / "state/0/0/6.delta").exists() == (kind == "remove-damaged-commit")
    assert "The state after batch 4 (version 5) is used." in plan["repair"]["costs"]


def test_the_first_batch_pending_begins_again_at_the_initial_offsets(tmp_path: Path) -> None:
    folder = aged(write(checkpoint({0: orders(10)}), tmp_path / "source"))
    copy, _ = repaired(folder, "drop-pending-batch", tmp_path / "work")

    assert read_checkpoint(str(copy)).restart.startswith("No batch has been planned")
    assert taken_back(tmp_path / "work").code == 0


@with_cases("data", [b"", b"v", b"v1\n{", b'v1\n{"nextBatchWatermarkMs":0', b"v1\n[]"])
def test_every_half_written_commit_is_removed(data: bytes, tmp_path: Path) -> None:
    folder = aged(write(DAMAGED["remove-damaged-commit"] | {"commits/5": data}, tmp_path / "source"))
    copy, plan = repaired(folder, "remove-damaged-commit", tmp_path / "work")

    assert read_checkpoint(str(copy)).details.progress.again == 5
    assert "up to 30 records are read twice" in plan["repair"]["costs"][0]


def test_a_topic_that_left_a_committed_batch_is_put_back_as_well(tmp_path: Path) -> None:
    folder = aged(
        write(checkpoint({2: LEGACY, 3: '{"orders":{"0":160}}', 4: '{"orders":{"0":200}}'}, (2, 3, 4)), tmp_path / "a")
    )
    copy, plan = repaired(folder, "restore-topic", tmp_path / "work", "--set", "topic=legacy")

    assert (copy / "offsets/4").read_text().endswith('{"orders":{"0":200},"legacy":{"0":155}}')
    assert "legacy-0 at 155, where batch 2 ended" in plan["repair"]["costs"][0]


@with_cases("end", ["\n", "\r\n"])
@with_cases("last", ['{"orders":{"0":200}}', "-"])
def test_a_topic_is_put_back_into_the_line_of_its_source_wherever_that_is(last: str, end: str, tmp_path: Path) -> None:
    """The lines of version 2 name their sources, and more than four come in the order of their hashes."""
    before = ["1:" + '{"clicks":{"0":7}}', "0:" + '{"legacy":{"0":155}}']
    now = ["1:" + '{"clicks":{"0":9}}', "0:" + last]
    folder = aged(write(checkpoint({2: end.join(before), 3: end.join(now)}, (2, 3), version=2), tmp_path / "a"))
    copy, _ = repaired(folder, "restore-topic", tmp_path / "work", "--set", "topic=legacy")

    body = {} if last == "-" else json.loads(last)
    line = "0:" + json.dumps(body | {"legacy": {"0": 155}}, separators=(",", ":"))
    assert (copy / "offsets/3").read_bytes().endswith(f"{now[0]}{end}{line}".encode())


@with_cases(
    ("kind", "given", "found"),
    [
        ("restore-topic", (), "no topic"),
        ("restore-topic", ("--set", "topic=other"), "No batch in offsets/ has topic 'other'; they have legacy, orders"),
        ("restore-metadata", ("--set", "query_id=none"), "query_id=none"),
        ("drop-pending-batch", ("--set", "topic=legacy"), "'topic'"),
        ("mend", (), "expected one of drop-pending-batch"),
    ],
)
def test_what_a_kind_does_not_take_is_refused(kind: str, given: tuple[str, ...], found: str, tmp_path: Path) -> None:
    folder = write(DAMAGED.get(kind, PENDING), tmp_path / "source")
    ran = drafted(folder, kind, tmp_path / "plan.json", *given)

    assert ran.code == 1
    assert found in json.loads(ran.out)["problem"]
    assert not (tmp_path / "plan.json").exists()


def test_a_checkpoint_of_another_engine_is_refused(tmp_path: Path) -> None:
    ran = drafted(SAMPLES / "flink-1.20", "drop-pending-batch", tmp_path / "plan.json")

    assert ran.code == 1
    assert "REPAIR_REFUSED" in ran.out


@with_cases(
    "kind", ["drop-pending-batch", "drop-batch-after-gap", "restore-topic", "restore-metadata", "remove-damaged-commit"]
)
def test_one_copy_has_the_repair_and_the_new_positions(kind: str, tmp_path: Path) -> None:
    folder = aged(write(DAMAGED[kind], tmp_path / "source"))
    values = dict(text.split("=") for text in SETTINGS.get(kind, ())[1:])
    before, made = repaired_checkpoint(str(folder), kind, values, roots=None)
    overlay = write(_files(folder) | dict(made.replaced), tmp_path / "as-repaired")
    for path in made.dropped:
        (overlay / path).unlink()
    request = DraftRequest(targets=(COPY,), author="ada", repair=kind, settings=tuple(values.items()))
    plan = with_repair(moved(str(overlay)), before, made, request)
    assert plan.requirements.checkpoint is not None
    assert plan.requirements.checkpoint.uri == str(folder)
    with journal(tmp_path) as one:
        step = spark_checkpoint.write(plan, COPY, context(tmp_path, journal=one))
        read, expected = read_checkpoint(step.place), read_checkpoint(str(overlay))

        assert [[(at.topic, at.partition, at.offset) for at in source.positions] for source in read.sources] == [
            [(at.topic, at.partition, offset_of(at.offset) + SHIFT) for at in source.positions]
            for source in expected.sources
        ]
        assert read.details.progress.again == expected.details.progress.again
        assert read.job_id == plan.job_id == (expected.job_id or ID)
        assert spark_checkpoint.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
        assert list(TYPE.disagreements(plan, "ab" * 32, step)) == []
        spark_checkpoint.undo(plan, step, context(tmp_path, journal=one))
    assert not Path(step.place).exists()


def test_a_repair_with_a_migration_moves_what_it_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = aged(write(DAMAGED["drop-batch-after-gap"], tmp_path / "source"))
    seen: list[Checkpoint | None] = []

    def observe(*_: object, repaired: Checkpoint | None = None, **__: object) -> None:
        seen.append(repaired)
        raise ClusterError("No cluster is asked in this test.", fix="")

    monkeypatch.setattr("offsetwise.workflow.planning.compare", observe)
    file = tmp_path / "m.yaml"
    file.write_text(
        f"name: m\nsource: {{properties: {{bootstrap.servers: 'old.invalid:1'}}}}\n"
        f"target: {{properties: {{bootstrap.servers: 'new.invalid:1'}}}}\n"
        f"checkpoints: [{{name: orders, uri: '{folder}'}}]\n"
    )
    given = (
        "--migration",
        file,
        "--checkpoint",
        "orders",
        "--author",
        "ada",
        "--out",
        tmp_path / "plan.json",
        "--json",
    )
    ran = call("draft", *given, "--repair", "drop-batch-after-gap", "--target", "spark-checkpoint")

    assert json.loads(ran.out)["error"] == "ClusterError"
    assert seen[0] is not None
    assert seen[0].restart.startswith("Batch 200 is committed: batch 201 starts at orders-0 at 200")
    ran = call("draft", *given, "--repair", "drop-batch-after-gap", "--target", "starting-offsets")
    assert "expected a repair in a copy" in json.loads(ran.out)["problem"]
    ran = call("draft", *given, "--repair", "drop-pending-batch", "--target", "spark-checkpoint")
    assert "REPAIR_REFUSED" in json.loads(ran.out)["problem"]


def test_what_holds_needs_no_migration_file_and_a_plan_that_moves_needs_one(tmp_path: Path) -> None:
    folder = aged(write(PENDING, tmp_path / "source"))
    assert drafted(folder, "drop-pending-batch", tmp_path / "plan.json").code == 0
    assert call("drift", tmp_path / "plan.json").code == 0

    ran = call("draft", "--checkpoint", folder, "--author", "ada", "--out", tmp_path / "other.json", "--json")
    assert ran.code == 1
    assert "expected --migration and --target, or --set repair=KIND and --checkpoint" in json.loads(ran.out)["problem"]
