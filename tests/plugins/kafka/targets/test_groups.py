"""Consumer groups: one request, every partition's own error, read back, put back, and never a guess."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.apply.journal import Journal
from offsetwise.apply.run import context_of
from offsetwise.apply.writing import Context, StepStanding
from offsetwise.errors import ApplyError, GroupActiveError, LostReplyError, OffsetwiseError, StalePlanError
from offsetwise.model import GroupOffset, ReceiptStep, StepState, Target, TopicPartition
from offsetwise.plugins.kafka.targets.group.offsets import to_put_back
from offsetwise.plugins.kafka.targets.group.writer import GroupWriter
from offsetwise.position import offset_of
from tests.apply.worlds import BEFORE, GROUP, TO_GROUP, Groups, Stage, stage
from tests.with_cases import with_cases


class Run:
    """One step that writes a group, with its journal."""

    def __init__(self, staged: Stage, target: Target = TO_GROUP) -> None:
        self.staged = staged
        self.target = target
        self.writer = GroupWriter(staged.groups)
        self.path = str(staged.folder / "receipt.json.journal")

    def _context(self, journal: Journal | None) -> Context:
        tools = self.staged.tools()
        return context_of(self.staged.migration, digest="ab" * 32, step=0, disk=tools.disk, journal=journal)

    def write(self) -> ReceiptStep:
        with Journal.open(self.path, digest="ab" * 32, begun_at="then") as journal:
            return self.writer.write(self.staged.plan, self.target, self._context(journal))

    def undo(self, step: ReceiptStep) -> ReceiptStep:
        with Journal.open(self.path, digest="ab" * 32, begun_at="then") as journal:
            return self.writer.undo(self.staged.plan, step, self._context(journal))

    def look(self, step: ReceiptStep) -> StepStanding:
        return self.writer.look(self.staged.plan, step, self._context(None)).standing

    @property
    def planned(self) -> dict[TopicPartition, tuple[int, str]]:
        positions = self.staged.plan.positions
        return {p.new_topic_partition: (offset_of(p.new_offset), "") for p in positions}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(stage(tmp_path, TO_GROUP))


def keys(run: Run) -> list[TopicPartition]:
    return sorted(run.planned)


class TestWriting:
    def test_commits_everything_in_one_request_and_keeps_what_was_there(self, run: Run) -> None:
        step = run.write()

        assert run.staged.groups.at() == run.planned
        assert len(run.staged.groups.commits) == 1
        assert {(one.before, one.before_metadata, one.before_leader_epoch) for one in step.offsets} == {
            (BEFORE, "mine", 4)
        }
        assert run.look(step) is StepStanding.AS_WRITTEN

    def test_carries_neither_leader_epoch_nor_metadata(self, run: Run) -> None:
        run.write()

        assert {(one.leader_epoch, one.metadata) for one in run.staged.groups.commits[0]} == {(None, "")}

    def test_twice_is_once(self, run: Run) -> None:
        assert run.write() == run.write()
        assert len(run.staged.groups.commits) == 1

    def test_a_dry_run_says_each_number_and_commits_nothing(self, run: Run) -> None:
        preview = run.writer.prepare(run.staged.plan, TO_GROUP, run._context(None))

        assert {(one.before, one.offset) for one in preview.offsets} == {
            (BEFORE, offset) for offset, _ in run.planned.values()
        }
        assert run.staged.groups.commits == []

    @with_cases("state", ["Stable", "PreparingRebalance", "Assigning", None])
    def test_refuses_a_group_that_has_members_or_may_have(self, run: Run, state: str) -> None:
        run.staged.groups.state = state

        with pytest.raises(GroupActiveError, match="Nothing was written"):
            run.write()
        assert run.staged.groups.commits == []

    def test_refuses_a_group_that_cannot_be_read(self, run: Run) -> None:
        run.staged.groups.error = "the user is not authorised"

        with pytest.raises(ApplyError, match=r"the user is not authorised\. Nothing was written"):
            run.write()
        assert run.staged.groups.commits == []

    def test_takes_a_group_that_the_cluster_does_not_know_yet(self, run: Run) -> None:
        run.staged.groups.state = "Dead"

        assert run.write().state is StepState.DONE

    @with_cases("kind", ["Share", "Streams"])
    def test_refuses_other_kinds_of_group(self, run: Run, kind: str) -> None:
        run.staged.groups.type = kind

        with pytest.raises(ApplyError, match=f"type {kind}"):
            run.write()

    def test_refuses_groups_of_kafka_connect(self, tmp_path: Path) -> None:
        target = Target(kind="consumer-group", group="connect-sink")

        with pytest.raises(ApplyError, match="Kafka Connect"):
            Run(stage(tmp_path, target), target).write()

    def test_refuses_when_somebody_committed_since_the_review(self, run: Run) -> None:
        key = keys(run)[0]
        run.staged.groups.offsets[GROUP][key] = GroupOffset(topic=key.topic, partition=key.partition, offset=BEFORE + 1)

        with pytest.raises(StalePlanError, match=f"{key}: {BEFORE + 1} in the place of {BEFORE}"):
            run.write()
        assert run.staged.groups.commits == []

    def test_refuses_when_a_commit_appeared_where_there_was_none(self, tmp_path: Path) -> None:
        run = Run(stage(tmp_path, TO_GROUP, absent=(0,)))
        one = run.staged.plan.positions[0]
        key = one.new_topic_partition
        run.staged.groups.offsets[GROUP][key] = GroupOffset(topic=key.topic, partition=key.partition, offset=0)

        with pytest.raises(StalePlanError, match=f"{key}: 0 in the place of no commit"):
            run.write()

    def test_refuses_a_group_that_the_plan_was_not_reviewed_for(self, run: Run) -> None:
        run.staged.plan = replace(run.staged.plan, requirements=replace(run.staged.plan.requirements, groups=()))

        with pytest.raises(ApplyError, match="found nothing about it in the plan"):
            run.write()
        assert run.staged.groups.commits == []

    def test_refuses_an_address_that_leads_to_another_cluster_until_it_leads_back(self, run: Run) -> None:
        run.staged.groups.led_to = "another"
        for tried in (run.write, lambda: run.writer.prepare(run.staged.plan, TO_GROUP, run._context(None))):
            with pytest.raises(StalePlanError, match="the address leads to cluster another now"):
                tried()
        assert run.staged.groups.commits == []

        run.staged.groups.led_to = None
        step = run.write()
        run.staged.groups.led_to = "another"
        with pytest.raises(StalePlanError, match="the address leads to cluster another now"):
            run.undo(step)
        assert run.look(step) is StepStanding.UNKNOWN
        run.staged.groups.led_to = None
        assert run.undo(step).state is StepState.UNDONE

    def test_calls_nothing_done_that_was_read_back_from_another_cluster(self, run: Run) -> None:
        def led_away(groups: Groups) -> None:
            groups.led_to = "another"

        run.staged.groups.on_commit = led_away

        with pytest.raises(LostReplyError, match=r"could not be read back: .* the address leads to cluster another"):
            run.write()

    def test_refuses_two_offsets_of_one_partition(self, run: Run) -> None:
        first = run.staged.plan.positions[0]
        again = replace(first, source="1", new_offset=offset_of(first.new_offset) + 1)
        run.staged.plan = replace(run.staged.plan, positions=(*run.staged.plan.positions, again))

        with pytest.raises(ApplyError, match="two sources"):
            run.write()


class TestAnErrorOfOnePartition:
    def test_is_told_and_the_others_are_put_back(self, run: Run) -> None:
        before = run.staged.groups.at()
        bad = keys(run)[0]
        run.staged.groups.refuse = {bad: "the user is not authorised"}

        with pytest.raises(ApplyError, match=f"{bad}: the user is not authorised.*put back") as caught:
            run.write()
        assert run.staged.groups.at() == before
        assert not isinstance(caught.value, LostReplyError)

    def test_leaves_what_had_no_commit_and_says_so(self, tmp_path: Path) -> None:
        run = Run(stage(tmp_path, TO_GROUP, absent=(1,)))
        positions = [p.new_topic_partition for p in run.staged.plan.positions]
        run.staged.groups.refuse = {positions[0]: "its leader is changing"}

        with pytest.raises(ApplyError, match=f"{positions[1]} had no commit before and keep"):
            run.write()

    def test_is_gone_on_from(self, run: Run) -> None:
        run.staged.groups.refuse = {keys(run)[0]: "its leader is changing"}
        with pytest.raises(ApplyError):
            run.write()

        assert run.write().state is StepState.DONE
        assert run.staged.groups.at() == run.planned

    def test_is_of_an_active_group_when_a_member_joined_in_between(self, run: Run) -> None:
        def joins(groups: Groups) -> None:
            groups.state = "Stable"

        run.staged.groups.on_commit = joins
        run.staged.groups.refuse = dict.fromkeys(keys(run), "unknown member")

        with pytest.raises(GroupActiveError) as caught:
            run.write()
        assert "put back" not in caught.value.problem, "nothing of it was committed"

    def test_is_not_hidden_by_a_reply_without_errors(self, run: Run) -> None:
        """Somebody else's commit lands between ours and the read back."""
        original = run.staged.groups.one
        key = keys(run)[0]

        def read(group: str) -> object:
            if run.staged.groups.commits:
                run.staged.groups.offsets[GROUP][key] = GroupOffset(topic=key.topic, partition=key.partition, offset=1)
            return original(group)

        run.staged.groups.one = read  # type: ignore[method-assign,assignment]

        with pytest.raises(ApplyError, match="another offset was read back"):
            run.write()

    def test_of_somebody_else_is_not_put_back(self, run: Run) -> None:
        """What they committed between our commit and the read back is theirs, and stays."""
        original = run.staged.groups.one
        key = keys(run)[0]
        theirs = GroupOffset(topic=key.topic, partition=key.partition, offset=1, metadata="theirs")
        landed: list[GroupOffset] = []

        def read(group: str) -> object:
            if run.staged.groups.commits and not landed:
                landed.append(theirs)
                run.staged.groups.offsets[GROUP][key] = theirs
            return original(group)

        run.staged.groups.one = read  # type: ignore[method-assign,assignment]

        with pytest.raises(ApplyError, match="another offset was read back"):
            run.write()
        assert run.staged.groups.offsets[GROUP][key] == theirs
        assert {at for other, at in run.staged.groups.at().items() if other != key} == {(BEFORE, "mine")}

    def test_while_the_others_are_put_back_is_told_as_it_stands(self, run: Run) -> None:
        first, second, *_ = keys(run)
        reasons = iter([{first: "its leader is changing"}, {second: "the disk is full"}])

        def refuses(groups: Groups) -> None:
            groups.refuse = next(reasons)

        run.staged.groups.on_commit = refuses

        with pytest.raises(ApplyError, match=f"{second} at {run.planned[second][0]} \\(the disk is full\\)") as caught:
            run.write()
        assert "were put back" not in caught.value.problem

    def test_that_cannot_be_read_after_the_commit_is_neither_success_nor_failure(self, run: Run) -> None:
        def hides(groups: Groups) -> None:
            groups.error = "its coordinator is loading"

        run.staged.groups.on_commit = hides

        with pytest.raises(
            LostReplyError, match=r"its coordinator is loading.*Whether they are committed is not known"
        ):
            run.write()
        run.staged.groups.error = run.staged.groups.on_commit = None
        assert run.write().state is StepState.DONE
        assert len(run.staged.groups.commits) == 2, "the one answer that says it is there does not stand for a reply"


