"""Whatever a broker answers, console and command live, and say in a sentence that it cannot be."""

from __future__ import annotations

import copy
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined] # re-exported without saying so
from streamlit.testing.v1 import AppTest

from offsetwise import files
from offsetwise.config import ClusterConfig
from offsetwise.console import answers
from offsetwise.console.answers import Question
from offsetwise.console.reader import Reader
from offsetwise.errors import ClusterError, OffsetwiseError
from offsetwise.lab import Lab
from offsetwise.model import MAX_PARTITIONS, Cluster, LagPart, LagSample, Snapshot
from offsetwise.plugins.kafka.stream import reader
from tests.attacks.hand_made import Page, ask, session
from tests.browser.conftest import CLI, process
from tests.console.conftest import APP, words
from tests.gates import of_all
from tests.integration.clusters import commit, create, fill
from tests.integration.lying_proxy import FETCH, LIST_OFFSETS, METADATA, Lie, lying
from tests.integration.relay import Request, relayed
from tests.with_cases import with_cases

pytestmark = pytest.mark.proof

TOPIC = "lied-about"
GROUP = "lied-about-group"


@pytest.fixture(scope="module")
def brokers(lab: Lab) -> Lab:
    """Two clusters with a topic of 3 partitions and a group."""
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, NewTopic(TOPIC, 3, 1))
        fill(bootstrap, TOPIC, {0: 30, 1: 20, 2: 10})
        commit(bootstrap, GROUP, TOPIC, {0: 12, 1: 3, 2: 7})
    return lab


def topics(change: Callable[[Any], None]) -> Lie:
    """Lie about the topic, wherever a broker speaks of it."""

    def lie(message: Any) -> None:
        for each in message.topics:
            if each.name == TOPIC and each.partitions:
                change(each)

    return lie


def numbered(number: int) -> Lie:
    """Return the last partition another number."""
    return topics(lambda topic: setattr(topic.partitions[-1], "partition_index", number))


def one_more(number: int) -> Lie:
    """List a partition that there is not."""

    def add(topic: Any) -> None:
        more = copy.copy(topic.partitions[0])
        more.partition_index = number
        topic.partitions.append(more)

    return topics(add)


def not_asked_for(message: Any) -> None:
    """Answer about one topic more."""
    if message.topics:
        more = copy.copy(message.topics[0])
        more.name = "nobody-asked"
        message.topics.append(more)


def renamed(message: Any) -> None:
    """Answer about other topics."""
    for each in message.topics:
        each.name = f"x{each.name}"


def twice(message: Any) -> None:
    """Answer about each topic twice."""
    message.topics = [*message.topics, *message.topics]


def other_ids(message: Any) -> None:
    """Answer about topics that were made anew."""
    for each in message.topics:
        each.topic_id = uuid4()


def offsets(value: int) -> Lie:
    """Return every offset, of starts and ends, the same value."""

    def lie(message: Any) -> None:
        for topic in message.topics:
            for partition in topic.partitions:
                partition.offset = value

    return lie


REFUSED = {
    "partition 1,000,000": numbered(1_000_000),
    "the first number that no topic has": numbered(MAX_PARTITIONS),
    "the greatest number": one_more(2**31 - 1),
    "a number below": numbered(-5),
    "one more than there are": one_more(4),
}
"""Seen before librdkafka uses the number."""


def both_at_once(message: Any) -> None:
    """Give the last partition a number that there is not, and answer about one topic more."""
    numbered(1_000_000)(message)
    not_asked_for(message)


DEADLY = {"a topic more": not_asked_for, "other topics": renamed, "each topic twice": twice}
"""Which end the process that librdkafka is in."""
OTHER: dict[str, dict[int, Lie]] = {
    "no topics": {METADATA: lambda message: setattr(message, "topics", [])},
    "ids of others": {METADATA: other_ids},
    "no ends": {LIST_OFFSETS: offsets(-1)},
    "far ends": {LIST_OFFSETS: offsets(2**63 - 1)},
    "ends below nothing": {LIST_OFFSETS: offsets(-(2**63))},
    "nothing fetched": {FETCH: lambda message: setattr(message, "responses", [])},
}


