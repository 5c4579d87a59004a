"""Journals and receipts that somebody laid beside an approved plan, or changed (family A, B16)."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from offsetwise import files
from offsetwise.apply import reversal
from offsetwise.apply.journal import Journal
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.run import Applied, apply, dry_run
from offsetwise.errors import ApplyError, FileError, NotApprovedError, OffsetwiseError
from offsetwise.model import Plan, Receipt, ReceiptStep, StepState, Target, TopicPartition, WrittenFile, WrittenOffset
from offsetwise.model.digest import digest as digest_of
from offsetwise.position import offset_of
from tests.apply.faults import UnsyncedDisk
from tests.apply.plans import COPY, IN_PLACE, SAVEPOINT, SEEDED, STARTING, aged, files_of, tree_hash
from tests.apply.worlds import BEFORE, GROUP, NOW, TO_GROUP, Stage, stage
from tests.attacks.rows import Verdict, attack
from tests.plugins.spark.folders import SAMPLES
from tests.test_cli_plans import Desk
from tests.with_cases import with_cases

OTHERS = "victims"
Change = Callable[[dict[str, Any]], object]


def world(staged: Stage) -> tuple[str, object]:
    return tree_hash(staged.folder), {name: dict(held) for name, held in staged.groups.offsets.items()}


def group_step(staged: Stage, **changes: Any) -> ReceiptStep:
    """Return the step that an honest run records for the group."""
    offsets = tuple(
        WrittenOffset(
            topic=each.new_topic,
            partition=each.partition,
            offset=offset_of(each.new_offset),
            before=BEFORE,
            before_metadata="mine",
            before_leader_epoch=4,
        )
        for each in staged.plan.positions
    )
    step = ReceiptStep(target=TO_GROUP, place=GROUP, state=StepState.DONE, told="As planned.", offsets=offsets)
    return replace(step, **changes)


def with_first(step: ReceiptStep, **changes: Any) -> ReceiptStep:
    """Change what a step says of its first partition."""
    first, *rest = step.offsets
    return replace(step, offsets=(replace(first, **changes), *rest))


def plant(staged: Stage, step: ReceiptStep, *, done: bool, number: int = 0, **notes: str) -> None:
    """Lay a journal beside the plan as this very user, with the mode that it has to have."""
    path = f"{staged.receipt}.journal"
    with Journal.open(path, digest=staged.order().digest, begun_at="2026-11-21T12:00:00Z") as journal:
        journal.begin(number, step, **notes)
        if done:
            journal.done(number, step)


FORGED: dict[str, Callable[[Stage], ReceiptStep]] = {
    "another offset": lambda s: with_first(group_step(s), offset=1),
    "another before-image": lambda s: with_first(group_step(s), before=1),
    "a before-image of nothing": lambda s: with_first(group_step(s), before=None),
    "another topic": lambda s: with_first(group_step(s), topic="other"),
    "another partition": lambda s: with_first(group_step(s), partition=99),
    "a partition refused": lambda s: with_first(group_step(s), error="refused"),
    "a partition less": lambda s: group_step(s, offsets=group_step(s).offsets[1:]),
    "a partition twice": lambda s: group_step(s, offsets=(*group_step(s).offsets, group_step(s).offsets[0])),
    "no partition": lambda s: group_step(s, offsets=()),
    "files": lambda s: group_step(s, files=(WrittenFile(path="x", sha256="ab" * 32),)),
    "another group": lambda s: group_step(s, target=replace(TO_GROUP, group=OTHERS), place=OTHERS),
    "another place": lambda s: group_step(s, place=OTHERS),
    "another target": lambda s: group_step(s, target=COPY, place=str(s.folder / "x")),
}


@attack(
    "A1",
    "a journal beside an approved plan says that a group step has begun, with other offsets, groups or before-images",
    before=Verdict.BROKEN,
    without="`require_agreeing_records` in `apply.run`",
    left="somebody who writes as this very user, mode 0600, can say that what the plan says has begun",
)
@with_cases("forged", FORGED)
def test_a_planted_journal_makes_apply_write_nothing_that_the_plan_does_not_say(tmp_path: Path, forged: str) -> None:
    staged = stage(tmp_path, TO_GROUP)
    plant(staged, FORGED[forged](staged), done=False)
    before = world(staged)

    for tried in (
        lambda: apply(staged.order(), staged.receipt, staged.tools()),
        lambda: dry_run(staged.order(), staged.tools(), staged.receipt),
        lambda: reversal.rollback(staged.back(journal=True), staged.tools()),
    ):
        with pytest.raises(FileError, match="Nothing was written and nothing was removed") as caught:
            tried()
        assert caught.value.fix
    assert world(staged) == before
    assert staged.groups.commits == []


def test_a_step_beyond_the_plan_is_refused(tmp_path: Path) -> None:
    staged = stage(tmp_path, TO_GROUP)
    plant(staged, group_step(staged), done=False, number=1)

    with pytest.raises(FileError, match="the plan has 1 target"):
        apply(staged.order(), staged.receipt, staged.tools())


@attack(
    "A2",
    "the same with steps `done`: a group, a copy, a file and an edit in place that nobody wrote",
    before=Verdict.BROKEN,
    without="`_require_standing` in `apply.run`",
)
@with_cases("target", [TO_GROUP, COPY, STARTING, IN_PLACE, SEEDED], ids=str)
def test_a_step_that_is_done_by_its_journal_is_looked_at_before_it_is_believed(tmp_path: Path, target: Target) -> None:
    """Even where every word of the journal agrees with the plan."""
    staged = stage(tmp_path, target, sample="spark-3.5.1-planned" if target == SEEDED else "spark-4.0.0-agg-rocksdb")
    group, source = dict(staged.groups.offsets[GROUP]), staged.folder / "kept"
    shutil.copytree(staged.source, source)
    apply(staged.order(), staged.receipt, staged.tools())
    Path(staged.receipt).unlink()
    staged.groups.offsets[GROUP] = group
    if target == IN_PLACE:
        shutil.rmtree(staged.source)
        shutil.copytree(source, staged.source)
    elif Path(staged.output or "").is_dir():
        shutil.rmtree(staged.output or "")
    elif target == STARTING:
        Path(staged.output or "").unlink()
    before = world(staged)

    with pytest.raises(ApplyError, match="expected what it says was written to be there") as caught:
        apply(staged.order(), staged.receipt, staged.tools())

    assert "This call: " in caught.value.problem
    assert "Nothing was written" in caught.value.problem
    assert not Path(staged.receipt).exists()
    assert world(staged) == before


def test_a_copy_of_something_else_is_not_believed_because_its_digests_are_right(tmp_path: Path) -> None:
    staged = stage(tmp_path, COPY)
    apply(staged.order(), staged.receipt, staged.tools())
    honest = read_receipt(staged.receipt).steps[0]
    for path in (Path(staged.receipt), Path(f"{staged.receipt}.journal")):
        path.unlink()
    place = Path(honest.place)
    shutil.rmtree(place)
    shutil.copytree(staged.source, place)
    step = replace(honest, files=tuple(_as_it_is(place, one) for one in honest.files))
    plant(staged, step, done=True, tmp=f"{place}.tmp-{'0' * 32}")

    with pytest.raises(ApplyError, match="restarts at other positions than the planned ones"):
        apply(staged.order(), staged.receipt, staged.tools())


@with_cases("mode", [0o644, 0o660, 0o602])
def test_a_journal_that_others_may_write_or_read_is_not_gone_on_from(tmp_path: Path, mode: int) -> None:
    staged = stage(tmp_path, TO_GROUP)
    plant(staged, group_step(staged), done=False)
    path = Path(f"{staged.receipt}.journal")
    path.chmod(mode)
    before = world(staged)

    for tried in (
        lambda: apply(staged.order(), staged.receipt, staged.tools()),
        lambda: dry_run(staged.order(), staged.tools(), staged.receipt),
        lambda: reversal.rollback(staged.back(journal=True), staged.tools()),
    ):
        with pytest.raises(FileError, match=f"expected a journal of this user's own, mode 0600, found mode 0{mode:o}"):
            tried()
    assert world(staged) == before


def test_the_journal_of_another_user_a_link_and_a_pipe_are_not_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = stage(tmp_path, TO_GROUP)
    plant(staged, group_step(staged), done=False)
    path = Path(f"{staged.receipt}.journal")
    with monkeypatch.context() as patched:
        patched.setattr("offsetwise.apply.journal_file.os.geteuid", lambda: 4711)
        with pytest.raises(FileError, match="expected a journal of this user's own"):
            apply(staged.order(), staged.receipt, staged.tools())
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OffsetwiseError, match="journal"):
        apply(staged.order(), staged.receipt, staged.tools())
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(ApplyError, match="not a regular file"):
        apply(staged.order(), staged.receipt, staged.tools())
    assert staged.groups.commits == []


def test_a_planted_receipt_of_an_approved_plan_does_not_pass_for_its_application(tmp_path: Path) -> None:
    staged = stage(tmp_path, TO_GROUP)
    Path(staged.receipt).write_text(files.dump(receipt_of(staged, group_step(staged))))
    before = world(staged)

    with pytest.raises(ApplyError, match="expected what it says was written to be there"):
        apply(staged.order(), staged.receipt, staged.tools())
    assert world(staged) == before


# --------------------------------------------------------------------------- receipts


def receipt_of(staged: Stage, *steps: ReceiptStep, plan: Plan | None = None) -> Receipt:
    """Return a receipt that anybody can write: with a plan, and its digest."""
    made = plan or staged.plan
    return Receipt(
        plan_digest=digest_of(files.dump(made).encode()),
        plan=made,
        approvers=(),
        begun_at="2026-11-21T12:00:00Z",
        ended_at="2026-11-21T12:00:00Z",
        steps=steps,
        envelopes=tuple(each.content.decode() for each in staged.order().approvals),
    )


def edited(staged: Stage, change: Change) -> None:
    """Change a receipt, which has no journal beside it."""
    path = Path(staged.receipt)
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(body))
    Path(f"{staged.receipt}.journal").unlink(missing_ok=True)


def of_offsets(**changes: Any) -> Change:
    return lambda body: [one.update(changes) for one in body["steps"][0]["offsets"]]


def of_step(**changes: Any) -> Change:
    return lambda body: body["steps"][0].update(changes)


EDITED: dict[str, Change] = {
    "another group": of_step(target={"kind": "consumer-group", "group": OTHERS}, place=OTHERS),
    "another place": of_step(place=OTHERS),
    "a group that was not there": of_offsets(before=None),
    "another before-image": of_offsets(before="1"),
    "other offsets": of_offsets(offset="1"),
    "a step more": lambda body: body["steps"].append(body["steps"][0]),
    "no step": lambda body: body.update(steps=[]),
    "another plan": lambda body: body["plan"]["positions"][0].update(new_offset="1"),
    "another digest": lambda body: body.update(plan_digest="ab" * 32),
}


@attack(
    "A3",
    "a receipt is changed, or made with a plan of one's own and its right digest: groups, before-images, offsets",
    before=Verdict.BROKEN,
    without="`read_receipt` in `apply.back`, and `_approvers`",
    left="an approval of a plan that was good at the time that the receipt says still takes that plan back",
)
class TestAReceiptThatIsNotWhatWasApplied:
    @with_cases("what", EDITED)
    def test_takes_back_nothing(self, tmp_path: Path, what: str) -> None:
        staged = stage(tmp_path, TO_GROUP)
        staged.groups.offsets[OTHERS] = dict(staged.groups.offsets[GROUP])
        apply(staged.order(), staged.receipt, staged.tools())
        edited(staged, EDITED[what])
        before = world(staged)

        for tried in (
            lambda: reversal.rollback(staged.back(), staged.tools()),
            lambda: reversal.preview(staged.back(), staged.tools()),
            lambda: read_receipt(staged.receipt),
        ):
            with pytest.raises(FileError, match="Nothing was written and nothing was removed"):
                tried()
        assert world(staged) == before

    def test_with_a_plan_of_their_own_and_its_digest_is_not_approved(self, tmp_path: Path) -> None:
        """Every word of it agrees with the plan in it, and it carries an approval: of another plan."""
        staged = stage(tmp_path, TO_GROUP)
        apply(staged.order(), staged.receipt, staged.tools())
        theirs = replace(TO_GROUP, group=OTHERS)
        reviewed = replace(staged.plan.requirements.groups[0], group=OTHERS, offsets=())
        plan = replace(
            staged.plan, targets=(theirs,), requirements=replace(staged.plan.requirements, groups=(reviewed,))
        )
        step = group_step(staged, target=theirs, place=OTHERS)
        step = replace(step, offsets=tuple(replace(each, before=None) for each in step.offsets))
        staged.groups.offsets[OTHERS] = {
            key: replace(
                each, offset=next(offset_of(p.new_offset) for p in plan.positions if p.partition == key.partition)
            )
            for key, each in staged.groups.offsets[GROUP].items()
        }
        Path(staged.receipt).write_text(files.dump(receipt_of(staged, step, plan=plan)))
        Path(f"{staged.receipt}.journal").unlink()
        before = world(staged)

        for approved in (True, False):
            with pytest.raises(NotApprovedError):
                reversal.rollback(staged.back(approved=approved), staged.tools())
        assert "Not approved as far as was shown" in reversal.preview(staged.back(), staged.tools()).approval
        assert world(staged) == before

    @with_cases("began", ["2099-01-01T00:00:00Z", "2026-11-21T12:00:00"])
    def test_that_began_at_no_time_in_the_past_is_refused(self, tmp_path: Path, began: str) -> None:
        staged = stage(tmp_path, TO_GROUP)
        apply(staged.order(), staged.receipt, staged.tools())
        edited(staged, lambda body: body.update(begun_at=began))

        with pytest.raises(FileError, match="expected a time in the past"):
            reversal.rollback(staged.back(), staged.tools())

    def test_is_not_believed_for_metadata(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, TO_GROUP)
        apply(staged.order(), staged.receipt, staged.tools())
        edited(staged, of_offsets(before_metadata="forged", before_leader_epoch=9))

        (step,) = reversal.rollback(staged.back(), staged.tools())

        assert {(each.offset, each.metadata) for each in staged.groups.offsets[GROUP].values()} == {(BEFORE, "")}
        assert "Without metadata" in step.told


class TestAnApproval:
    def test_is_carried_by_the_receipt(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, TO_GROUP)
        made = apply(staged.order(), staged.receipt, staged.tools()).receipt

        assert [json.loads(each)["payloadType"] for each in made.envelopes]
        assert (
            reversal.preview(staged.back(approved=False), staged.tools()).approval
            == "Approved by reviewer@example.org."
        )
        assert {each.state for each in reversal.rollback(staged.back(approved=False), staged.tools())} == {
            StepState.UNDONE
        }

    def test_that_was_good_when_the_plan_was_applied_does_not_expire_for_taking_it_back(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, TO_GROUP)
        apply(staged.order(), staged.receipt, staged.tools())
        later = replace(staged.tools(), now=lambda: NOW + timedelta(days=400))

        assert {each.state for each in reversal.rollback(staged.back(approved=False), later)} == {StepState.UNDONE}

    def test_of_nobody_whom_the_applier_trusts_takes_nothing_back(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, TO_GROUP)
        apply(staged.order(), staged.receipt, staged.tools())
        before = world(staged)
        order = replace(staged.back(), policy=replace(staged.back().policy, trusted=None))

        with pytest.raises(NotApprovedError, match="expected a key that the applier trusts"):
            reversal.rollback(order, staged.tools())
        assert world(staged) == before


def _as_it_is(place: Path, one: WrittenFile) -> WrittenFile:
    """List a file with the digest that it really has."""
    path = place / one.path
    return replace(one, sha256=digest_of(path.read_bytes()) if path.is_file() else None)


def savepoint(place: Path) -> Path:
    """Lay somebody's savepoint into the write roots."""
    shutil.copytree(SAMPLES / "flink-2.2-enumerator-v3", place)
    return aged(place)


