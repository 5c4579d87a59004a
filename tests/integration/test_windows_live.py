"""Narrow windows read by a client of each Spark task: the answers of Spark's own source, and what can go wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.config import client_properties
from offsetwise.errors import WorkerError
from offsetwise.lab.cluster import Lab
from offsetwise.model import IsolationLevel, TopicPartition
from offsetwise.pipeline import client_windows, content, shipping, window_reader, windows
from offsetwise.pipeline.client_windows import READ_WINDOWS
from offsetwise.pipeline.content import ContentMatch
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.pipeline.session import close_session
from offsetwise.pipeline.shipping import CLIENT
from offsetwise.pipeline.window_reader import Ask
from offsetwise.pipeline.windows import LocatedTask, answer_windows, row
from offsetwise.streams import ranges
from offsetwise.streams.ranges import RangeFailure, consumer_configuration
from offsetwise.translation.search import SearchTarget, Span
from offsetwise.translation.worker import LogSide, Paired, RecordQuestion, Task
from tests.commands import call
from tests.gates import FULL, of_all
from tests.integration.clusters import config
from tests.integration.secured_broker import USERS, SecuredCluster
from tests.integration.test_cluster_refusals import sasl, secured
from tests.integration.test_comparing_all_live import stable
from tests.integration.test_content_live import committed, inside_aborted, logs
from tests.integration.topics import TIMEOUT_S, copies, create, produce, trim
from tests.integration.truth import Both, find, match_of, read_both
from tests.translation.logs import Entry, Pair, generate

__all__ = ["committed", "logs", "secured"]

GENERATED = 240 if FULL else 80
SALT = bytes(16)


def both_ways(lab: Lab, wanted: Mapping[Both, Any], **how: Any) -> tuple[Any, Any]:
    """Find positions by the workers' clients, and by Spark's source, under one salt."""
    bootstraps = lab.old_bootstrap, lab.new_bootstrap
    return tuple(find(*bootstraps, wanted, by_clients=way, salt=SALT, **how) for way in (True, False))  # type: ignore[return-value]


@pytest.mark.gates
@pytest.mark.parametrize("window", [64, 8])
def test_both_ways_of_reading_give_the_same_answers_about_the_sample(lab: Lab, logs: list[Both], window: int) -> None:
    wanted = {both: both.everywhere() for both in logs}

    by_clients, by_source = both_ways(lab, wanted, window=window, natives_excluded=True)

    assert len(by_clients) > 80
    assert by_clients == by_source


@pytest.mark.gates
def test_both_ways_give_the_same_answers_to_a_job_that_reads_committed_records(
    lab: Lab, committed: dict[Both, Both]
) -> None:
    wanted = {seen: {*seen.everywhere(), *inside_aborted(both, seen)} for both, seen in committed.items()}

    by_clients, by_source = both_ways(lab, wanted, isolation=IsolationLevel.READ_COMMITTED, window=8)

    assert by_clients == by_source


def test_both_ways_give_the_same_answers_about_generated_logs(lab: Lab) -> None:
    """Records with and without keys, values, headers and schema ids, on as many partitions as there are logs."""
    topic = "windows-generated"
    pairs = [contiguous(generate(Random(number), uneven=number % 3 == 0)) for number in range(GENERATED)]
    for bootstrap, side in ((lab.old_bootstrap, "old"), (lab.new_bootstrap, "new")):
        write(bootstrap, topic, [getattr(pair, side) for pair in pairs])
    asks = [
        Ask(partition=TopicPartition(topic, number), new_topic=topic, target=pair.target)
        for number, pair in enumerate(pairs)
    ]

    by_clients, by_source = (
        match_of(lab.old_bootstrap, lab.new_bootstrap, by_clients=way, salt=SALT).find(asks) for way in (True, False)
    )

    assert by_clients == by_source
    assert len({found.answer.cut.exactness for found in by_clients.values() if found.answer.cut is not None}) >= 4
    assert any(found.answer.schema_ids or found.answer.ignored_headers for found in by_clients.values())


LIBRARIES = (pytest.param("0.0.1", id="another version"), pytest.param(PackageNotFoundError(), id="none"))


@pytest.mark.gates
@pytest.mark.parametrize("found", LIBRARIES)
def test_workers_without_our_librdkafka_leave_all_to_sparks_source_and_the_evidence_says_so(
    sample: Path, monkeypatch: pytest.MonkeyPatch, found: Exception | str
) -> None:
    wanted = ("compare", "-m", sample, "--checkpoint", "orders", "--json")
    by_client = call(*wanted).answered()
    close_session()
    asked = iter([version(CLIENT)])  # the driver's own; then what the workers have
    monkeypatch.setattr(shipping, "version", lambda _: next(asked, None) or raised(found))

    by_source = call(*wanted).answered()

    close_session()
    ways = [[row["evidence"]["statements"].pop() for row in each["partitions"]] for each in (by_client, by_source)]
    assert ways[0]
    assert {*ways[0]} == {"The records were read by librdkafka in Spark's tasks."}
    assert {*ways[1]} == {"The records were read by Spark's own Kafka source."}
    for each in (by_client, by_source):
        for one in each["partitions"]:
            (one["end_evidence"] or {"statements": []})["statements"] = []
    assert stable(by_client["partitions"]) == stable(by_source["partitions"])


def test_a_pending_batch_is_compared_in_the_round_that_finds_its_ends(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ("compare", "-m", sample, "--checkpoint", "orders", "--json")
    asked: list[int] = []
    same_records = ContentMatch.same_records

    def counted(match: ContentMatch, batches: Any) -> Any:
        asked.append(len(batches))
        return same_records(match, batches)

    monkeypatch.setattr(ContentMatch, "same_records", counted)
    in_one = call(*wanted).answered()
    assert asked == []
    monkeypatch.setattr(content, "ContentMatch", lambda **how: ContentMatch(**how | {"batch_ends": {}}))
    in_two = call(*wanted).answered()

    assert len(asked) == 1
    assert stable(in_one["partitions"]) == stable(in_two["partitions"])
    assert any(row["pending_equal"] for row in in_one["partitions"])


def raised(found: Exception | str) -> str:
    if isinstance(found, Exception):
        raise found
    return found


def test_a_round_is_one_job_that_reads_each_window_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, 100)):
        create(bootstrap, "windows-long", **{"message.timestamp.type": "LogAppendTime"})
        produce(bootstrap, {"windows-long": copies(first, 3_000)})
    both = read_both(lab.old_bootstrap, lab.new_bootstrap, TopicPartition("windows-long", 0), "windows-long")
    jobs: list[int] = []

    def counted(*given: Any) -> Any:
        table = interruptible(*given)
        jobs.append(table.num_rows)
        return table

    monkeypatch.setattr("offsetwise.pipeline.client_windows.interruptible", counted)
    for positions in ([1_500], range(700, 2_300, 100)):
        jobs.clear()
        found = find(lab.old_bootstrap, lab.new_bootstrap, {both: positions}, window=8, budget=100)

        assert {each.rounds for each in found.values()} == {2}
        assert jobs == [len(positions)] * 2


def contiguous(pair: Pair) -> Pair:
    """Return a pair as a broker writes it: offsets without gaps."""
    made = {}
    for side in ("old", "new"):
        made[side] = tuple(replace(entry, offset=at) for at, entry in enumerate(getattr(pair, side)))
    position = sum(entry.offset < pair.target.position for entry in pair.old)
    old, new = (Span(start=0, end=len(made[side])) for side in ("old", "new"))
    return Pair(**made, target=replace(pair.target, position=position, old=old, new=new))


def write(bootstrap: str, topic: str, generated: list[tuple[Entry, ...]]) -> None:
    """Write one log to each partition; equal identities are equal records, apart from what a migration changes."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    for future in admin.create_topics([NewTopic(topic, len(generated), 1)]).values():
        future.result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 2})
    for partition, entries in enumerate(generated):
        for entry in entries:
            text = repr(entry.identity).encode()
            kind = sum(text) % 5
            headers: list[tuple[str, str | bytes | None]] = (
                [("kind", b"%d" % kind), ("none", None)] if kind == 1 else []
            )
            if entry.origin is not None and partition % 4 == 0:
                headers = [*headers, ("redpanda-migrator-offset", entry.origin.to_bytes(8, "big"))]
            producer.produce(
                topic,
                key=None if kind == 2 else text[:3],
                value=b"\0" + partition.to_bytes(4, "big") + text if kind == 3 else text,
                partition=partition,
                timestamp=1_740_988_800_000 + (entry.time or 0),
                headers=headers,
            )
            producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0