def migration(folder: Path, lab: Lab, **bootstrap: str) -> Path:
    sides = {"source": lab.old_bootstrap, "target": lab.new_bootstrap} | bootstrap
    made = {
        "name": "lied-to",
        **{
            side: {"name": name, "properties": {"bootstrap.servers": sides[side]}}
            for side, name in (("source", "old"), ("target", "new"))
        },
        "groups": [GROUP],
    }
    path = folder / "migration.yaml"
    path.write_text(yaml.safe_dump(made), encoding="utf-8")
    return path


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-c", "from offsetwise.cli import main; main()", *arguments]
    return subprocess.run(run, capture_output=True, text=True, check=False, timeout=300)


def read(bootstrap: str) -> Snapshot | OffsetwiseError:
    config = ClusterConfig(name="old", properties={"bootstrap.servers": bootstrap})
    try:
        read = reader.read_whole(Cluster.OLD, config, topics=(TOPIC,), groups=(GROUP,), timeout_s=3)
        return read.snapshot((TOPIC,), (GROUP,))
    except OffsetwiseError as error:
        return error


@with_cases("lie", ["partition 1,000,000", "a topic more"])
@with_cases("side", ["source", "target"])
def test_a_command_says_so_and_is_ended_by_no_signal(brokers: Lab, tmp_path: Path, side: str, lie: str) -> None:
    true = {"source": brokers.old_bootstrap, "target": brokers.new_bootstrap}[side]
    cluster = {"source": "old", "target": "new"}[side]
    with lying(true, {METADATA: (REFUSED | DEADLY)[lie]}) as address:
        path = migration(tmp_path, brokers, **{side: address})
        out = tmp_path / "snapshot.json"
        ran = command("snapshot", "-m", str(path), "--cluster", cluster, "--out", str(out))
        assert (ran.returncode, ran.stdout) == (1, "")
        assert f"Cluster '{cluster}'" in " ".join(ran.stderr.split())
        assert "Traceback" not in ran.stderr
        assert "defect" not in ran.stderr
        assert not out.exists()
        lag = command("compare", "-m", str(path), "--group", GROUP, "--json")
        assert lag.returncode == 1
        assert '"ClusterError"' in lag.stdout


@with_cases("lie", REFUSED)
def test_a_number_that_no_partition_has_is_refused_before_it_is_used(brokers: Lab, lie: str) -> None:
    with lying(brokers.old_bootstrap, {METADATA: REFUSED[lie]}) as address:
        error = read(address)

    assert isinstance(error, ClusterError)
    assert "expected partitions numbered from 0 on, and at most 100,000 of a topic, found number" in error.problem
    assert repr(TOPIC) in error.problem


@with_cases("lie", DEADLY)
def test_an_answer_that_ends_the_library_is_an_error_and_the_next_question_is_answered(brokers: Lab, lie: str) -> None:
    lies: dict[int, Lie] = {METADATA: DEADLY[lie]}
    with lying(brokers.old_bootstrap, lies) as address:
        error = read(address)
        lies.clear()
        again = read(address)

    assert isinstance(error, ClusterError)
    assert "ended with SIGSEGV" in error.problem
    assert isinstance(again, Snapshot)
    assert [len(each.partitions) for each in again.topics] == [3]


@with_cases("lie", OTHER)
def test_other_lies_leave_a_snapshot_with_its_problems_or_an_error(brokers: Lab, lie: str) -> None:
    with lying(brokers.old_bootstrap, OTHER[lie]) as address:
        found = read(address)

    if isinstance(found, Snapshot):
        ranges = [part for each in found.topics for part in each.partitions]
        assert all(value is None or value >= 0 for part in ranges for value in (part.log_start, part.hw, part.lso))
    else:
        assert isinstance(found, ClusterError)


