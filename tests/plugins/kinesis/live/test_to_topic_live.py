"""From a stream of a real server to a topic of a real broker, which a program copies its records to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise import approval
from offsetwise.config import ClusterConfig
from offsetwise.lab import Lab
from offsetwise.model import IsolationLevel, LogRange
from offsetwise.plugins.kafka.stream.matching import TopicCopies
from offsetwise.ports.windows import WantedRecords
from tests.commands import Ran, call
from tests.gates import of_all
from tests.integration.flink_cluster import wait_until
from tests.integration.groups import member
from tests.integration.topics import START_MS, TIMEOUT_S
from tests.plugins.kinesis.live.moving import ready
from tests.plugins.kinesis.live.servers import Server, Stream
from tests.plugins.kinesis.streams import lease

__all__ = ["ready"]

pytestmark = pytest.mark.usefixtures("ready")
SHARDS = [f"shardId-{number:012}" for number in range(2)]
GROUP = "orders-consumer"
PARTITIONS = 3


def copy_to(bootstrap: str, topic: str, stream: Stream) -> None:
    """Copy all records as they came: each partition key becomes a key, and its data the value."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 2})
    found = []
    for shard in SHARDS:
        asked = {"StreamName": stream.name, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        begin = stream.server.client.get_shard_iterator(**asked)["ShardIterator"]
        found += stream.server.client.get_records(ShardIterator=begin)["Records"]
    for each in sorted(found, key=lambda one: int(one["Data"])):
        producer.produce(topic, key=each["PartitionKey"].encode(), value=each["Data"])
    assert producer.flush(TIMEOUT_S) == 0


class Moved:
    """An application of the KCL, whose work a consumer of the topic is to go on with."""

    def __init__(self, lab: Lab, stream: Stream, folder: Path, last: dict[str, int], **settings: str) -> None:
        self.topic, self.folder, self.bootstrap = f"{stream.name}-copies", folder, lab.new_bootstrap
        self.admin = AdminClient({"bootstrap.servers": lab.new_bootstrap, "log_level": 2})
        made = self.admin.create_topics([NewTopic(self.topic, PARTITIONS, 1, config=settings)])
        made[self.topic].result(TIMEOUT_S)
        self.leave_off(stream, last)
        given = {"region": "us-east-1", "endpoint": stream.server.address}
        body = {
            "name": "to-topic",
            "source": {"stream": "kinesis", "properties": given},
            "target": {"properties": {"bootstrap.servers": lab.new_bootstrap}},
            "topics": {"map": {stream.name: self.topic}},
            "checkpoints": [{"name": "app", "uri": str(folder / "app.json"), "job": {"stream": stream.name}}],
            "write_roots": [str(folder)],
        }
        (folder / "m.yaml").write_text(json.dumps(body))
        approval.write_keys(folder / "reviewer", approval.keygen(subject="reviewer"))

    def leave_off(self, stream: Stream, last: dict[str, int]) -> None:
        leases = [lease(shard, stream.places[number][1]) for shard, number in enumerate(last.values())]
        (self.folder / "app.json").write_text(json.dumps({"Items": leases}))

    def compared(self) -> dict[str, object]:
        made: dict[str, object] = json.loads(self.run("compare", "--checkpoint", "app", "--json").out)
        return made

    def draft(self, *targets: str) -> Ran:
        plan = self.folder / "plan.json"
        plan.unlink(missing_ok=True)
        flags = [part for target in targets for part in ("--target", target)]
        return self.run("draft", "--checkpoint", "app", "--author", "ann", "--out", plan, *flags)

    def apply(self, *more: str) -> Ran:
        plan, receipt, approved = (self.folder / name for name in ("plan.json", "receipt.json", "approval.json"))
        key = ("--key", self.folder / "reviewer", "--as", "reviewer")
        assert call("sign", plan, *key, "--out", approved).code == 0
        trusted = ("--approval", approved, "--trust", self.folder / "reviewer.pub")
        return self.run("apply", plan, *trusted, "--receipt", receipt, *more)

    def read_on(self, group: str) -> list[int]:
        """Let a real consumer of the group read every partition to its end."""
        found: list[int] = []
        with member(self.bootstrap, group, [self.topic]) as consumer:

            def at_end() -> bool:
                message = consumer.poll(0.5)
                if message is not None:
                    assert message.error() is None, message.error()
                    found.append(int(message.value() or b""))
                places = consumer.position(consumer.assignment())
                ends = {each.partition: consumer.get_watermark_offsets(each)[1] for each in places}
                return len(ends) == PARTITIONS and all(
                    each.offset >= ends[each.partition] or not ends[each.partition] for each in places
                )

            wait_until(at_end, f"{group} has read {self.topic} to its end")
        return found

    def run(self, verb: str, *more: str | Path) -> Ran:
        return call(verb, *more, "--migration", self.folder / "m.yaml")


def last_of(stream: Stream, numbers: Iterable[int]) -> dict[str, int]:
    """Return the newest of some records in each shard."""
    known = set(numbers)
    return {shard: [each for each in stream.of_shard(shard) if each in known][-1] for shard in SHARDS}


@pytest.mark.parametrize("times", of_all(["CreateTime", "LogAppendTime"], ["LogAppendTime"]))
def test_a_consumer_of_the_topic_reads_exactly_what_the_application_had_not(
    lab: Lab, kinesis_mock: Server, tmp_path: Path, times: str
) -> None:
    stream = kinesis_mock.stream(2)
    stream.put(range(90))
    moved = Moved(lab, stream, tmp_path, last_of(stream, range(60)), **{"message.timestamp.type": times})
    copy_to(lab.new_bootstrap, moved.topic, stream)

    rows = moved.compared()["partitions"]
    assert isinstance(rows, list)
    assert {(row["exactness"], row["replay"], row["skip"]) for row in rows} == {("EXACT", "0", "0")}
    drafted = moved.draft(f"consumer-group:{GROUP}-{times}")
    assert drafted.code == 0, drafted.err
    applied = moved.apply("--execute")
    assert applied.code == 0, applied.err
    assert moved.run("verify", tmp_path / "receipt.json").code == 0

    assert sorted(moved.read_on(f"{GROUP}-{times}")) == list(range(60, 90))


def test_shards_that_were_read_unevenly_are_bounded_and_no_state_is_copied(
    lab: Lab, kinesis_mock: Server, tmp_path: Path
) -> None:
    stream = kinesis_mock.stream(2)
    stream.put(range(90))
    last = {SHARDS[0]: last_of(stream, range(30))[SHARDS[0]], SHARDS[1]: last_of(stream, range(60))[SHARDS[1]]}
    moved = Moved(lab, stream, tmp_path, last)
    copy_to(lab.new_bootstrap, moved.topic, stream)

    rows = moved.compared()["partitions"]
    assert isinstance(rows, list)
    assert {row["exactness"] for row in rows} == {"BOUNDED"}
    again = [each for each in stream.of_shard(SHARDS[1]) if 30 <= each < 60]
    assert 0 < sum(int(row["replay"]) for row in rows) <= len(again)
    assert "lie interleaved, so that no position fits them all" in rows[0]["evidence"]["reason"]

    for target, told in (
        (f"consumer-group:{GROUP}", "REPLAY_NOT_TOLERATED"),
        ("kcl-leases:other-app", "the job there begins with a source and a state of its own"),
        ("starting-offsets", "cannot be told to begin at positions"),
    ):
        refused = moved.draft(target)
        assert refused.code == 1
        assert told in refused.err
    table = moved.run("compare", "--checkpoint", "app").out
    assert f"{stream.name}-2" in table
    assert "bounded" in table


@pytest.mark.parametrize(
    ("asked", "first", "end", "whole", "at_end"),
    [
        ({"most_records": 9_000}, 0, 3_000, True, True),
        ({"most_records": 2_500}, 0, 2_500, True, False),
        ({"most_records": 9_000, "since_ms": START_MS + 2_000_000}, 2_000, 3_000, False, True),
        ({"most_records": 9_000, "since_ms": START_MS + 2_000_000, "whole_up_to": 4_000}, 0, 3_000, True, True),
        ({"most_records": 9_000, "most_bytes": 100}, 0, 1_000, True, False),
    ],
    ids=["all", "as many", "since a time", "little", "few bytes"],
)
def test_as_much_of_a_partition_is_read_as_is_wanted(
    lab: Lab, asked: dict[str, int], first: int, end: int, whole: bool, at_end: bool, request: pytest.FixtureRequest
) -> None:
    topic = f"windows-of-copies-{request.node.callspec.id.replace(' ', '-')}"
    admin = AdminClient({"bootstrap.servers": lab.new_bootstrap, "log_level": 2})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": lab.new_bootstrap, "enable.idempotence": True, "log_level": 2})
    for number in range(3_000):
        producer.produce(topic, key=b"k", value=b"%d" % number, timestamp=START_MS + number * 1_000)
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0
    copies = TopicCopies(
        config=ClusterConfig(name="new", properties={"bootstrap.servers": lab.new_bootstrap}),
        isolation=IsolationLevel.READ_UNCOMMITTED,
        logs={0: LogRange(log_start=0, lso=3_000, hw=3_000)},
        own_times=False,
        identified=lambda _, data: (data.decode(), 0),
    )
    wanted = WantedRecords(**{"topic": topic, "partition": 0, "most_bytes": 10**9, **asked})  # type: ignore[arg-type]
    (read,) = copies.read([wanted])

    assert (read.numbers, read.whole, read.at_end) == (tuple(range(first, end)), whole, at_end)
    assert read.identities == tuple(map(str, range(first, end)))
    ends = [copies.position_at(0, index, windows={0: read}, since_ms=None) for index in (0, len(read.numbers))]
    assert ends == [first, end]