@pytest.mark.parametrize("by_clients", of_all([True, False], [True]), ids=lambda by: "clients" if by else "source")
def test_a_job_whose_topic_is_gone_keeps_no_other_from_its_answers(lab: Lab, by_clients: bool) -> None:
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, 20)):
        create(bootstrap, f"windows-there-{by_clients}")
        produce(bootstrap, {f"windows-there-{by_clients}": copies(first, 60)})
    span = Span(start=0, end=40)
    there, gone, both = (
        Ask(
            partition=TopicPartition(topic, 0),
            new_topic=topic,
            target=SearchTarget(position=position, old=span, new=span),
        )
        for topic, position in (
            (f"windows-there-{by_clients}", 30),
            ("windows-gone", 5),
            (f"windows-there-{by_clients}", 35),
        )
    )
    match = match_of(lab.old_bootstrap, lab.new_bootstrap, by_clients=by_clients, salt=SALT)

    found = match.find([there], [gone, both], [both])

    assert {ask: each.answer.cut.offset for ask, each in found.items() if each.answer.cut} == {there: 10, both: 15}
    assert [*match.reader.unread] == [gone]
    assert "does not have" in match.reader.unread[gone].problem


# --------------------------------------------------------------------------- what can go wrong, without Spark


def rows_of(
    topic: str, old: Mapping[str, str], new: Mapping[str, str], *, end: int = 10, start: int = 0
) -> list[dict[str, Any]]:
    """Let one task answer about one partition, in this process."""
    return answers_to([[same(7, topic, start, end)]], old, new)


