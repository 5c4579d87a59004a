"""Many groups of one plan: written in shares, each group journalled first, judged alone, gone on with, taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.apply import reversal
from offsetwise.apply.journal import read_journal
from offsetwise.apply.run import apply
from offsetwise.errors import ApplyError, LostReplyError, OffsetwiseError, StalePlanError
from offsetwise.model import GroupOffset, StepState, TopicPartition
from offsetwise.plugins.kafka.targets.group.writer import AT_ONCE
from tests.apply.worlds import BEFORE, TO_GROUP, Groups, Stage, stage
from tests.with_cases import with_cases

COUNT = AT_ONCE + 2
"""A whole share, and two groups more."""
NAMES = tuple(f"group-{number:03}" for number in range(COUNT))


class Watched(Groups):
    """Groups that say how they were asked, and lose the reply to some commits."""

    def __init__(self, start: Groups) -> None:
        super().__init__(offsets=start.offsets)
        self.asked: list[tuple[str, ...]] = []
        self.losing: dict[str, bool] = {}
        """Groups whose next reply is lost; whether the commit arrives."""
        self.refusing: dict[str, TopicPartition] = {}

    def commit(self, wanted, *, cluster_id):  # type: ignore[no-untyped-def]
        self.asked.append(tuple(wanted))
        return super().commit(wanted, cluster_id=cluster_id)

    def commit_one(self, group, offsets):  # type: ignore[no-untyped-def]
        if group in self.losing:
            arrives = self.losing.pop(group)
            self.lose, self.arrives = (lambda: None), len(offsets) if arrives else 0
        if group in self.refusing:
            self.refuse = {self.refusing.pop(group): "its leader is changing"}
        return super().commit_one(group, offsets)


@pytest.fixture
def staged(tmp_path: Path) -> Stage:
    made = stage(tmp_path, *(replace(TO_GROUP, group=name) for name in NAMES))
    made.groups = made.world.groups = Watched(made.groups)
    return made


def groups_of(staged: Stage) -> Watched:
    assert isinstance(staged.groups, Watched)
    return staged.groups


def run(staged: Stage) -> dict[str, StepState]:
    done = apply(staged.order(), staged.receipt, staged.tools()).receipt
    return {step.place: step.state for step in done.steps}


def written(staged: Stage) -> set[str]:
    """Return the groups that hold exactly what was planned."""
    planned = {p.new_topic_partition: p.new_offset for p in staged.plan.positions}
    return {name for name in NAMES if {key: offset for key, (offset, _) in staged.groups.at(name).items()} == planned}


def test_every_group_is_asked_once_and_a_share_together(staged: Stage) -> None:
    assert set(run(staged).values()) == {StepState.DONE}

    assert groups_of(staged).asked == [NAMES[:AT_ONCE], NAMES[AT_ONCE:]]
    assert written(staged) == set(NAMES)


def test_every_group_of_a_share_is_in_the_journal_before_the_first_request(staged: Stage) -> None:
    begun: list[set[int]] = []
    staged.groups.on_commit = lambda _: begun.append(
        {number for number, each in read_journal(f"{staged.receipt}.journal").steps.items() if each.stands}
    )

    run(staged)

    assert begun[0] == set(range(AT_ONCE))
    assert begun[AT_ONCE] == set(range(COUNT))


@with_cases("arrives", [True, False], ids=["arrived", "did not arrive"])
@with_cases("number", [0, AT_ONCE // 2, AT_ONCE - 1, AT_ONCE, COUNT - 1], ids=lambda k: f"commit {k}")
def test_a_lost_reply_to_the_kth_commit_is_judged_by_what_is_read_again(
    staged: Stage, number: int, arrives: bool
) -> None:
    groups_of(staged).losing = {NAMES[number]: arrives}

    if arrives:
        assert set(run(staged).values()) == {StepState.DONE}
    else:
        with pytest.raises(LostReplyError, match=f"Target {number + 1} of {COUNT}.*not known") as caught:
            run(staged)
        last = AT_ONCE if number < AT_ONCE else COUNT
        assert written(staged) == set(NAMES[:last]) - {NAMES[number]}
        assert ("Not begun" in caught.value.problem) is (last < COUNT)
        assert set(run(staged).values()) == {StepState.DONE}, "the same call again goes on"
        assert (NAMES[number],) in groups_of(staged).asked, "and asks only for what is missing"
    assert written(staged) == set(NAMES)


def test_what_is_not_known_is_told_before_what_was_refused(staged: Stage) -> None:
    key = next(iter(staged.groups.at(NAMES[0])))
    groups_of(staged).refusing = {NAMES[0]: key}
    groups_of(staged).losing = {NAMES[1]: False}

    with pytest.raises(LostReplyError, match=rf"^Target 2 of {COUNT}.*Target 1 of {COUNT}.*its leader is changing"):
        run(staged)


def test_a_group_that_is_refused_is_put_back_alone_and_the_next_share_does_not_begin(staged: Stage) -> None:
    before = staged.groups.at(NAMES[3])
    groups_of(staged).refusing = {NAMES[3]: next(iter(before))}

    with pytest.raises(ApplyError, match="were put back") as caught:
        run(staged)

    assert "The same holds for" in caught.value.problem, "it names some of fifty, and counts the others"
    assert staged.groups.at(NAMES[3]) == before
    assert written(staged) == set(NAMES[:AT_ONCE]) - {NAMES[3]}
    assert set(run(staged).values()) == {StepState.DONE}
    assert written(staged) == set(NAMES)


def test_a_group_that_somebody_moved_after_the_recheck_stops_its_share_before_anything_is_written(
    staged: Stage,
) -> None:
    read = staged.groups.read
    calls: list[int] = []

    def moved(names, *, cluster_id):  # type: ignore[no-untyped-def]
        calls.append(len(names))
        if len(calls) == 1:
            key = next(iter(staged.groups.at(NAMES[7])))
            staged.groups.offsets[NAMES[7]][key] = GroupOffset(
                topic=key.topic, partition=key.partition, offset=BEFORE + 1
            )
        return read(names, cluster_id=cluster_id)

    staged.groups.read = moved  # type: ignore[method-assign]

    with pytest.raises(StalePlanError, match=f"Target 8 of {COUNT}"):
        run(staged)
    assert groups_of(staged).asked == []


def test_a_silent_cluster_after_the_requests_is_neither_success_nor_failure(staged: Stage) -> None:
    staged.groups.unreadable_after = True

    with pytest.raises(LostReplyError, match="could not be read back"):
        run(staged)
    staged.groups.silent = staged.groups.unreadable_after = False

    assert set(run(staged).values()) == {StepState.DONE}
    asked = [NAMES[:AT_ONCE], NAMES[:AT_ONCE], NAMES[AT_ONCE:]]
    assert groups_of(staged).asked == asked, "what is read does not stand for a reply"


def test_a_rollback_puts_every_group_back(staged: Stage) -> None:
    before = {name: dict(held) for name, held in staged.groups.offsets.items()}
    run(staged)

    steps = reversal.rollback(staged.back(), staged.tools())

    assert {step.state for step in steps} == {StepState.UNDONE}
    assert staged.groups.offsets == before


def test_a_rollback_from_the_journal_alone_knows_what_a_share_had_begun(staged: Stage) -> None:
    before = {name: dict(held) for name, held in staged.groups.offsets.items()}
    groups_of(staged).losing = {NAMES[2]: False}
    with pytest.raises(OffsetwiseError):
        run(staged)

    reversal.rollback(staged.back(journal=True), staged.tools())

    assert staged.groups.offsets == before