class TestALostReply:
    @with_cases("arrived", range(4))
    def test_after_the_kth_commit_is_told_by_what_was_read_again(self, run: Run, arrived: int) -> None:
        count = len(run.planned)
        run.staged.groups.lose, run.staged.groups.arrives = (lambda: None), min(arrived, count)

        if arrived >= count:
            assert run.write().state is StepState.DONE
        else:
            with pytest.raises(LostReplyError, match=f"only {arrived} of {count} partitions.*not known"):
                run.write()
            assert run.write().state is StepState.DONE, "the same call again goes on"
        assert run.staged.groups.at() == run.planned

    def test_that_arrived_whole_is_not_asked_for_again(self, run: Run) -> None:
        run.staged.groups.lose = lambda: None

        run.write()
        assert len(run.staged.groups.commits) == 1

    def test_and_a_silent_cluster_is_neither_success_nor_failure(self, run: Run) -> None:
        run.staged.groups.lose, run.staged.groups.unreadable_after = (lambda: None), True

        with pytest.raises(LostReplyError, match="Whether they are committed is not known"):
            run.write()
        run.staged.groups.silent = run.staged.groups.unreadable_after = False

        assert run.write().state is StepState.DONE
        assert len(run.staged.groups.commits) == 2, "the one answer that says it is there does not stand for a reply"

    def test_and_then_another_hand_is_refused(self, run: Run) -> None:
        run.staged.groups.lose, run.staged.groups.arrives = (lambda: None), 0
        with pytest.raises(LostReplyError):
            run.write()
        key = keys(run)[0]
        run.staged.groups.offsets[GROUP][key] = GroupOffset(topic=key.topic, partition=key.partition, offset=99)

        with pytest.raises(ApplyError, match=f"{key}: 99, neither"):
            run.write()
        assert len(run.staged.groups.commits) == 1

    def test_is_not_gone_on_from_while_the_group_has_members(self, run: Run) -> None:
        run.staged.groups.lose, run.staged.groups.arrives = (lambda: None), 0
        with pytest.raises(LostReplyError):
            run.write()
        run.staged.groups.state = "Stable"

        with pytest.raises(GroupActiveError):
            run.write()
        assert len(run.staged.groups.commits) == 1

    def test_while_taking_back_is_told_and_gone_on_from(self, run: Run) -> None:
        before = run.staged.groups.at()
        step = run.write()
        run.staged.groups.lose, run.staged.groups.arrives = (lambda: None), 1

        with pytest.raises(LostReplyError):
            run.undo(step)
        assert run.undo(step).state is StepState.UNDONE
        assert run.staged.groups.at() == before