def same(number: int, topic: str, start: int, end: int) -> LocatedTask:
    span = Span(start=start, end=end)
    task = Task(question=RecordQuestion.SAME, position=0, old=span, new=span, old_whole=span, new_whole=span)
    return LocatedTask(number=number, old_topic=topic, new_topic=topic, partition=0, task=task, token="of this one")


def answers_to(asked: list[list[LocatedTask]], old: Mapping[str, str], new: Mapping[str, str]) -> list[dict[str, Any]]:
    clients = {
        log: consumer_configuration(each) | READ_WINDOWS for log, each in ((LogSide.OLD, old), (LogSide.NEW, new))
    }
    batch = pa.RecordBatch.from_arrays([pa.array([*map(row, asked)])], names=["asked"])
    (answered,) = answer_windows(clients, SALT, iter([batch]))
    made: list[dict[str, Any]] = answered.to_pylist()
    return made


def test_windows_of_several_jobs_on_one_partition_are_read_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    create(lab.old_bootstrap, "windows-shared")
    produce(lab.old_bootstrap, {"windows-shared": copies(0, 100)})
    read: Counter[int] = Counter()
    made = windows._KeptRecord.record

    def counted(reader: Any, message: Any) -> Any:
        read[message.offset()] += 1
        return made(reader, message)

    pairings: list[int] = []

    def counted_pair(*given: Any) -> Any:
        pairings.append(1)
        return Paired(*given)

    monkeypatch.setattr(windows._KeptRecord, "record", counted)
    monkeypatch.setattr(windows, "Paired", counted_pair)
    asked = [same(number, "windows-shared", start, start + 30) for number, start in enumerate((0, 10, 10, 40, 65))]

    answered = answers_to([asked], *[{"bootstrap.servers": lab.old_bootstrap}] * 2)

    assert [each["task"] for each in answered if '"same": true' in each["answer"]] == [0, 1, 2, 3, 4]
    assert read == dict.fromkeys(range(95), 2), "once on each of both logs"
    assert len(pairings) == 4, "two tasks want the same records"


