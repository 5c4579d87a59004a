"""A broker lies to `apply` and `rollback` of a group: their process lives, and what follows looks first."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from offsetwise.apply.journal import read_journal
from offsetwise.errors import LostReplyError, OffsetwiseError
from offsetwise.lab import Lab
from offsetwise.model import ReceiptStep, StepState
from tests.commands import Ran
from tests.gates import of_all
from tests.integration.groups import Job, commit
from tests.integration.lying_proxy import (
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    FIND_COORDINATOR,
    LIST_GROUPS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    Lie,
    any_lie,
    lying,
)
from tests.integration.relay import Request, relayed
from tests.integration.test_lying_brokers import command
from tests.plugins.kafka.live.led_topic import GONE, TOPIC
from tests.plugins.kafka.live.test_leading_away_live import AT, BEFORE, Written, topic

__all__ = ["topic"]

pytestmark = pytest.mark.proof

MOMENTS = ("at once", "behind the recheck", "behind the change")
KINDS = (METADATA, FIND_COORDINATOR, OFFSET_FETCH, OFFSET_COMMIT, DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS)


def after(answers: int, lie: Lie) -> Lie:
    """Return a lie that begins behind so many answers."""
    left = [answers]

    def later(message: Any) -> None:
        if left[0]:
            left[0] -= 1
        else:
            lie(message)

    return later


@pytest.mark.parametrize("seed", of_all(range(40), range(5)))
def test_no_lie_ends_the_process_that_writes_and_what_follows_goes_on_from_the_truth(
    seed: int, lab: Lab, topic: str, tmp_path: Path
) -> None:
    assert topic
    chosen = Random(seed)
    before = chosen.choice([None, BEFORE])
    lies: dict[int, Lie] = {}

    def lie() -> None:
        kind = chosen.choice(KINDS)
        lies[kind] = after(chosen.randrange(4), any_lie(chosen))

    with lying(lab.new_bootstrap, lies) as address:
        run = Written(lab, address, tmp_path, f"lied-to-{seed}", before=before)
        lie()
        written = run.write()
        assert run.there() in (before, AT), lies.keys()
        assert isinstance(written, ReceiptStep | OffsetwiseError)
        record = read_journal(run.path).steps.get(0)
        if run.there() == AT:
            assert record is not None, "nothing is changed that the journal has not announced"
        assert isinstance(written, ReceiptStep) == (record is not None and record.whole)
        if isinstance(written, ReceiptStep):
            assert run.there() == AT
        lies.clear()
        step = run.write()
        assert isinstance(step, ReceiptStep), (step, step.__cause__)
        assert run.there() == AT

        lie()
        undone = run.undo(step)
        assert run.there() in (before, AT), lies.keys()
        finished = isinstance(undone, ReceiptStep) and undone.state is StepState.UNDONE
        assert finished == (read_journal(run.path).steps[0].undone is not None)
        if finished:
            assert run.there() == before, lies.keys()
        lies.clear()
        undone = run.undo(step)
        assert isinstance(undone, ReceiptStep), undone
        assert undone.state is StepState.UNDONE
        assert run.there() == before


def of_another_group(message: Any) -> None:
    """Describe a group that nobody asked for: librdkafka ends its process over that."""
    for group in message.groups:
        group.group_id = f"x{group.group_id}"


class Commands(Job):
    """The commands on a plan, each in a process of its own, as a person gives them."""

    def call(self, *arguments: str | Path) -> Ran:
        ran = command(*map(str, arguments), "--migration", str(self.folder / "m.yaml"), "--json")
        return Ran(ran.returncode, ran.stdout, ran.stderr)


def run(job: Job, verb: str) -> Ran:
    return job.apply("--execute") if verb == "apply" else job.receipt("rollback", "--execute")


@pytest.mark.parametrize("moment", of_all(MOMENTS, MOMENTS[-1:]))
def test_an_answer_that_ends_the_library_ends_no_command_and_the_same_command_finishes_the_work(
    moment: str, lab: Lab, topic: str, tmp_path: Path
) -> None:
    assert topic
    job = Commands(lab, f"lied-{moment}".replace(" ", "-"), tmp_path)
    commit(lab.old_bootstrap, job.group, {TOPIC: AT + GONE})
    commit(lab.new_bootstrap, job.group, {TOPIC: BEFORE}, "by hand")
    before, after = {TOPIC: (BEFORE, "by hand")}, {TOPIC: (AT, "")}
    journal = tmp_path / "receipt.json.journal"
    lies: dict[int, Lie] = {}

    def begin() -> None:
        """Lie from the moment on."""
        if moment == "behind the change":
            lies[OFFSET_COMMIT] = lambda _: lies.__setitem__(DESCRIBE_GROUPS, of_another_group)
        else:
            ready = journal.exists if moment == "behind the recheck" else lambda: True
            lies[DESCRIBE_GROUPS] = lambda message: of_another_group(message) if ready() else None

    with lying(lab.new_bootstrap, lies) as address:
        job.write_migration(target={"properties": {"bootstrap.servers": address}})
        job.drafted()
        for verb, there, wanted in (("apply", before, after), ("rollback", after, before)):
            begin()
            refused = run(job, verb)
            lies.clear()
            assert refused.code in (1, 3), refused.err
            assert not any(word in refused.err for word in ("Traceback", "defect"))
            said = refused.out + refused.err
            assert "ended with SIGABRT" in said
            assert ("Whether they are committed is not known" in said) == (moment == "behind the change"), said
            assert job.now() == (wanted if moment == "behind the change" else there)
            assert run(job, verb).code == 0
            assert job.now() == wanted


@pytest.mark.parametrize("arrives", [True, False], ids=["the request arrives", "it does not"])
@pytest.mark.parametrize("before", [None, BEFORE], ids=["no commit before", "a commit before"])
def test_where_the_process_ends_at_a_change_the_reply_is_lost_and_the_group_is_read_first(
    before: int | None, arrives: bool, lab: Lab, topic: str, tmp_path: Path
) -> None:
    assert topic
    ending: set[int] = set()

    def forwards(request: Request) -> bool:
        if request.api not in ending:
            return True
        ending.clear()
        for process in asking():
            os.kill(process, signal.SIGSEGV)
        return arrives

    with relayed([int(lab.new_bootstrap.rpartition(":")[2])], forwards=forwards) as address:
        run = Written(lab, address, tmp_path, f"ended-{before}-{arrives}", before=before)
        ending.add(OFFSET_COMMIT)
        written = run.write()
        assert isinstance(written, ReceiptStep) if arrives else isinstance(written, LostReplyError), written
        assert run.there() == (AT if arrives else before)
        assert (read_journal(run.path).steps[0].done is None) == (not arrives)
        step = run.write()
        assert isinstance(step, ReceiptStep), step
        assert run.there() == AT

        ending.add(DELETE_GROUPS if before is None else OFFSET_COMMIT)
        undone = run.undo(step)
        assert not ending
        if isinstance(undone, OffsetwiseError):
            assert isinstance(undone, LostReplyError)
            assert read_journal(run.path).steps[0].undoing
            undone = run.undo(step)
        else:
            assert arrives
        assert isinstance(undone, ReceiptStep), undone
        assert undone.state is StepState.UNDONE
        assert run.there() == before


def asking() -> Iterator[int]:
    """Yield the processes in which this one asks clusters."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"client_process" in (path.parent / "cmdline").read_bytes():
                yield int(path.parent.name)
