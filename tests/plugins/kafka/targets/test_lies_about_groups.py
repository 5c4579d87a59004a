"""A cluster that says something else of a group's commits than is so: nothing is called done that is not."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from offsetwise.apply.journal import Journal
from offsetwise.errors import ApplyError, LostReplyError, OffsetwiseError
from offsetwise.model import GroupOffset, GroupState, ReceiptStep, StepState, TopicPartition
from tests.apply.worlds import BEFORE, GROUP, TO_GROUP, stage
from tests.plugins.kafka.targets.test_groups import Run
from tests.with_cases import with_cases

SEED: Final = 20_261_126
ROUNDS: Final = 150
At = dict[TopicPartition, int]


def lied_to(run: Run, lie: Callable[[GroupState], GroupState], *, reads: int) -> None:
    """Let the next readings be lies; what is committed, and what the group's state is, is the cluster's own."""
    groups, left = run.staged.groups, [reads]
    one = type(groups).one.__get__(groups)

    def lying(group: str) -> GroupState:
        said: GroupState = one(group)
        if not left[0]:
            return said
        left[0] -= 1
        return lie(said)

    groups.one = lying  # type: ignore[method-assign]


def saying(offsets: Mapping[TopicPartition, int]) -> Callable[[GroupState], GroupState]:
    """Return a lie about what is committed, with the metadata that was there before."""
    commits = tuple(
        GroupOffset(topic=at.topic, partition=at.partition, offset=offset, metadata="mine" if offset == BEFORE else "")
        for at, offset in offsets.items()
    )
    return lambda state: replace(state, offsets=commits)


def there(run: Run) -> At:
    return {key: offset for key, (offset, _) in run.staged.groups.at().items()}


def interrupted(run: Run, arrived: int) -> ReceiptStep:
    """Let as many commits of a write arrive, and return what the journal says was begun."""
    run.staged.groups.lose, run.staged.groups.arrives = (lambda: None), arrived
    try:
        return run.write()
    except LostReplyError:
        with Journal.open(run.path, digest="ab" * 32, begun_at="") as journal:
            intended = journal.record(0).intended
        assert intended is not None
        return intended


def is_done(run: Run) -> bool:
    with Journal.open(run.path, digest="ab" * 32, begun_at="") as journal:
        return journal.record(0).done is not None


def begun(chosen: random.Random, folder: Path, number: int) -> tuple[Run, ReceiptStep, At]:
    """Return a step that was begun, of which any number of commits arrived, and what was committed before it."""
    absent = chosen.choice([(), (0,), range(1_000)])
    (folder / str(number)).mkdir()
    run = Run(stage(folder / str(number), TO_GROUP, absent=absent))
    before = there(run)
    step = interrupted(run, chosen.randint(0, len(run.planned)))
    return run, step, before


def any_lie(chosen: random.Random, run: Run, before: At) -> At:
    planned = {key: offset for key, (offset, _) in run.planned.items()}
    kinds: list[At] = [{}, before, planned, planned | before, {**planned, min(planned): 99_999}]
    mixed = {key: chosen.choice([BEFORE, offset]) for key, offset in planned.items() if chosen.random() < 0.7}
    return chosen.choice([*kinds, mixed])


def test_no_lie_about_what_is_committed_makes_a_rollback_undone_that_is_not(tmp_path: Path) -> None:
    chosen = random.Random(SEED)
    undone = unknown = 0
    for number in range(ROUNDS):
        run, step, before = begun(chosen, tmp_path, number)
        if is_done(run) and chosen.random() < 0.3:
            run.staged.groups.refuse = {chosen.choice(sorted(run.planned)): "Group authorization failed"}
        lied_to(run, saying(any_lie(chosen, run, before)), reads=chosen.randint(1, 4))
        try:
            result = run.undo(step)
        except ApplyError:
            unknown += 1
            continue
        if result.state is StepState.UNDONE:
            undone += 1
            now = there(run)
            assert {key: now.get(key) for key in before} == before, number
            if not before:
                assert not now, number
        run.staged.groups.one = type(run.staged.groups).one.__get__(run.staged.groups)  # type: ignore[method-assign]
        if result.state is not StepState.UNDONE and not before:
            assert run.undo(step).state is StepState.UNDONE
    assert undone > ROUNDS // 10
    assert unknown > ROUNDS // 10


def test_no_lie_about_what_is_committed_makes_a_write_done_that_is_not(tmp_path: Path) -> None:
    chosen = random.Random(SEED)
    done = 0
    for number in range(ROUNDS):
        run, _, before = begun(chosen, tmp_path, number)
        finished = there(run) == {key: offset for key, (offset, _) in run.planned.items()}
        if chosen.random() < 0.3:
            run.staged.groups.refuse = {chosen.choice(sorted(run.planned)): "Group authorization failed"}
        lied_to(run, saying(any_lie(chosen, run, before)), reads=chosen.randint(1, 3))
        try:
            result = run.write()
        except OffsetwiseError:
            continue
        assert result.state is StepState.DONE
        assert run.staged.groups.at() == run.planned, number
        done += not finished
    assert done > ROUNDS // 20


@with_cases("left", [0, 1], ids=["nothing", "what was committed"])
def test_a_group_that_is_listed_and_said_to_hold_nothing_is_not_called_gone(left: int, tmp_path: Path) -> None:
    run = Run(stage(tmp_path, TO_GROUP, absent=range(1_000)))
    step = run.write()
    if not left:
        run.staged.groups.offsets[GROUP].clear()  # as kafka-consumer-groups.sh --delete-offsets leaves it
    lied_to(run, saying({}), reads=1)

    with pytest.raises(
        LostReplyError, match=r"found it Empty with no commit\. Whether what this plan committed"
    ) as error:
        run.undo(step)
    assert "offsets.retention.check.interval.ms" in error.value.fix

    if not left:
        del run.staged.groups.offsets[GROUP]  # as the broker does in time
    assert run.undo(step).state is StepState.UNDONE
    assert not there(run)


@with_cases("done", [True, False])
def test_who_may_not_commit_puts_back_what_was_never_written_and_nothing_else(tmp_path: Path, *, done: bool) -> None:
    """An applier may write to half of a plan's groups: what it could not write, it need not put back."""
    run = Run(stage(tmp_path, TO_GROUP))
    before = there(run)
    step = run.write() if done else interrupted(run, 0)
    run.staged.groups.refuse = dict.fromkeys(run.planned, "Group authorization failed")
    if done:
        lied_to(run, saying(before), reads=2)
        with pytest.raises(ApplyError, match="not committed"):
            run.undo(step)
        assert there(run) != before
    else:
        assert run.undo(step).state is StepState.UNDONE
        assert there(run) == before


def test_a_deletion_that_is_answered_and_not_done_is_not_called_undone(tmp_path: Path) -> None:
    run = Run(stage(tmp_path, TO_GROUP, absent=range(1_000)))
    step = run.write()
    setattr(run.staged.groups, "remove", lambda _, *, cluster_id: None)  # noqa: ARG005, B010 - as the port has it

    with pytest.raises(LostReplyError, match=r"found it Empty with \d+ commits"):
        run.undo(step)
    del run.staged.groups.remove
    assert run.undo(step).state is StepState.UNDONE