@attack(
    "A4",
    "a receipt is changed so that a rollback removes a folder or file of somebody else in the write roots",
    before=Verdict.BROKEN,
    without="`_foreign` of `CopyWriter`, `_of_files` in `plan.evidence`",
    left="another copy that the same plan made can be removed, as long as no query has run on it",
)
class TestAFolderOfSomebodyElse:
    @with_cases("listed", ["nothing", "its true digests", "the digests that the plan makes"])
    @with_cases("target", [COPY, SAVEPOINT, SEEDED, STARTING], ids=str)
    def test_is_not_removed(self, tmp_path: Path, target: Target, listed: str) -> None:
        sample = {SAVEPOINT: "flink-2.2-enumerator-v3", SEEDED: "spark-3.5.1-planned"}
        staged = stage(tmp_path, target, sample=sample.get(target, "spark-4.0.0-agg-rocksdb"))
        apply(staged.order(), staged.receipt, staged.tools())
        theirs = tmp_path / "theirs" / "kept"
        savepoint(theirs)
        place = theirs / "_metadata" if target == STARTING else theirs
        before = files_of(theirs)

        def change(body: dict[str, Any]) -> None:
            step = body["steps"][0]
            step["place"] = str(place)
            if listed == "nothing":
                step["files"] = []
            elif listed == "its true digests":
                step["files"] = [
                    {"path": name, "sha256": digest_of(data), "before_sha256": digest_of(data), "kept_as": None}
                    for name, data in before.items()
                ]

        edited(staged, change)
        with pytest.raises(OffsetwiseError):
            reversal.rollback(staged.back(), staged.tools())
        assert files_of(theirs) == before

    def test_that_is_another_checkpoint_of_the_same_query_is_not_removed(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, COPY)
        apply(staged.order(), staged.receipt, staged.tools())
        theirs = tmp_path / "theirs"
        shutil.copytree(staged.source, theirs)

        def change(body: dict[str, Any]) -> None:
            step = body["steps"][0]
            step["place"] = str(theirs)
            for one in step["files"]:
                path = theirs / one["path"]
                one["sha256"] = digest_of(path.read_bytes()) if path.is_file() else None

        edited(staged, change)
        with pytest.raises(ApplyError, match="restarts at other positions than the planned ones"):
            reversal.rollback(staged.back(), staged.tools())
        assert files_of(theirs) == files_of(staged.source)

    @with_cases("target", [COPY, SEEDED, SAVEPOINT], ids=str)
    def test_that_lies_in_a_copy_keeps_the_copy(self, tmp_path: Path, target: Target) -> None:
        sample = {SAVEPOINT: "flink-2.2-enumerator-v3", SEEDED: "spark-3.5.1-planned"}
        staged = stage(tmp_path, target, sample=sample.get(target, "spark-4.0.0-agg-rocksdb"))
        apply(staged.order(), staged.receipt, staged.tools())
        theirs = savepoint(Path(staged.output or "") / "theirs")

        with pytest.raises(ApplyError, match="is not part of what was written"):
            reversal.rollback(staged.back(), staged.tools())
        assert theirs.is_dir()

    def test_an_original_that_a_receipt_leaves_out_is_not_lost(self, tmp_path: Path) -> None:
        staged = stage(tmp_path, IN_PLACE)
        apply(staged.order(), staged.receipt, staged.tools())
        edited(staged, lambda body: body["steps"][0]["files"].pop())
        before = tree_hash(staged.source)

        with pytest.raises(ApplyError, match="is not part of what was written"):
            reversal.rollback(staged.back(), staged.tools())
        assert tree_hash(staged.source) == before