def test_a_partition_that_cannot_be_read_keeps_no_other_back(lab: Lab) -> None:
    create(lab.old_bootstrap, "windows-good")
    produce(lab.old_bootstrap, {"windows-good": copies(0, 20)})
    asked = [[same(1, "windows-never-created", 0, 10)], [same(2, "windows-good", 0, 10)]]

    first, second = answers_to(asked, *[{"bootstrap.servers": lab.old_bootstrap}] * 2)

    assert (first["failed"], first["answer"]) == (RangeFailure.GONE, None)
    assert (second["failed"], '"same": true' in second["answer"]) == (None, True)


@pytest.fixture
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "STALL_S", 3.0)


def test_a_range_that_retention_passed_comes_back_shorter(lab: Lab) -> None:
    create(lab.old_bootstrap, "windows-trimmed")
    produce(lab.old_bootstrap, {"windows-trimmed": copies(0, 20)})
    trim(lab.old_bootstrap, "windows-trimmed", 5)

    (row,) = rows_of("windows-trimmed", *[{"bootstrap.servers": lab.old_bootstrap}] * 2)

    assert (row["task"], row["failed"]) == (7, None)
    assert '"same": true' in row["answer"]


@pytest.mark.usefixtures("short_wait")
def test_a_log_that_ends_below_the_window_is_an_error(lab: Lab) -> None:
    create(lab.old_bootstrap, "windows-short")
    produce(lab.old_bootstrap, {"windows-short": copies(0, 5)})
    servers = {"bootstrap.servers": lab.old_bootstrap}

    (beyond,) = rows_of("windows-short", servers, servers, start=7)
    (across,) = rows_of("windows-short", servers, servers)

    assert (beyond["failed"], beyond["told"]) == (
        RangeFailure.CUT_BACK,
        "windows-short-0 ends at 5, and 7 to 10 was to be read",
    )
    assert (across["answer"], across["failed"]) == (None, RangeFailure.SILENT)


