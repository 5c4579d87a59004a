"""Simulated mirrors on real brokers: what is said of each holds, and the records are counted once it has caught up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from random import Random
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.lab.cluster import Lab
from offsetwise.model import Exactness, Link, Outcome, PartitionComparison, TopicPartition
from offsetwise.pipeline.window_reader import Ask
from offsetwise.plan.gate import mirrored
from offsetwise.position import offset_of
from tests.integration.topics import TIMEOUT_S
from tests.integration.truth import match_of
from tests.translation.mirrors import Mirrored, simulate
from tests.translation.test_mirrors import LETTERS, case_of, row_of, target_of, wrong_in

SIMULATED: Final = 200
SEED: Final = 31_337
TOPIC: Final = "mirrors-simulated"
TIME_MS: Final = 1_740_988_800_000
Claimed = tuple[Mirrored, tuple[int, ...]]


def reported() -> Iterator[Claimed]:
    """Yield mirrors that were answered wrongly once, with what others claim of the position."""
    names = [f"r{number}" for number in range(2_000)]
    for lag in (1, 15, 30):  # equal records across the end
        for position in (6, 26, 46):
            yield case_of(position, "abcdef" + "=" * 40, "abcdef" + "=" * (40 - lag), "=" * lag), ()
    for at in (1, 20, 51):  # a mirror that went back, and catches up
        yield case_of(len(LETTERS), LETTERS, LETTERS + LETTERS[:at], LETTERS[at:]), ()
    for at in (1, 2, 3):
        yield case_of(0, "abcd", "abcd" + "abcd"[:at], "abcd"[at:]), ()
    for position in (2, 4):
        yield case_of(position, "abee", "abee", "e"), ()
    for lag in (2, 10, 50):  # a copy by somebody else of the last record
        reached = len(LETTERS) - lag
        yield case_of(len(LETTERS) - 1, LETTERS, LETTERS[:reached] + LETTERS[-1], LETTERS[reached:]), ()
    for latest in (1, 50):  # a mirror that began at the latest record, and then at the first one
        new = (*names[1_500 : 1_500 + latest], *names[:300])
        whole = case_of(1, "", "", "", mirror_only=True, window=16, budget=400)
        yield replace(whole, old=tuple(names), new=new, to_come=tuple(names[300:])), ()
    for lag in (1, 2):  # a log above the budget, and a claim that leads into it
        old = tuple(names[:147])
        yield (
            replace(case_of(146, "", "", "", window=4, budget=60), old=old, new=old[:-lag], to_come=old[-lag:]),
            (67,),
        )


def simulated() -> Iterator[Claimed]:
    for number in range(SIMULATED):
        case = simulate(Random(SEED * 7_000_003 + number))
        if not case.looks_complete:
            yield replace(case, old_start=0, position=case.position - case.old_start), ()


def write(bootstrap: str, topic: str, logs: Sequence[Sequence[str]]) -> None:
    """Append records to the partitions; equal names are equal records, and no time tells them apart."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 2})
    for partition, records in enumerate(logs):
        for record in records:
            producer.produce(topic, key=record[:2], value=record, partition=partition, timestamp=TIME_MS)
            producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0


def read(bootstrap: str, topic: str, partitions: int) -> list[list[str]]:
    """Read all partitions from their start to their end."""
    logs: list[list[str]] = [[] for _ in range(partitions)]
    left = set(range(partitions))
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "enable.partition.eof": True, "log_level": 2}
    with closing(Consumer(settings | {"enable.auto.commit": False})) as consumer:
        consumer.assign([KafkaPartition(topic, partition, OFFSET_BEGINNING) for partition in left])
        while left:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None
            error, partition = message.error(), int(str(message.partition()))
            if error is None:
                logs[partition].append((message.value() or b"").decode())
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                left.discard(partition)
    return logs


def answered(lab: Lab, topic: str, cases: Sequence[Claimed]) -> Mapping[int, tuple[list[str], PartitionComparison]]:
    """Find all positions by content, and return what each claims that is not so."""
    asks = [
        Ask(
            partition=TopicPartition(topic, number),
            new_topic=topic,
            target=target_of(case, claims),
            natives_excluded=case.mirror_only,
        )
        for number, (case, claims) in enumerate(cases)
    ]
    match = match_of(lab.old_bootstrap, lab.new_bootstrap)
    found = match.find(asks)
    assert not match.reader.unread
    rows = {}
    for number, (ask, (case, _)) in enumerate(zip(asks, cases, strict=True)):
        answer = found[ask].answer
        assert answer.cut is not None
        row = row_of(case, answer)
        rows[number] = [*wrong_in(case, answer.cut, row)], row
    return rows


def test_every_answer_about_simulated_mirrors_holds_and_no_unread_record_is_skipped_when_they_have_caught_up(
    lab: Lab, figure: Callable[[str], None]
) -> None:
    known = [*reported()]
    cases = [*known, *simulated()]
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
        admin.create_topics([NewTopic(TOPIC, len(cases), 1)])[TOPIC].result(TIMEOUT_S)
    write(lab.old_bootstrap, TOPIC, [case.old for case, _ in cases])
    write(lab.new_bootstrap, TOPIC, [case.new for case, _ in cases])

    rows = answered(lab, TOPIC, cases)

    assert {number: wrong for number, (wrong, _) in rows.items() if wrong} == {}
    for number in range(len(known)):
        row = rows[number][1]
        assert row.exactness is not Exactness.EXACT, number
        assert mirrored(row, Link.MIRRORMAKER) is not Outcome.PASSED, number

    write(lab.new_bootstrap, TOPIC, [case.to_come for case, _ in cases])
    logs = read(lab.new_bootstrap, TOPIC, len(cases))
    tally = Counter(row.exactness for _, row in rows.values())
    for number, (case, _) in enumerate(cases):
        _, row = rows[number]
        if row.new_offset is None or row.exactness in (Exactness.UNKNOWN, Exactness.CLAIMED):
            continue
        offset = offset_of(row.new_offset)
        resumed, unread = Counter(logs[number][offset:]), Counter(case.old[case.position :])
        lost = (unread & Counter(logs[number])) - resumed
        assert not lost, (number, row.exactness, lost)
        if row.exactness is Exactness.EXACT:
            assert Counter({name: count for name, count in resumed.items() if name in case.old}) == unread, number
    counted = {exactness.value: count for exactness, count in tally.most_common()}
    figure(f"seed {SEED}, {len(cases)} mirrors on real brokers: {counted}")
    assert tally[Exactness.EXACT] > len(cases) // 20
    assert tally[Exactness.BOUNDED] > len(cases) // 20
