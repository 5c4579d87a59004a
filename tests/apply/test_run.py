"""Applying a plan: in order, from any prefix, once, and taken back whole."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from offsetwise import files
from offsetwise.apply import reversal
from offsetwise.apply.disk import Disk
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.run import Applied, apply, dry_run, require_held
from offsetwise.cli.render import applied as render_apply
from offsetwise.config import Migration
from offsetwise.errors import (
    ApplyError,
    FileError,
    LostReplyError,
    NotApprovedError,
    OffsetwiseError,
    PlanError,
    StalePlanError,
)
from offsetwise.model import Cluster, GroupState, Outcome, ReceiptStep, StepState, Target
from tests.apply.faults import FaultyDisk, UnsyncedDisk
from tests.apply.plans import COPY, IN_PLACE, STARTING, files_of, tree_hash
from tests.apply.test_recheck import DRIFT, GONE, UNREADABLE
from tests.apply.worlds import GROUP, NOW, TO_GROUP, Stage, stage
from tests.gates import FULL
from tests.with_cases import with_cases

KINDS = {
    "copy and group": (COPY, TO_GROUP),
    "in place and group": (IN_PLACE, TO_GROUP),
    "group": (TO_GROUP,),
    "group first": (TO_GROUP, COPY),
}
CANARY = "hunter2-canary"


def run(staged: Stage, disk: Disk | None = None) -> Applied:
    return apply(staged.order(), staged.receipt, staged.tools(disk))


def rollback(staged: Stage, *, journal: bool = False) -> tuple[ReceiptStep, ...]:
    return reversal.rollback(staged.back(journal=journal), staged.tools())


def world(staged: Stage) -> tuple[str, object]:
    """Everything that a plan could have changed."""
    return tree_hash(staged.folder), staged.groups.at()


class TestApplying:
    @with_cases("kind", KINDS)
    def test_writes_every_target_and_a_receipt(self, tmp_path: Path, kind: str) -> None:
        staged = stage(tmp_path, *KINDS[kind])

        made = run(staged).receipt

        assert [step.target for step in made.steps] == list(KINDS[kind])
        assert {step.state for step in made.steps} == {StepState.DONE}
        assert read_receipt(staged.receipt) == made
        assert made.approvers[0].subject == "reviewer@example.org"
        assert {offset for offset, _ in staged.groups.at().values()} == {p.new_offset for p in staged.plan.positions}

    def test_several_files_have_places_of_their_own_in_the_output(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, COPY, STARTING)

        places = [step.place for step in run(staged).receipt.steps]

        assert places == [f"{staged.output}/spark-checkpoint", f"{staged.output}/starting-offsets"]

    def test_asks_for_approval_before_it_looks_at_anything(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        DRIFT["another new cluster"](staged)
        before = world(staged)

        with pytest.raises(NotApprovedError):
            apply(staged.order(approved=False), staged.receipt, staged.tools())
        assert world(staged) == before

    @with_cases("drift", DRIFT)
    def test_a_stale_plan_writes_nothing_at_all(self, tmp_path: Path, drift: str) -> None:
        staged = stage(tmp_path)
        DRIFT[drift](staged)
        before = world(staged)

        with pytest.raises(StalePlanError):
            run(staged)
        assert world(staged) == before
        assert staged.groups.commits == []

    @with_cases("what", UNREADABLE)
    def test_what_cannot_be_read_again_writes_nothing_at_all(self, tmp_path: Path, what: str) -> None:
        staged = stage(tmp_path)
        UNREADABLE[what](staged)
        before = world(staged)

        with pytest.raises(ApplyError):
            run(staged)
        assert world(staged) == before

    @with_cases("what", GONE)
    def test_a_proof_that_cannot_be_made_again_writes_nothing_at_all(self, tmp_path: Path, what: str) -> None:
        staged = stage(tmp_path)
        GONE[what](staged)
        before = world(staged)

        with pytest.raises(StalePlanError, match="PROOF_NOT_REPEATED"):
            run(staged)
        assert world(staged) == before

    def test_a_plan_of_another_migration_is_refused(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        staged.migration = staged.migration.model_copy(update={"name": "other"})

        with pytest.raises(PlanError, match="'other'"):
            run(staged)

    @with_cases("inside", ["source", "out/copy"])
    def test_a_receipt_inside_what_is_read_or_written_is_refused(self, tmp_path: Path, inside: str) -> None:
        staged = stage(tmp_path)
        place = tmp_path / inside / "receipt.json"

        with pytest.raises(ApplyError, match="outside the checkpoint"):
            apply(staged.order(), str(place), staged.tools())

    def test_a_target_twice_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ApplyError, match="twice"):
            run(stage(tmp_path, COPY, COPY))


class TestADryRun:
    def test_says_every_number_and_writes_nothing(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        before = world(staged)

        made = dry_run(staged.order(approved=False), staged.tools())

        assert world(staged) == before
        assert made.changes
        copy, group = made.previews
        numbers = {(n.before, n.after) for file in copy.files for n in file.numbers}
        assert {(p.old_offset, p.new_offset) for p in staged.plan.positions} <= numbers
        assert {each.offset for each in group.offsets} == {p.new_offset for p in staged.plan.positions}

    def test_of_a_stale_plan_shows_what_changed_and_no_diff(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        DRIFT["log start passed the place"](staged)

        made = dry_run(staged.order(), staged.tools())
        assert made.previews == ()
        assert not made.changes

    def test_of_a_plan_half_applied_says_where_it_stands_and_takes_its_own_work_for_no_drift(
        self, tmp_path: Path
    ) -> None:
        staged = stage(tmp_path, IN_PLACE, TO_GROUP, STARTING)
        staged.output = str(tmp_path / "starting")
        half_applied(staged)
        before = world(staged)

        made = dry_run(staged.order(approved=False), staged.tools(), staged.receipt)

        assert [(one.step.target, one.done) for one in made.begun] == [(IN_PLACE, True), (TO_GROUP, False)]
        assert {each.outcome for each in made.held} == {Outcome.PASSED}
        assert [each.target for each in made.previews] == [STARTING], "what is not begun yet"
        assert made.changes
        assert world(staged) == before
        told = printed(lambda console: render_apply.dry_run(console, made))
        assert "spark-checkpoint-in-place: written by an earlier call; now as written." in told
        assert "consumer-group:etl: begun, not finished by an earlier call; now" in told
        assert "The same command with --execute continues from there." in told

        assert {step.state for step in run(staged).receipt.steps} == {StepState.DONE}

    def test_of_a_plan_that_is_applied_says_so(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        run(staged)

        made = dry_run(staged.order(), staged.tools(), staged.receipt)

        assert [one.done for one in made.begun] == [True, True]
        assert not made.changes
        assert "nothing is left to write" in printed(lambda console: render_apply.dry_run(console, made))

    def test_with_the_journal_of_another_plan_is_refused_as_writing_would_be(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        half_applied(staged)
        staged.plan = replace(staged.plan, author="b")

        for tried in (lambda: dry_run(staged.order(), staged.tools(), staged.receipt), lambda: run(staged)):
            with pytest.raises(ApplyError, match="expected the journal of plan"):
                tried()


class TestARefusalToGoOn:
    """What an earlier call wrote stands there: nothing says that nothing was written."""

    def test_after_the_approval_expired(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        half_applied(staged)
        before = world(staged)
        later = replace(staged.tools(), now=lambda: NOW + timedelta(days=60))

        with pytest.raises(NotApprovedError, match="it expired at") as caught:
            apply(staged.order(), staged.receipt, later)

        tells_of_earlier(staged, caught.value)
        assert world(staged) == before

    @with_cases("drift", ["another new cluster", "log start passed the place"])
    def test_after_the_world_changed(self, tmp_path: Path, drift: str) -> None:
        staged = stage(tmp_path)
        half_applied(staged)
        DRIFT[drift](staged)
        made = dry_run(staged.order(), staged.tools(), staged.receipt)

        with pytest.raises(StalePlanError) as caught:
            run(staged)
        tells_of_earlier(staged, caught.value)
        with pytest.raises(StalePlanError) as caught:
            require_held(staged.order(), made, staged.receipt)
        tells_of_earlier(staged, caught.value)

    def test_with_another_migration(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        half_applied(staged)
        staged.migration = staged.migration.model_copy(update={"name": "other"})

        with pytest.raises(PlanError) as caught:
            run(staged)
        tells_of_earlier(staged, caught.value)

    def test_with_a_journal_that_cannot_be_read_says_that_it_cannot_be_told(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        half_applied(staged)
        path = Path(f"{staged.receipt}.journal")
        path.write_bytes(path.read_bytes().replace(b"begun", b"bogus"))

        with pytest.raises(NotApprovedError, match="What an earlier call wrote is unknown") as caught:
            apply(staged.order(approved=False), staged.receipt, staged.tools())
        assert caught.value.problem.startswith("This call: ")

    def test_after_all_was_taken_back_nothing_is_told_to_stand(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        half_applied(staged)
        rollback(staged, journal=True)

        with pytest.raises(NotApprovedError, match=r"Nothing was written\."):
            apply(staged.order(approved=False), staged.receipt, staged.tools())


def half_applied(staged: Stage) -> None:
    """Apply until the group refuses a partition."""
    staged.groups.refuse = {sorted(staged.groups.at())[0]: "its leader is changing"}
    with pytest.raises(ApplyError):
        run(staged)


def tells_of_earlier(staged: Stage, error: OffsetwiseError) -> None:
    refusal, _, earlier = error.problem.partition(" Nothing was written. ")
    assert refusal.startswith("This call: ")
    assert "Nothing was written" not in earlier
    assert f"Written by an earlier call: A copy of {staged.source} is at {staged.output}" in earlier
    assert "Begun by an earlier call and not finished: consumer-group:etl at etl." in earlier
    assert f"offsetwise rollback {staged.receipt}.journal" in error.fix


def printed(show: Callable[[Console], None]) -> str:
    out = io.StringIO()
    show(Console(file=out, width=400))
    return out.getvalue()


class TestAStepThatFails:
    def test_says_what_stands_where_and_is_gone_on_from(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        key = sorted(staged.groups.at())[0]
        staged.groups.refuse = {key: "its leader is changing"}

        with pytest.raises(ApplyError) as caught:
            run(staged)
        assert "Target 2 of 2, consumer-group:etl" in caught.value.problem
        assert f"Written before it: A copy of {staged.source} is at" in caught.value.problem
        assert f"offsetwise rollback {staged.receipt}.journal" in caught.value.fix
        assert not Path(staged.receipt).exists()

        assert {step.state for step in run(staged).receipt.steps} == {StepState.DONE}

    def test_is_taken_back_from_the_journal_alone(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        group = staged.groups.at()
        staged.groups.refuse = {sorted(group)[0]: "its leader is changing"}
        with pytest.raises(ApplyError):
            run(staged)

        assert {step.state for step in rollback(staged, journal=True)} == {StepState.UNDONE}
        assert not Path(staged.output or "").exists()
        assert staged.groups.at() == group

    def test_keeps_its_kind_of_error(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, COPY, TO_GROUP)
        out = Path(staged.output or "")
        out.mkdir(parents=True)
        (out / "mine").write_text("x")

        with pytest.raises(OffsetwiseError, match="Not begun: consumer-group:etl") as caught:
            run(staged)
        assert type(caught.value).__name__ == "OutputError"
        assert files_of(out) == {"mine": b"x"}


def some_of(calls: int) -> list[int]:
    """Every call in the full gates, else those at both ends and some between."""
    return [at for at in range(1, calls + 1) if FULL or at < 8 or at > calls - 12 or at % 9 == 0]


class _StopError(BaseException):
    """As a signal would."""


@with_cases("kind", KINDS)
def test_any_prefix_is_gone_on_from_to_the_same_end(tmp_path: Path, kind: str) -> None:
    """Every call to the disk fails once, and every commit before and after it was done."""
    (tmp_path / "whole").mkdir()
    whole = stage(tmp_path / "whole", *KINDS[kind])
    counting = FaultyDisk()
    end = run(whole, counting).receipt
    for at in some_of(counting.calls):
        folder = tmp_path / str(at)
        folder.mkdir()
        staged = stage(folder, *KINDS[kind])
        # A disk that cannot share blocks is not at an end: then it copies.
        with suppress(OffsetwiseError):
            run(staged, FaultyDisk(at=at))
        again = run(staged, UnsyncedDisk()).receipt
        assert _shape(again.steps, staged) == _shape(end.steps, whole), f"after call {at}"
        assert staged.groups.at() == whole.groups.at()
        assert read_receipt(staged.receipt).steps == again.steps


def _shape(steps: tuple[ReceiptStep, ...], staged: Stage) -> list[object]:
    """What was written, without the names that differ from run to run."""
    return [
        (
            step.target,
            step.place.replace(str(staged.folder), ""),
            step.state,
            [(file.path, file.sha256, file.before_sha256) for file in step.files],
            step.offsets,
        )
        for step in steps
    ]


@with_cases("arrived", [0, 1, None])
def test_a_run_that_dies_in_a_commit_is_gone_on_from(tmp_path: Path, arrived: int | None) -> None:
    staged = stage(tmp_path)

    def dies(_: object) -> None:
        staged.groups.on_commit = None
        offsets = staged.groups.commits[-1]
        for one in offsets[: len(offsets) if arrived is None else arrived]:
            held = staged.groups.offsets[GROUP]
            held[one.topic_partition] = one
        raise _StopError

    staged.groups.on_commit = dies
    with pytest.raises(_StopError):
        run(staged)

    assert {step.state for step in run(staged).receipt.steps} == {StepState.DONE}
    assert {offset for offset, _ in staged.groups.at().values()} == {p.new_offset for p in staged.plan.positions}


class TestTheSameCallAgain:
    def test_after_the_end_writes_nothing_and_says_what_stands_there(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        first = run(staged).receipt
        before, commits = world(staged), len(staged.groups.commits)

        again = run(staged)

        assert again.receipt == first
        assert [seen.standing for seen in again.already] == ["as written", "as written"]
        assert (world(staged), len(staged.groups.commits)) == (before, commits)

    def test_with_the_receipt_of_another_plan_is_refused(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        run(staged)
        staged.plan = replace(staged.plan, strategy="another")

        with pytest.raises(ApplyError, match="that of plan"):
            run(staged)
        Path(f"{staged.receipt}.journal").unlink()
        with pytest.raises(ApplyError, match="expected no receipt, or that of plan"):
            run(staged)

    def test_after_a_rollback_is_refused(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        run(staged)
        rollback(staged)
        before = world(staged)

        with pytest.raises(ApplyError, match="rolled back"):
            run(staged)
        assert world(staged) == before

    def test_after_a_rollback_that_did_not_end_is_refused(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, TO_GROUP)
        run(staged)
        staged.groups.lose, staged.groups.arrives = (lambda: None), 1
        with pytest.raises(LostReplyError):
            rollback(staged)
        before = world(staged)

        with pytest.raises(ApplyError, match="rolled back in part"):
            run(staged)
        assert world(staged) == before
        assert {step.state for step in rollback(staged)} == {StepState.UNDONE}

    def test_with_another_receipt_is_stale_because_the_group_is_written(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, TO_GROUP)
        run(staged)

        with pytest.raises(StalePlanError):
            apply(staged.order(), str(tmp_path / "other.json"), staged.tools())


class TestARollback:
    @with_cases("kind", KINDS)
    def test_leaves_everything_as_it_was_and_twice_is_once(self, tmp_path: Path, kind: str) -> None:
        staged = stage(tmp_path, *KINDS[kind])
        source, group = tree_hash(staged.source), dict(staged.groups.offsets[GROUP])
        run(staged)

        steps = rollback(staged)

        assert {step.state for step in steps} == {StepState.UNDONE}
        assert tree_hash(staged.source) == source
        assert staged.groups.offsets[GROUP] == group
        assert not Path(staged.output or "").exists()
        assert rollback(staged) == steps

    def test_without_its_journal_puts_back_what_was_reviewed_and_says_what_it_cannot(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, IN_PLACE, TO_GROUP)
        source, group = files_of(staged.source), dict(staged.groups.offsets[GROUP])
        run(staged)
        Path(f"{staged.receipt}.journal").unlink()

        steps = rollback(staged)

        assert {step.state for step in steps} == {StepState.UNDONE}
        assert files_of(staged.source) == source
        reviewed = {key: replace(each, leader_epoch=None, metadata="") for key, each in group.items()}
        assert staged.groups.offsets[GROUP] == reviewed
        assert "Without metadata: only the journal of the application has it." in steps[1].told

    @with_cases("kind", KINDS)
    def test_is_gone_on_from_any_prefix(self, tmp_path: Path, kind: str) -> None:
        (tmp_path / "whole").mkdir()
        whole = stage(tmp_path / "whole", *KINDS[kind])
        run(whole, UnsyncedDisk())
        counting = FaultyDisk()
        reversal.rollback(whole.back(), whole.tools(counting))
        for at in some_of(counting.calls):
            folder = tmp_path / str(at)
            folder.mkdir()
            staged = stage(folder, *KINDS[kind])
            source, group = files_of(staged.source), staged.groups.at()
            run(staged, UnsyncedDisk())
            with pytest.raises(OffsetwiseError):
                reversal.rollback(staged.back(), staged.tools(FaultyDisk(at=at)))
            steps = reversal.rollback(staged.back(), staged.tools(UnsyncedDisk()))
            assert {step.state for step in steps} == {StepState.UNDONE}, f"after call {at}"
            assert files_of(staged.source) == source
            assert staged.groups.at() == group

    def test_that_fails_says_what_is_back_and_what_is_not(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, TO_GROUP, COPY)
        run(staged)
        staged.groups.state = "Stable"

        with pytest.raises(ApplyError, match=r"Target 1 of 2.*Taken back before it: .*is gone"):
            rollback(staged)

    @with_cases("kind", [COPY, IN_PLACE, TO_GROUP], ids=str)
    def test_is_looked_at_again_and_not_believed(self, tmp_path: Path, kind: Target) -> None:
        """Somebody else writes there right after it was put back."""
        staged = stage(tmp_path, kind)
        step = run(staged).receipt.steps[0]

        class Meanwhile(UnsyncedDisk):
            def remove_tree(self, path: str) -> None:
                super().remove_tree(path)
                place = Path(step.place) / step.files[0].path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(b"theirs")

        original, reads = staged.groups.one, iter(range(10))

        def one(group: str) -> GroupState:
            if next(reads) == 2:
                held = staged.groups.offsets[GROUP]
                held |= {key: replace(each, offset=99) for key, each in held.items()}
            return original(group)

        staged.groups.one = one  # type: ignore[method-assign]

        with pytest.raises(ApplyError, match="looked at again it is not as before"):
            reversal.rollback(staged.back(), staged.tools(Meanwhile()))

    def test_with_another_migration_or_cluster_is_refused(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        run(staged)
        before = world(staged)
        staged.world.change(Cluster.NEW, cluster_id="other")

        other = staged.migration.model_copy(update={"name": "other"})
        for journal in (False, True):
            with pytest.raises(ApplyError, match="id other"):
                rollback(staged, journal=journal)
            with pytest.raises(ApplyError, match="migration 'other'"):
                reversal.rollback(staged.back(journal=journal, migration=other), staged.tools())
        assert world(staged) == before

    def test_of_something_else_is_refused(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        for journal in (False, True):
            with pytest.raises((FileError, ApplyError), match=r"receipt\.json"):
                rollback(staged, journal=journal)

    def test_with_the_journal_of_another_plan_is_refused(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        run(staged)
        path = Path(f"{staged.receipt}.journal")
        path.write_text(path.read_text().replace(staged.order().digest, "ab" * 32))
        before = world(staged)

        with pytest.raises(ApplyError, match="found that of plan abababababab"):
            rollback(staged)
        assert world(staged) == before

    def test_from_a_journal_that_lost_a_step_is_refused(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        run(staged)
        path = Path(f"{staged.receipt}.journal")
        path.write_text("".join(line for line in path.read_text().splitlines(True) if '"step":0' not in line))
        before = world(staged)

        with pytest.raises(
            ApplyError, match=r"expected every step up to 1, found none numbered 0\. Nothing was changed"
        ):
            rollback(staged, journal=True)
        assert world(staged) == before

    def test_of_a_group_that_did_not_exist_leaves_none(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, TO_GROUP, absent=range(1_000))
        run(staged)

        assert {step.state for step in rollback(staged)} == {StepState.UNDONE}
        assert staged.groups.at() == {}

    def test_is_looked_at_before_it_is_done(self, tmp_path: Path) -> None:
        staged = stage(tmp_path)
        run(staged)
        before = world(staged)

        found = reversal.preview(staged.back(), staged.tools())

        assert [seen.standing for seen in found.seen] == ["as written", "as written"]
        journal = Path(f"{staged.receipt}.journal")
        assert reversal.preview(staged.back(journal=True), staged.tools()).seen == found.seen
        assert world(staged) == before

        with journal.open("ab") as torn:
            torn.write(b'{"event": "undo')
        torn_tree = tree_hash(tmp_path)
        assert reversal.preview(staged.back(journal=True), staged.tools()).seen == found.seen
        assert tree_hash(tmp_path) == torn_tree, "nor does it mend a torn line"


@with_cases("kind", ["copy and group", "in place and group"])
def test_of_many_that_apply_one_plan_one_writes(tmp_path: Path, kind: str) -> None:
    for round_ in range(4):
        folder = tmp_path / str(round_)
        folder.mkdir()
        staged = stage(folder, *KINDS[kind])
        won: list[Applied] = []
        lost: list[BaseException] = []

        def one(staged: Stage = staged, won: list[Applied] = won, lost: list[BaseException] = lost) -> None:
            try:
                won.append(run(staged, UnsyncedDisk()))
            except OffsetwiseError as error:
                lost.append(error)

        threads = [threading.Thread(target=one) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len([each for each in won if not each.already]) == 1
        assert len(staged.groups.commits) == 1
        assert len(won) + len(lost) == 8


def test_secrets_and_hostile_names_stand_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", CANARY)
    hostile = replace(TO_GROUP, group="\x1b[31m<img src=x>=cmd()")
    staged = stage(tmp_path, COPY, hostile, absent=(0,))
    properties = {
        "bootstrap.servers": "new.invalid:9092",
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "user",
        "sasl.password": "${SECRET}",
    }
    staged.migration = Migration.model_validate(
        staged.migration.model_dump(exclude={"source", "target"})
        | {"source": {"properties": {"bootstrap.servers": "old.invalid:1"}}, "target": {"properties": properties}}
    )
    out = io.StringIO()
    console = Console(file=out, width=200)

    render_apply.dry_run(console, dry_run(staged.order(), staged.tools()))
    for done in (run(staged), run(staged)):
        render_apply.applied(console, done.receipt.steps, done.already)
    render_apply.standings(console, reversal.preview(staged.back(), staged.tools()))
    render_apply.taken_back(console, rollback(staged))

    told = out.getvalue() + "".join(
        path.read_text(errors="replace") for path in tmp_path.glob("receipt.json*") if path.is_file()
    )
    assert CANARY not in told
    assert "\x1b" not in told


def test_a_receipt_says_the_same_after_reading(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    made = run(staged).receipt

    assert files.dump(made) == Path(staged.receipt).read_text()
    assert made.begun_at == made.ended_at == NOW.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_journal_that_was_torn_in_its_first_line_is_none(tmp_path: Path) -> None:
    staged = stage(tmp_path, COPY)
    journal = Path(f"{staged.receipt}.journal")

    def tear() -> None:
        journal.write_bytes(b'{"begun_at":"2026')
        journal.chmod(0o600)

    tear()
    assert dry_run(staged.order(), staged.tools(), staged.receipt).changes
    assert run(staged).receipt.steps
    journal.unlink()
    tear()
    assert not dry_run(staged.order(), staged.tools(), staged.receipt).changes
    assert {step.state for step in rollback(staged)} == {StepState.UNDONE}
