"""The transactions of the bundled Flink sample, decided offline: a savepoint of a real job that was killed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import offsetwise
from offsetwise import files, workflow
from offsetwise.approval import demo
from offsetwise.bundled import Bundled
from offsetwise.cli import documents
from offsetwise.console.reader import Reader
from offsetwise.errors import PlanError, UsageError
from offsetwise.model import Settlement, Target
from offsetwise.plan.request import DraftRequest
from offsetwise.progress import no_progress
from tests.commands import call
from tests.subjects import checkpoint
from tests.with_cases import with_cases

SAMPLE = Path(offsetwise.__file__).parent / "sample_flink"
MIGRATION, SINK = SAMPLE / "migration.yaml", SAMPLE / "sink.json"
TO_SINK = Target(kind="sink-transactions")
EXPECTED = {
    "order-audit-0-1": ("COMMIT", True),
    "order-audit-0-2": ("ABORT", False),
    "order-audit-1-1": ("COMMIT", True),
    "order-audit-1-2": ("ABORT", False),
}


def transactions(name: str, *options: str) -> dict[str, Any]:
    ran = call("transactions", name, "--migration", MIGRATION, "--snapshot", SINK, "--json", *options)
    assert ran.code in (0, 2), ran.err
    body: dict[str, Any] = json.loads(ran.out)
    jsonschema.validate(body, documents.schema("transactions"))
    return body


def test_what_the_savepoint_holds_is_committed_and_what_came_later_aborted() -> None:
    body = transactions("order-audit", "--detailed-exitcode")

    assert {row["transactional_id"]: (row["decision"], row["held"]) for row in body["transactions"]} == EXPECTED
    assert {row["broker_state"] for row in body["transactions"]} == {"Ongoing"}
    assert all(0 < int(row["left_ms"]) <= 900_000 for row in body["transactions"])
    assert (body["complete"], body["problems"], body["cluster_id"]) == (True, [], old_id())
    assert body["taken_at"] == workflow.sample_sink().looks.taken_at
    assert [(each["topic"], each["last_stable_offset"]) for each in body["partitions"]] == [("order-audit", "0")] * 2


def test_a_checkpoint_before_a_clean_stop_is_settled_and_other_topics_of_the_snapshot_are_not_its() -> None:
    body = transactions("order-counts-retained")

    held = {row["transactional_id"]: row["decision"] for row in body["transactions"] if row["held"]}
    assert held == {"order-counts-0-6": "SETTLED", "order-counts-1-6": "SETTLED"}
    assert {row["decision"] for row in body["transactions"]} == {"SETTLED", "NOTHING"}
    assert body["partitions"] == []


def test_inspect_lists_what_the_savepoint_holds_with_its_strategy() -> None:
    (stated,) = (each for each in workflow.sample(Bundled.FLINK).checkpoints if each.name == "order-audit")
    ran = call("inspect", stated.uri, "--json")

    held = json.loads(ran.out)["transactions"]
    assert [(each["transactional_id"], each["strategy"], each["schema"], each["state"]) for each in held] == [
        (f"order-audit-{subtask}-1", "INCREMENTING", "v1", "received") for subtask in (0, 1)
    ]


def old_id() -> object:
    return demo.sample_clusters(Bundled.FLINK)[0]


def test_the_snapshot_is_read_as_it_was_written() -> None:
    taken = offsetwise.load_sink_snapshot(SINK)

    assert files.load(files.dump(taken), "sink-snapshot", subject="sink") == taken
    jsonschema.validate(json.loads(SINK.read_text("utf-8")), files.schema("sink-snapshot"))
    assert taken.looks.cluster_id == old_id()
    assert sum(each.records or 0 for each in taken.records) == 2_180, "every order that was written, once"


def test_a_snapshot_of_another_cluster_or_of_other_checkpoints_decides_nothing(tmp_path: Path) -> None:
    migration, taken = workflow.sample(Bundled.FLINK), workflow.sample_sink()
    second = replace(taken.looks.second, answers={})
    for other, told in (
        (replace(taken, name="new"), "expected one of cluster 'old'.*found one of 'new'"),
        (replace(taken, looks=replace(taken.looks, second=second)), "found none about 'order-audit-0-1' and 1 more"),
    ):
        with pytest.raises(UsageError, match=told):
            workflow.sink_transactions(migration, "order-audit", snapshot=other)
    both = call("transactions", "order-audit", "-m", MIGRATION, "--snapshot", SINK, "--out", tmp_path / "s", "--json")
    assert "expected --snapshot or --out, found both" in both.refused()["problem"]


def settled(**changes: Any) -> DraftRequest:
    return replace(DraftRequest(targets=(TO_SINK,), author="ada"), **changes)


def test_the_console_drafts_a_plan_of_the_sample_that_counts_its_records_and_finds_nothing_moved() -> None:
    reader = Reader(())
    name = next(each.name for each in reader.offered() if dict(each.sinks))
    plan = reader.settled(name, checkpoint("order-audit"), settled(), no_progress)

    planned = [(each.transactional_id, each.decision, each.version) for each in plan.transactions]
    assert planned == [
        ("order-audit-0-1", Settlement.COMMIT, 4),
        ("order-audit-1-1", Settlement.COMMIT, 4),
        ("order-audit-0-2", Settlement.ABORT, 5),
        ("order-audit-1-2", Settlement.ABORT, 5),
    ]
    counts = [sum(at.records or 0 for at in each.partitions) for each in plan.transactions]
    assert counts == [930, 950, 150, 150]
    assert demo.sample_of(plan) is Bundled.FLINK
    assert workflow.sample_drift(plan, Bundled.FLINK) == ()


def test_a_plan_of_the_samples_positions_that_ends_transactions_elsewhere_is_not_the_samples() -> None:
    plan = Reader(()).settled("order-counts-to-new (sample)", checkpoint("order-audit"), settled(), no_progress)
    assert plan.requirements.sink is not None
    elsewhere = replace(plan.requirements.sink, cluster_id="another")

    assert demo.sample_of(replace(plan, requirements=replace(plan.requirements, sink=elsewhere))) is None


def test_the_command_line_drafts_from_the_snapshot_and_refuses_commits_that_have_timed_out_since(
    tmp_path: Path,
) -> None:
    ran = call(
        *("draft", "--migration", MIGRATION, "--checkpoint", "order-audit", "--target", "sink-transactions"),
        *("--author", "amy", "--sink-snapshot", SINK, "--out", tmp_path / "plan.json", "--json"),
    )

    assert "TIME_LEFT" in ran.refused()["problem"]
    assert not (tmp_path / "plan.json").exists()


def test_the_copy_of_a_savepoint_is_not_marked_before_its_transactions_are_committed() -> None:
    migration = workflow.sample(Bundled.FLINK)
    observed = workflow.with_sample_snapshots(workflow.sample_comparison("order-audit", Bundled.FLINK), Bundled.FLINK)
    request = DraftRequest(targets=(Target(kind="flink-savepoint"),), author="ada")
    taken = workflow.sample_sink()

    def draft(*, mark: bool) -> Any:
        return workflow.draft(
            migration,
            checkpoint("order-audit"),
            replace(
                request,
                settings=(("mark_settled", "true"),) if mark else (),
                targets=request.targets if mark else (TO_SINK, *request.targets),
            ),
            drafted_at=taken.looks.taken_at,
            comparison=observed,
            sink=taken,
        )

    with pytest.raises(PlanError, match=r"order-audit-0-1.*COMMIT"):
        draft(mark=True)
    gate = {each.name: each for each in draft(mark=False).gate}
    assert "SINK_MOVES_WITH_PENDING" in gate["restore where the sink writes"].told
    assert "2 transactions of them by this plan" in gate["transactions of the sink"].told


@with_cases("key", ["timeout_ms", "start_ms", "taken_ms"])
def test_a_snapshot_with_a_time_that_no_broker_says_is_refused_in_a_sentence(tmp_path: Path, key: str) -> None:
    text = re.sub(rf'("{key}": "?)[0-9]+', rf"\g<1>{10**18}", SINK.read_text(encoding="utf-8"))
    assert str(10**18) in text
    (tmp_path / "sink.json").write_text(text, encoding="utf-8")

    ran = call(
        *("transactions", "order-audit", "--migration", MIGRATION),
        *("--snapshot", tmp_path / "sink.json", "--json"),
    )

    error = ran.refused()
    assert error["error"] == "FileError"
    assert key in error["problem"]
    assert "defect" not in ran.err