@with_cases("seed", range(24))
def test_answers_with_bytes_of_any_kind_in_them_never_end_this_process(brokers: Lab, seed: int) -> None:
    chosen = random.Random(seed)
    api = chosen.choice([METADATA, METADATA, LIST_OFFSETS, FETCH, 9, 15, 16, 32])
    port = int(brokers.old_bootstrap.rpartition(":")[2])

    def changed(request: Request, answer: bytes) -> bytes:
        if request.api != api:
            return answer
        content = bytearray(answer)
        for _ in range(chosen.choice([1, 2, 4])):
            at = chosen.randrange(4, len(content))
            content[at : at + chosen.choice([1, 1, 4])] = chosen.choice(
                [b"\x00", b"\xff", b"\x80", b"\x00\x0f\x42\x40", b"\x7f\xff\xff\xff", chosen.randbytes(3)]
            )
        return bytes(content)

    with relayed([port], answers=changed) as address:
        found = read(address)

    assert isinstance(found, (Snapshot, ClusterError))


@pytest.fixture
def console(brokers: Lab, tmp_path: Path) -> Iterator[Callable[[str], Reader]]:
    """Serve a migration whose old cluster is at an address, for this process."""

    def served(address: str) -> Reader:
        made = Reader((migration(tmp_path, brokers, source=address),))
        answers.use(made)
        return made

    yield served
    answers.end()


@with_cases("lie", ["partition 1,000,000", "a topic more"])
def test_the_console_lives_and_so_does_another_visitors_session(
    brokers: Lab, console: Callable[[str], Reader], lie: str
) -> None:
    before = os.getpid()
    with lying(brokers.old_bootstrap, {METADATA: (REFUSED | DEADLY)[lie]}) as address:
        console(address)
        other = AppTest.from_file(str(APP), default_timeout=120).run()
        other.session_state["kept"] = "of another visitor"
        here = answers.current()
        lied_to = here.read(Question.of(Reader.cluster, "lied-to", Cluster.OLD))
        beside = here.read(Question.of(Reader.cluster, "lied-to", Cluster.NEW))
        error = lied_to.outcome.exception(timeout=120)
        assert beside.outcome.result(timeout=120).snapshot.topics, "what is read of the other cluster is not lost"
        other.run()

    assert os.getpid() == before
    assert isinstance(error, ClusterError)
    assert not other.exception
    assert other.session_state["kept"] == "of another visitor"
    assert "Offsetwise" in words(other)


LIES = {name: (REFUSED | DEADLY)[name] for name in ("partition 1,000,000", "a topic more")} | {"both": both_at_once}


@with_cases("lie", LIES)
def test_watch_says_what_it_could_not_read_and_goes_on_watching(brokers: Lab, tmp_path: Path, lie: str) -> None:
    lies: dict[int, Lie] = {METADATA: LIES[lie]}
    with lying(brokers.old_bootstrap, lies) as address:
        path = migration(tmp_path, brokers, source=address)
        given = ("-m", str(path), "--every", "1", "--store", f"sqlite:///{tmp_path / 'store.sqlite'}", "--json")
        run = [sys.executable, "-c", CLI, "watch", *given]
        with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
            assert watching.stdout is not None
            samples = (_sample(line) for line in watching.stdout)
            lied_to = [next(samples), next(samples)]
            lies.clear()
            true = next(sample for sample in samples if not sample.missing)
            watching.send_signal(signal.SIGTERM)
            _, said = watching.communicate(timeout=120)

    for sample in lied_to:
        assert [missing.part for missing in sample.missing] == [LagPart.OLD]
        assert "Cluster 'old'" in sample.missing[0].problem
        assert sample.new.read_at_ms is not None, "the other cluster was read"
    assert {(row.position, row.old.hw) for row in true.partitions} == {(12, 30), (3, 20), (7, 10)}
    assert watching.returncode == 0
    assert "old not read" in said
    assert "Traceback" not in said


def _sample(line: str) -> LagSample:
    sample: LagSample = files.load(line, "lag-sample", subject="stdout")
    return sample


