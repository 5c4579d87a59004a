"""The offsets of a connector are written while it is stopped, where they lie inside the new log, read back, undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise import files, workflow
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.reversal import rollback
from offsetwise.apply.run import dry_run
from offsetwise.apply.verification import verify
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import (
    ApplyError,
    GroupActiveError,
    LostReplyError,
    OffsetwiseError,
    PlanError,
    RunningQueryError,
    StalePlanError,
)
from offsetwise.model import Cluster, Comparison, Plan, StepState, Turnout
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.strategies import judge_strategies, targets_of
from offsetwise.plan.target import target_type
from offsetwise.plugins.connect.section import ConnectConfig, new_connector
from tests.plan import scene
from tests.plugins.connect.connectors import AFTER, BEFORE, TARGET, WRITTEN, Stage, clusters, stage
from tests.plugins.connect.service import Handler, hangs_up, says, serving
from tests.with_cases import with_cases


@pytest.fixture
def staged(tmp_path: Path) -> Iterator[Stage]:
    old, new = clusters()
    with serving(old, new) as (there, here):
        yield stage(tmp_path, old, new, there, here)


def test_it_is_written_read_back_verified_and_rolled_back(staged: Stage) -> None:
    shown = dry_run(staged.order(), staged.tools())
    assert staged.new.changes == []
    assert shown.previews[0].told == "2 offsets of connector 'moved' would be written by PATCH."
    staged.apply()

    assert staged.sink.offsets == AFTER
    assert [method for method, _ in staged.new.changes] == ["PATCH"]
    receipt = read_receipt(staged.receipt)
    seen = verify(receipt, staged.world, verified_at="2026-11-21T12:00:00Z")
    assert {each.turnout for each in seen.positions} == {Turnout.CONFIRMED}
    (step,) = rollback(staged.back(), staged.tools())
    assert step.state is StepState.UNDONE
    assert staged.sink.offsets == BEFORE


def test_a_connector_without_offsets_is_left_without_any(staged: Stage) -> None:
    staged.sink.offsets.clear()
    staged.review()
    staged.apply()
    rollback(staged.back(), staged.tools())

    assert staged.sink.offsets == {}
    assert [method for method, _ in staged.new.changes] == ["PATCH", "DELETE"]


def test_what_is_reviewed_says_which_connector_where_and_its_offsets(staged: Stage) -> None:
    (target,) = staged.plan.requirements.targets

    assert target.before["connector"] == new_connector(staged.migration, "moved").address.uri
    assert target.before["Kafka cluster"] == "id-of-new"
    assert {key: value for key, value in target.before.items() if isinstance(value, int)} == {
        "orders-0": 3,
        "kept-0": 9,
    }


def _running(staged: Stage) -> None:
    staged.sink.state = "RUNNING"


def _other_offset(staged: Stage) -> None:
    staged.sink.offsets["orders", 0] = 4


def _other_kafka(staged: Stage) -> None:
    staged.new.kafka = "id-of-old"


def _gone(staged: Stage) -> None:
    del staged.new.connectors["moved"]


def _source_runs(staged: Stage) -> None:
    staged.old.connectors["sink"].state = "RUNNING"


def _source_went_on(staged: Stage) -> None:
    staged.old.connectors["sink"].offsets["orders", 0] += 1


def _shorter_log(staged: Stage) -> None:
    staged.world.change_logs(Cluster.NEW, hw=10, lso=10)


def _expired(staged: Stage) -> None:
    staged.world.change_logs(Cluster.NEW, log_start=5_000)


NOT_NOW: dict[str, tuple[Callable[[Stage], None], str]] = {
    "the new connector runs": (_running, "found moved RUNNING"),
    "the new connector was changed": (_other_offset, "orders-0: reviewed 3, now 4"),
    "the new workers are on another Kafka": (_other_kafka, "Kafka cluster: reviewed id-of-new, now id-of-old"),
    "the new connector is gone": (_gone, "found HTTP 404"),
    "the old connector runs again": (_source_runs, "SHA-256: reviewed"),
    "the old connector went on": (_source_went_on, "SHA-256: reviewed"),
    "the new log is shorter": (_shorter_log, "log end: reviewed"),
    "the new log begins later": (_expired, "log start: reviewed"),
}


@with_cases("name", NOT_NOW)
def test_nothing_is_written_where_something_is_not_as_it_was_reviewed(name: str, staged: Stage) -> None:
    change, told = NOT_NOW[name]
    change(staged)

    with pytest.raises(OffsetwiseError) as caught:
        staged.apply()

    assert told in caught.value.problem
    assert staged.new.changes == []


WRITER: dict[str, tuple[Callable[[Stage], None], type[OffsetwiseError], str]] = {
    "it runs": (_running, RunningQueryError, "expected a sink connector that is stopped, found moved RUNNING"),
    "it was changed": (_other_offset, StalePlanError, "orders-0 at 4, reviewed 3"),
    "other workers": (_other_kafka, StalePlanError, "expected workers on the Kafka cluster id-of-new as reviewed"),
    "a shorter log": (_shorter_log, StalePlanError, "orders-0 at 1,053, and the log has 0 to 10"),
    "a later log": (_expired, StalePlanError, "orders-0 at 1,053, and the log has 5,000 to 100,000"),
}


@with_cases("name", WRITER)
def test_the_writer_looks_again_right_before_it_writes(name: str, staged: Stage) -> None:
    change, kind, told = WRITER[name]
    change(staged)

    with pytest.raises(kind) as caught:
        staged.prepare()

    assert told in caught.value.problem
    assert staged.new.changes == []


def test_a_group_with_members_is_not_written_to(staged: Stage) -> None:
    staged.members = "Stable"

    with pytest.raises(GroupActiveError, match="found the group Stable"):
        staged.prepare()


def test_a_group_with_other_offsets_shows_that_the_connector_reads_another_cluster(staged: Stage) -> None:
    staged.commits = {}

    with pytest.raises(ApplyError, match="it has kept-0 at nothing, there 9; orders-0 at nothing, there 3"):
        staged.apply()

    assert staged.new.changes == []


def test_a_group_that_does_not_get_the_offsets_shows_it_after_the_change(staged: Stage) -> None:
    staged.sink.offsets.clear()
    staged.review()
    staged.commits = {}

    with pytest.raises(ApplyError, match="orders-0 at nothing; orders-1 at nothing after they were written") as caught:
        staged.apply()

    assert "offsetwise rollback" in caught.value.fix
    rollback(staged.back(journal=True), staged.tools())
    assert staged.sink.offsets == {}


def written_and(bad: Callable[[Handler], None]) -> Callable[[Handler], None]:
    """Do what is asked, and answer otherwise."""

    def done(handler: Handler) -> None:
        handler.server.cluster.connectors["moved"].offsets.update(WRITTEN)
        bad(handler)

    return done


@with_cases("bad", ["no answer", "500"])
def test_a_lost_answer_is_known_as_lost_and_the_same_command_goes_on(bad: str, staged: Stage) -> None:
    staged.new.bad["PATCH", "/offsets"] = written_and({"no answer": hangs_up, "500": says(500)}[bad])
    with pytest.raises(LostReplyError, match="not known"):
        staged.apply()
    staged.new.bad.clear()

    staged.apply()

    assert staged.sink.offsets == AFTER


@with_cases("status", [400, 401, 404, 409])
def test_a_refused_change_has_changed_nothing(status: int, staged: Stage) -> None:
    staged.new.bad["PATCH", "/offsets"] = says(status, {"message": "no"})

    with pytest.raises(ApplyError, match=f"HTTP {status}, 'no'. Nothing was changed."):
        staged.apply()

    assert staged.sink.offsets == BEFORE


def test_offsets_that_are_not_there_after_the_change_are_said(staged: Stage) -> None:
    staged.new.bad["PATCH", "/offsets"] = says(200, {"message": "altered"})

    with pytest.raises(LostReplyError, match="expected the offsets as written, found orders-0 at 3"):
        staged.apply()


def test_it_is_put_back_by_a_worker_of_another_address_and_not_written_by_one(staged: Stage) -> None:
    with serving(staged.new) as (other,):
        elsewhere = staged.at(other)
        with pytest.raises(StalePlanError, match="connector: reviewed connect"):
            elsewhere.apply()
        staged.apply()
        rollback(elsewhere.back(migration=elsewhere.migration), elsewhere.tools())

    assert staged.sink.offsets == BEFORE


def test_a_worker_that_is_away_after_the_change_leaves_it_unknown_and_the_same_command_goes_on(staged: Stage) -> None:
    def away(handler: Handler) -> None:
        handler.server.cluster.bad["GET", "/status"] = says(500)
        handler.server.cluster.connectors["moved"].offsets.update(WRITTEN)
        handler.answer(200, {"message": "altered"})

    staged.new.bad["PATCH", "/offsets"] = away
    with pytest.raises(LostReplyError, match="could not be read back"):
        staged.apply()
    assert staged.sink.offsets == AFTER
    staged.new.bad.clear()

    staged.apply()
    rollback(staged.back(), staged.tools())

    assert staged.sink.offsets == BEFORE


def test_a_connector_that_has_gone_on_is_not_put_back(staged: Stage) -> None:
    staged.apply()
    staged.sink.offsets["orders", 0] += 5

    with pytest.raises(ApplyError, match="found others: orders-0 at 1,058, neither 1,053 nor 3"):
        rollback(staged.back(), staged.tools())
    seen = verify(read_receipt(staged.receipt), staged.world, verified_at="2026-11-21T12:00:00Z")
    assert {each.turnout for each in seen.positions} == {Turnout.CONFIRMED, Turnout.MOVED_ON}


def test_a_connector_that_runs_is_verified_by_its_group(staged: Stage) -> None:
    staged.apply()
    staged.sink.state, staged.sink.tasks = "RUNNING", 1
    for at in WRITTEN:
        staged.sink.offsets[at] += 1
    seen = verify(read_receipt(staged.receipt), staged.world, verified_at="2026-11-21T12:00:00Z")

    assert {each.turnout for each in seen.positions} == {Turnout.MOVED_ON}
    assert seen.started


def test_a_connector_that_manages_offsets_of_its_own_is_said_in_the_receipt(staged: Stage) -> None:
    staged.new.message = "However, if this connector manages offsets externally, they will need to be altered."
    staged.apply()

    assert "may keep offsets of its own" in read_receipt(staged.receipt).steps[0].told


def test_it_is_the_first_way_of_a_connector_and_of_nothing_else(staged: Stage) -> None:
    read = staged.world.checkpoint(staged.plan.requirements.checkpoint.uri)  # type: ignore[union-attr] # it has one
    kept = replace(read.sources[0], positions=read.sources[0].positions[:1])
    rows = (replace(row, source=kept.id) for row in scene.rows({}))
    ways = judge_strategies(scene.comparison(*rows, checkpoint=replace(read, sources=(kept,))), scene.migration())

    assert ways[0].kind.name == "connector"
    assert "connector" not in {way.kind.name for way in judge_strategies(scene.comparison(), scene.migration())}
    with pytest.raises(PlanError, match="read from no connector of Kafka Connect"):
        scene.drafted(scene.comparison(), TARGET)


def test_a_plan_is_not_drafted_for_a_connector_that_runs(staged: Stage) -> None:
    _running(staged)

    with pytest.raises(PlanError, match="found moved RUNNING, whose offsets are not known"):
        target_type(TARGET.kind).before_of(staged.migration, TARGET, ())


def _compared(staged: Stage) -> Comparison:
    """Return the comparison of the connector's first partition."""
    read = read_checkpoint(staged.migration.entries_of(ConnectConfig)[0].address.uri)
    kept = replace(read.sources[0], positions=read.sources[0].positions[:1])
    rows = tuple(replace(row, source=kept.id) for row in scene.rows({}))
    compared = scene.comparison(*rows, checkpoint=replace(read, sources=(kept,)))
    snapshots = scene.snapshot(Cluster.OLD, rows), scene.snapshot(Cluster.NEW, rows)
    return replace(compared, read_from=snapshots)