@pytest.mark.usefixtures("short_wait")
def test_a_broker_that_dies_between_two_windows_of_one_client_costs_the_second_one_only(
    secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = client_properties(
        config(f"127.0.0.1:{secured.tls_port}", security_protocol="ssl", ssl_ca_location=secured.ca)
    )
    clients = {log: consumer_configuration(servers) | READ_WINDOWS for log in (LogSide.OLD, LogSide.NEW)}
    asked = pa.array([row([same(1, "visible", 0, 4), same(2, "visible", 6, 10)])])
    monkeypatch.setattr(windows, "OFFSETS_AT_ONCE", 5)

    with ExitStack() as dead:
        made: list[dict[str, Any]] = []
        for part in answer_windows(clients, SALT, iter([pa.RecordBatch.from_arrays([asked], names=["asked"])])):
            made += part.to_pylist()
            if len(made) == 1:
                dead.enter_context(secured.paused(secured.first))
                dead.enter_context(secured.paused(secured.second))

    first, second = made
    assert '"same": true' in first["answer"]
    assert (second["answer"], second["failed"]) == (None, RangeFailure.SILENT)
    assert "nothing of visible-0 came within 3 s" in second["told"]


def test_a_topic_that_is_gone_is_an_error(lab: Lab) -> None:
    (row,) = rows_of("windows-never-created", *[{"bootstrap.servers": lab.old_bootstrap}] * 2)

    assert row["failed"] == RangeFailure.GONE
    assert "windows-never-created" in row["told"]


@pytest.mark.usefixtures("short_wait")
def test_a_cluster_that_is_silent_is_an_error(lab: Lab) -> None:
    create(lab.old_bootstrap, "windows-silent")
    produce(lab.old_bootstrap, {"windows-silent": copies(0, 20)})

    (row,) = rows_of("windows-silent", {"bootstrap.servers": lab.old_bootstrap}, {"bootstrap.servers": "127.0.0.1:1"})

    assert row["failed"] == RangeFailure.SILENT
    assert "nothing of windows-silent-0 came within 3 s" in row["told"]


def test_a_header_whose_name_is_not_utf_8_is_left_to_sparks_source(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    create(lab.old_bootstrap, "windows-header")
    produce(lab.old_bootstrap, {"windows-header": copies(0, 20)})

    def unreadable(*_: object) -> None:
        b"\xff".decode()

    monkeypatch.setattr(windows._KeptRecord, "record", unreadable)  # no producer here can write such a name

    (row,) = rows_of("windows-header", *[{"bootstrap.servers": lab.old_bootstrap}] * 2)

    assert (row["task"], row["answer"], row["failed"]) == (7, None, None)


def test_tls_and_sasl_open_the_cluster_and_a_wrong_password_is_refused(
    secured: SecuredCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD", USERS["reader"])
    tls = config(f"127.0.0.1:{secured.tls_port}", security_protocol="ssl", ssl_ca_location=secured.ca)
    with_password = client_properties(sasl(secured, "reader"))

    (row,) = rows_of("visible", client_properties(tls), with_password)
    (refused,) = rows_of("visible", client_properties(tls), {**with_password, "sasl.password": "canary"})

    assert '"same": true' in row["answer"]
    assert refused["failed"] == RangeFailure.REFUSED
    assert "canary" not in refused["told"]


def _changed(table: pa.Table, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> pa.Table:
    return pa.Table.from_pylist(change(table.to_pylist()), schema=table.schema)


def _swapped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first, second, *others = rows
    return [{**first, "task": second["task"]}, {**second, "task": first["task"]}, *others]


LIES: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "rows swapped": _swapped,
    "a row twice": lambda rows: [*rows, rows[0]],
    "a task that nobody asked about": lambda rows: [{**rows[0], "task": -1}, *rows[1:]],
    "no task": lambda rows: [{**rows[0], "task": None}, *rows[1:]],
    "no answer": lambda rows: [{**rows[0], "answer": "{}"}, *rows[1:]],
}


@pytest.mark.parametrize("by_clients", of_all([True, False], [True]), ids=lambda by: "clients" if by else "source")
def test_a_worker_that_lies_is_refused_and_no_answer_of_it_used(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, by_clients: bool
) -> None:
    topics = [f"windows-lie-{by_clients}-{number}".lower() for number in range(2)]
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, *topics)
        produce(bootstrap, {topic: copies(number, 100 + number) for number, topic in enumerate(topics)})
    whole = Span(start=0, end=100)
    asks = [
        Ask(
            partition=TopicPartition(topic, 0),
            new_topic=topic,
            target=SearchTarget(position=40 + number, old=whole, new=whole),
        )
        for number, topic in enumerate(topics)
    ]
    match = match_of(lab.old_bootstrap, lab.new_bootstrap, by_clients=by_clients, salt=SALT)
    assert [found.answer.cut.offset for found in match.find(asks).values() if found.answer.cut] == [40, 41]
    module = client_windows if by_clients else window_reader

    for lie in LIES.values():
        with monkeypatch.context() as patched:
            patched.setattr(module, "interruptible", lambda *given, lie=lie: _changed(interruptible(*given), lie))
            with pytest.raises(WorkerError, match="Nothing was used from them"):
                match.find(asks)