@with_cases("lie", of_all([*LIES], ["both"]))
def test_a_running_console_lives_and_another_visitors_session_goes_on(brokers: Lab, tmp_path: Path, lie: str) -> None:
    lies: dict[int, Lie] = {METADATA: LIES[lie]}
    with lying(brokers.old_bootstrap, lies) as proxy:
        command = ("console", "-m", str(migration(tmp_path, brokers, source=proxy)), "--port", "{port}")
        with (
            process("-c", CLI, *command, log=tmp_path / "log") as (address, pid),
            session(address) as page,
            session(address) as other,
        ):
            other.run("help")
            before = other.session
            page.run("clusters", "migration=lied-to")
            page.run("clusters", "migration=lied-to", press=_buttons(page, "Read both clusters")[0])
            said = (
                "ended with SIGSEGV" if lie == "a topic more" else "at most 100,000 of a topic, found number 1,000,000"
            )
            _until(page, lambda: said in page.words)
            other.run("compare")
            assert (other.session, "Compare" in other.words) == (before, True)
            assert ask(address, "/_stcore/health").status == 200
            lies.clear()
            page.run("clusters", "migration=lied-to", press=_buttons(page, "Retry")[0])
            _until(page, lambda: len(_buttons(page, "Read again")) == len(Cluster))
            os.kill(pid, 0)
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")


def _buttons(page: Page, label: str) -> list[str]:
    """Return the ids of the buttons with a label."""
    return [each.button.id for each in page.elements if each.HasField("button") and each.button.label == label]


def _until(page: Page, true: Callable[[], bool]) -> None:
    """Run the page again until something is true of it."""
    limit = time.monotonic() + 120
    while not true():
        assert time.monotonic() < limit, page.words
        time.sleep(0.2)
        page.run("clusters", "migration=lied-to")


def by_turns(*values: int) -> Lie:
    """Return every offset, of starts and ends, another value in each answer."""
    left = cycle(values)

    def lie(message: Any) -> None:
        value = next(left)
        for topic in message.topics:
            for partition in topic.partitions:
                partition.offset = value

    return lie


ENDS: dict[str, Callable[[], Lie]] = {
    "no ends": lambda: offsets(-1),
    "far ends": lambda: offsets(2**63 - 1),
    "ends below nothing": lambda: offsets(-(2**63)),
    "others by turns": lambda: by_turns(950, 0, 17),
    "starts above ends": lambda: by_turns(2**40, 5),
}
"""What a broker says of where logs begin and end."""


@with_cases("lie", ENDS)
@with_cases("side", of_all(["source", "target"], ["source"]))
def test_starts_and_ends_that_cannot_be_end_no_command_and_no_console_and_prove_nothing(
    brokers: Lab, console: Callable[[str], Reader], tmp_path: Path, side: str, lie: str
) -> None:
    true = {"source": brokers.old_bootstrap, "target": brokers.new_bootstrap}[side]
    with lying(true, {LIST_OFFSETS: ENDS[lie]()}) as address:
        path = migration(tmp_path, brokers, **{side: address})
        cluster, out = {"source": "old", "target": "new"}[side], tmp_path / "snapshot.json"
        for given in (
            ("snapshot", "--cluster", cluster, "--out", str(out)),
            ("compare", "--group", GROUP, "--json", *(() if lie == "others by turns" else ("--no-content",))),
        ):
            ran = command(*given, "-m", str(path))
            assert ran.returncode in (0, 1), ran.stderr
            assert "Traceback" not in ran.stderr
            assert "defect" not in ran.stderr
            if ran.returncode == 0 and given[0] == "compare":
                rows = json.loads(ran.stdout)["partitions"]
                assert {row["exactness"] for row in rows} <= {"UNKNOWN", "CLAIMED"}
        if side == "source":
            console(address)
            asked = answers.current().read(Question.of(Reader.cluster, "lied-to", Cluster.OLD))
            error = asked.outcome.exception(timeout=120)
            assert error is None or isinstance(error, ClusterError)
            other = AppTest.from_file(str(APP), default_timeout=120).run()
            assert not other.exception
    if out.exists():
        ends = [each for topic in json.loads(out.read_text())["topics"] for each in topic["partitions"]]
        assert all(int(each[key] or 0) >= 0 for each in ends for key in ("log_start", "hw", "lso"))
        assert all(int(each["log_start"] or 0) <= int(each["hw"] or 0) for each in ends)