class TestTakingBack:
    def test_restores_offsets_metadata_and_epoch_and_twice_is_once(self, run: Run) -> None:
        before = dict(run.staged.groups.offsets[GROUP])
        step = run.write()

        undone = run.undo(step)
        assert undone.state is StepState.UNDONE
        assert run.staged.groups.offsets[GROUP] == before
        assert run.undo(step) == undone
        assert run.look(undone) is StepStanding.AS_WRITTEN

    def test_once_done_is_done_whoever_commits_afterwards(self, run: Run) -> None:
        undone = run.undo(run.write())
        key = keys(run)[0]
        run.staged.groups.offsets[GROUP][key] = GroupOffset(topic=key.topic, partition=key.partition, offset=99)

        assert run.undo(undone) == undone
        assert run.staged.groups.offsets[GROUP][key].offset == 99

    def test_restores_the_metadata_of_an_offset_that_the_plan_does_not_change(self, run: Run) -> None:
        offsets = run.staged.groups.offsets[GROUP]
        offsets |= {key: replace(offsets[key], offset=planned) for key, (planned, _) in run.planned.items()}
        needs = run.staged.plan.requirements
        reviewed = tuple((key.topic, key.partition, offset) for key, (offset, _) in run.planned.items())
        needs = replace(needs, groups=(replace(needs.groups[0], offsets=reviewed),))
        run.staged.plan = replace(run.staged.plan, requirements=needs)
        before = dict(offsets)

        step = run.write()
        assert run.staged.groups.at() == run.planned, "without metadata"
        run.undo(step)
        assert run.staged.groups.offsets[GROUP] == before

    def test_of_a_partition_without_commit_before_is_told_with_the_command(self, tmp_path: Path) -> None:
        run = Run(stage(tmp_path, TO_GROUP, absent=(0,)))
        step = run.write()

        undone = run.undo(step)

        assert undone.state is StepState.FAILED
        assert "kafka-consumer-groups.sh --bootstrap-server HOST:PORT --delete-offsets --group etl" in undone.told
        first = run.staged.plan.positions[0]
        del run.staged.groups.offsets[GROUP][first.new_topic_partition]
        assert run.undo(step).state is StepState.UNDONE, "after the command it is whole"

    def test_deletes_a_group_that_holds_nothing_else_where_nothing_was_before(self, tmp_path: Path) -> None:
        run = Run(stage(tmp_path, TO_GROUP, absent=range(1_000)))

        undone = run.undo(run.write())

        assert undone.state is StepState.UNDONE
        assert GROUP not in run.staged.groups.offsets
        assert run.look(undone) is StepStanding.AS_WRITTEN

    def test_leaves_a_group_that_holds_commits_of_other_topics(self, tmp_path: Path) -> None:
        run = Run(stage(tmp_path, TO_GROUP, absent=range(1_000)))
        step = run.write()
        other = GroupOffset(topic="other", partition=0, offset=7)
        run.staged.groups.offsets[GROUP][TopicPartition("other", 0)] = other

        assert run.undo(step).state is StepState.FAILED
        assert len(run.staged.groups.offsets[GROUP]) == len(step.offsets) + 1

    def test_says_why_a_group_is_not_deleted(self, tmp_path: Path) -> None:
        run = Run(stage(tmp_path, TO_GROUP, absent=range(1_000)))
        step = run.write()
        run.staged.groups.keep = "Group authorization failed"

        kept = run.undo(step)

        assert kept.state is StepState.FAILED
        assert "Group authorization failed" in kept.told
        assert run.staged.groups.at() == run.planned
        run.staged.groups.keep = None
        assert run.undo(step).state is StepState.UNDONE, "granted, and given again"

    def test_quotes_a_hostile_group_in_the_command(self, tmp_path: Path) -> None:
        target = Target(kind="consumer-group", group="a; rm -rf /")
        run = Run(stage(tmp_path, target, absent=(0,)), target)

        assert "--group 'a; rm -rf /' " in run.undo(run.write()).told

    def test_refuses_when_the_group_has_gone_on(self, run: Run) -> None:
        step = run.write()
        key = keys(run)[0]
        run.staged.groups.offsets[GROUP][key] = GroupOffset(topic=key.topic, partition=key.partition, offset=10_000)

        with pytest.raises(ApplyError, match=r"somebody has committed since.*Nothing was changed"):
            run.undo(step)
        assert run.look(step) is StepStanding.CHANGED

    def test_refuses_when_a_commit_is_gone(self, run: Run) -> None:
        step = run.write()
        key = keys(run)[0]
        del run.staged.groups.offsets[GROUP][key]

        with pytest.raises(ApplyError, match=f"{key}: no commit, neither {run.planned[key][0]:,} nor {BEFORE:,}"):
            run.undo(step)
        assert len(run.staged.groups.commits) == 1

    def test_refuses_an_active_group(self, run: Run) -> None:
        step = run.write()
        run.staged.groups.state = "Stable"

        with pytest.raises(GroupActiveError):
            run.undo(step)

    def test_of_what_never_arrived_sends_what_was_there_before_once_more(self, run: Run) -> None:
        run.staged.groups.lose, run.staged.groups.arrives = (lambda: None), 0
        with pytest.raises(LostReplyError):
            run.write()
        with Journal.open(run.path, digest="ab" * 32, begun_at="") as journal:
            intended = journal.record(0).intended
        assert intended is not None

        assert run.undo(intended).state is StepState.UNDONE
        assert run.staged.groups.commits[1] == tuple(map(to_put_back, intended.offsets))
        assert len(run.staged.groups.commits) == 2


class TestLooking:
    def test_an_unreadable_group_is_unknown(self, run: Run) -> None:
        step = run.write()
        run.staged.groups.silent = True
        assert run.look(step) is StepStanding.UNKNOWN
        run.staged.groups.silent, run.staged.groups.error = False, "the user is not authorised"
        assert run.look(step) is StepStanding.UNKNOWN

    def test_a_group_whose_commits_are_gone_is_absent(self, run: Run) -> None:
        step = run.write()
        run.staged.groups.offsets.clear()
        assert run.look(step) is StepStanding.ABSENT


@with_cases("name", ["=cmd()", "<img src=x>", "\x1b[31m", "or\u202eders", "a\nb"])
def test_a_hostile_name_is_told_in_quotes(tmp_path: Path, name: str) -> None:
    target = Target(kind="consumer-group", group=name)
    run = Run(stage(tmp_path, target), target)
    run.staged.groups.state = "Stable"

    with pytest.raises(OffsetwiseError) as caught:
        run.write()
    assert repr(name) in caught.value.problem