@attack(
    "A5",
    "the plan in a receipt is changed and its digest left, so that `verify` confirms what was not signed",
    before=Verdict.BROKEN,
    without="`plan_of` in `plan.evidence`",
    left="`verify` asks for no approval, and says so: it compares with the plan that the receipt names",
)
def test_verify_confirms_nothing_by_a_plan_that_is_not_the_one_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, monkeypatch)
    assert desk.apply("--execute").code == 0
    path = desk.folder / "plan.receipt.json"
    honest = json.loads(path.read_text())
    position = honest["plan"]["positions"][0]
    wrong = int(position["new_offset"]) - 1
    held = desk.staged.groups.offsets[GROUP]
    key = TopicPartition(position["new_topic"], position["partition"])
    held[key] = replace(held[key], offset=wrong)
    assert desk.on_receipt("verify").code == 5

    for also_steps in (False, True):
        body = json.loads(json.dumps(honest))
        body["plan"]["positions"][0]["new_offset"] = body["plan"]["positions"][0]["restart"][0]["new"] = str(wrong)
        if also_steps:
            for one in body["steps"][1]["offsets"]:
                if (one["topic"], one["partition"]) == (position["new_topic"], position["partition"]):
                    one["offset"] = str(wrong)
        path.write_text(json.dumps(body))
        ran = desk.on_receipt("verify", "--json")
        assert ran.code == 1
        assert "expected the plan in it to be the one that it names" in json.loads(ran.out)["problem"]
        ran = desk.on_receipt("verify", "--plan", desk.plan, "--json")
        assert ran.code == 1
        assert "found another one in it" in json.loads(ran.out)["problem"]
    path.write_text(json.dumps(honest))
    assert "whether that was approved is not checked here" in desk.on_receipt("verify").out


