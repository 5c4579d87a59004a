"""The whole way of a SQL job on a real Flink: Kafka to an exactly-once Kafka sink, moved by its savepoint."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from offsetwise.lab import Lab, Policy
from tests.integration.flink_cluster import Flink, running, wait_until
from tests.integration.flink_distribution import DISTRIBUTIONS, Distribution
from tests.integration.moving import GONE, Moving, Orders, create, key_of, tree
from tests.lab.reading import read_log

TOPIC: Final = "flink-orders"
COUNT: Final = """
INSERT INTO counted
SELECT serial, COUNT(*) OVER (PARTITION BY k ORDER BY arrived ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
FROM orders
"""
"""Keeps a count for every key: it goes on only with its state."""
EARLIEST: Final = {"scan.startup.mode": "earliest-offset"}
OR_STOP: Final = {"scan.startup.mode": "group-offsets", "properties.auto.offset.reset": "none"}
"""What stops a restored job whose position is not in the log: the mode `earliest-offset` would reset it silently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """A topic that jobs write to, and what is committed there."""

    bootstrap: str
    topic: str

    def committed(self) -> list[tuple[int, int]]:
        """Give serial and count of every record, as somebody reads them who waits for transactions."""
        logs = [read_log(self.bootstrap, self.topic, at, isolation="read_committed") for at in GONE]
        rows = [json.loads(record.value) for log in logs for record in log.records]
        return [(int(row["serial"]), row["nth"]) for row in rows]

    def holds(self, count: int) -> None:
        """Wait until as many records are there."""
        wait_until(lambda: len(self.committed()) >= count, f"{count} records in {self.topic}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A job that was stopped with a savepoint on the old cluster, after which more records arrived."""

    flink: Flink
    orders: Orders
    savepoint: Path
    sink: Sink
    """On the old cluster, where it stays."""
    read: frozenset[int]
    """The serials that it had read."""

    def start(self, bootstrap: str, sink: Sink, *, state: Path | None = None, begin: Mapping[str, str]) -> str:
        """Start the job, from state if there is some; give its id."""
        settings = {"execution.checkpointing.interval": "1 s"}
        if state is not None:
            settings["execution.state-recovery.path"] = str(state)
        return self.flink.submit(settings, orders_table(bootstrap, begin), sink_table(sink), COUNT)


def orders_table(bootstrap: str, begin: Mapping[str, str]) -> str:
    columns = "k STRING, serial STRING, arrived AS PROCTIME()"
    options = {"topic": TOPIC, "properties.bootstrap.servers": bootstrap, "properties.group.id": TOPIC, **begin}
    formats = {"key.format": "raw", "key.fields": "k", "value.format": "raw", "value.fields-include": "EXCEPT_KEY"}
    return f"CREATE TABLE orders ({columns}) WITH ({_listed(options | formats)})"


def sink_table(sink: Sink) -> str:
    options = {
        "topic": sink.topic,
        "properties.bootstrap.servers": sink.bootstrap,
        "format": "json",
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": sink.topic,
        "properties.transaction.timeout.ms": "600000",
    }
    return f"CREATE TABLE counted (serial STRING, nth BIGINT) WITH ({_listed(options)})"


def _listed(options: Mapping[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in ({"connector": "kafka"} | dict(options)).items())


@pytest.fixture(scope="module")
def orders(lab: Lab) -> Orders:
    made = Orders(lab, topic=TOPIC)
    made.begin()
    lab.start_mirror(Policy.IDENTITY, topics=[TOPIC], name=TOPIC)
    made.write(400)
    return made


@pytest.fixture(scope="module", params=DISTRIBUTIONS, ids=lambda each: f"flink-{each.version}")
def stopped(
    request: pytest.FixtureRequest, orders: Orders, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stopped]:
    distribution: Distribution = request.param
    folder = tmp_path_factory.mktemp("flink")
    sink = _sink(orders.lab, f"counted-{distribution.version}")
    read = frozenset(serials(orders))
    with running(distribution, folder / "cluster") as flink:
        job = Stopped(flink=flink, orders=orders, savepoint=folder, sink=sink, read=read)
        begun = job.start(orders.lab.old_bootstrap, sink, begin=EARLIEST)
        sink.holds(len(read))
        savepoint = flink.stop(begun, folder / "savepoints")
        arrive(orders, 50)
        yield Stopped(flink=flink, orders=orders, savepoint=savepoint, sink=sink, read=read)


def _sink(lab: Lab, topic: str) -> Sink:
    create(lab.old_bootstrap, topic)
    return Sink(bootstrap=lab.old_bootstrap, topic=topic)


def arrive(orders: Orders, count: int) -> None:
    orders.write(count)
    orders.lab.wait_until_mirrored([TOPIC], mirror=TOPIC)


def serials(orders: Orders) -> list[int]:
    """Give all that was ever written and not deleted before anybody read."""
    return [serial for (partition, offset), serial in orders.by_offset.items() if offset >= GONE[partition]]


def once(wanted: list[int]) -> Counter[tuple[str, int]]:
    """Give the counts by key that a job makes of these records, each read once."""
    keys = Counter(key_of(serial) for serial in wanted)
    return Counter((key, nth) for key, count in keys.items() for nth in range(1, count + 1))


def test_a_job_goes_on_from_an_edited_savepoint_and_its_sink_holds_every_record_exactly_once(
    stopped: Stopped, moving: Moving
) -> None:
    orders = stopped.orders
    move = moving(stopped.savepoint, job={"sink": "kafka"})
    old = tree(move.checkpoint)
    compared = move.compare()
    assert {row["exactness"] for row in compared["partitions"]} == {"EXACT"}
    for row in compared["partitions"]:
        assert int(row["old_offset"]) - int(row["new_offset"]) == GONE[row["partition"]]
    move.draft("flink-savepoint")
    move.sign()
    output = ("--output", str(move.copy))
    assert move.apply(*output)["changes"]
    assert not move.copy.exists(), "a dry run writes nothing"
    move.apply(*output, "--execute")
    assert move.verify() == (0, {"CONFIRMED"}, False), "as planned, and no job has begun"

    job = stopped.start(orders.lab.new_bootstrap, stopped.sink, state=move.copy, begin=OR_STOP)
    arrive(orders, 20)
    stopped.sink.holds(len(serials(orders)))
    stopped.flink.stop(job, move.folder / "checkpoints")

    rows = stopped.sink.committed()
    assert Counter(serial for serial, _ in rows) == Counter(serials(orders)), "every record once"
    assert Counter((key_of(serial), nth) for serial, nth in rows) == once(serials(orders)), "with the state it had"
    assert tree(move.checkpoint) == old, "the old savepoint is as it was"