@with_cases("stopped", [True, False])
def test_what_was_read_with_a_comparison_is_what_a_later_draft_says(staged: Stage, stopped: bool) -> None:
    staged.sink.state = "STOPPED" if stopped else "RUNNING"
    compared = _compared(staged)
    (before,) = [way for way in judge_strategies(compared, scene.migration()) if way.kind.name == "connector"]
    assert not before.drafts, "nobody has read a connector yet"

    compared = workflow.with_services(staged.migration, compared)
    staged.sink.state, staged.sink.offsets = "STOPPED", {}

    (way,) = [way for way in judge_strategies(compared, scene.migration()) if way.kind.name == "connector"]
    assert way.drafts
    assert targets_of(way.kind, compared, compared.snapshots[1]) == (TARGET,)
    request = DraftRequest(targets=(TARGET,), author="ann")

    def draft() -> Plan:
        return workflow.draft(scene.migration(), None, request, drafted_at=scene.AT, comparison=compared)

    if stopped:
        (target,) = draft().requirements.targets
        assert {key: value for key, value in target.before.items() if isinstance(value, int)} == {
            "orders-0": 3,
            "kept-0": 9,
        }, "as it was read, not as it is now"
        return
    with pytest.raises(PlanError, match="found moved RUNNING, whose offsets are not known") as refused:
        draft()
    assert refused.value.fix.endswith("Compare again, so that it is read anew.")


def test_what_was_read_of_connectors_is_no_part_of_a_comparisons_file(staged: Stage) -> None:
    compared = workflow.with_services(staged.migration, _compared(staged))
    assert [read.name for read in compared.services] == ["moved"]

    assert "services" not in files.dump(compared)