def test_a_plan_that_was_approved_in_another_form_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, monkeypatch)
    desk.plan.write_text(json.dumps(json.loads(desk.staged.data), indent=4))
    (desk.folder / "rea.approval.json").unlink()
    desk.sign("rea")
    assert desk.apply("--execute").code == 0

    for command in ("verify", "rollback"):
        ran = desk.on_receipt(command, "--json")
        assert ran.code == 1
        assert "with --plan" in json.loads(ran.out)["fix"]
        assert desk.on_receipt(command, "--plan", desk.plan).code == 0
    assert desk.on_receipt("rollback", "--plan", desk.plan, "--execute").code == 0


def one_applies(
    number: int, staged: Stage, won: list[Applied], lost: list[OffsetwiseError], begin: threading.Barrier
) -> None:
    begin.wait()
    try:
        won.append(apply(staged.order(), f"{staged.receipt}.{number}", staged.tools(UnsyncedDisk())))
    except OffsetwiseError as error:
        lost.append(error)


@attack(
    "A24",
    "four appliers at once, each with a receipt of its own, to one output, again and again",
    before=Verdict.HELD,
    without="the refusal of `rename` and `link` to replace what is there (`Disk`)",
)
@with_cases("target", [COPY, STARTING, SEEDED], ids=str)
def test_of_four_appliers_with_receipts_of_their_own_one_writes(tmp_path: Path, target: Target) -> None:
    for round_ in range(5):
        folder = tmp_path / str(round_)
        folder.mkdir()
        staged = stage(folder, target, sample="spark-3.5.1-planned" if target == SEEDED else "spark-4.0.0-agg-rocksdb")
        won: list[Applied] = []
        lost: list[OffsetwiseError] = []
        begin = threading.Barrier(4)

        threads = [threading.Thread(target=one_applies, args=(n, staged, won, lost, begin)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert (len(won), len(lost)) == (1, 3), [str(error) for error in lost]
        assert [path.name for path in (folder / "out").iterdir()] == ["copy"], "nothing is left beside it"
        (step,) = won[0].receipt.steps
        for each in step.files:
            path = Path(step.place) if target == STARTING else Path(step.place) / each.path
            assert (digest_of(path.read_bytes()) if path.is_file() else None) == each.sha256


@attack(
    "B16",
    "the `place` of a step in a journal names another group",
    before=Verdict.WEAK,
    without="`_of_group` in `plan.evidence`",
)
@with_cases("done", [False, True])
def test_a_journal_whose_place_is_another_group_is_a_sentence(tmp_path: Path, done: bool) -> None:
    staged = stage(tmp_path, TO_GROUP)
    plant(staged, group_step(staged, place=OTHERS), done=done)

    with pytest.raises(FileError, match=f"its location is '{OTHERS}', and the plan's group is '{GROUP}'"):
        apply(staged.order(), staged.receipt, staged.tools())
    assert staged.groups.commits == []


# --------------------------------------------------------------------------- seeded checkpoints


@with_cases("sample", ["spark-3.5.1-planned", "spark-4.0.0-agg-rocksdb", "spark-4.2.0-polluted-after-failed-start"])
def test_a_seeded_checkpoint_is_verified_and_taken_back_by_its_own_receipt(
    tmp_path: Path, sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stage(tmp_path, SEEDED, sample=sample)
    monkeypatch.setattr("tests.test_cli_plans.stage", lambda *_, **__: made)
    desk = Desk(tmp_path, monkeypatch)
    assert desk.apply("--execute").code == 0

    ran = desk.on_receipt("verify", "--json")
    assert ran.code == 0, ran.err
    assert {each["turnout"] for each in json.loads(ran.out)["positions"]} == {"CONFIRMED"}
    assert desk.on_receipt("rollback", "--execute").code == 0
    assert not Path(made.output or "").exists()
