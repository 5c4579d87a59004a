"""Jobs that are stopped in the middle on the old cluster, and the commands that move one of their checkpoints."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import pytest
import yaml
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.config import SparkSettings
from offsetwise.lab import Lab, Policy
from offsetwise.pipeline.session import open_session
from tests.commands import call

TOPIC: Final = "end-to-end"
RENAMED: Final = f"old.{TOPIC}"
GONE: Final = {0: 100, 1: 30}
"""How many records of each partition retention had deleted before the mirror began: how far the offsets are apart."""
KEYS: Final = 7
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STATE_FORMAT: Final = "spark.sql.streaming.stateStore.checkpointFormatVersion"
Counts = dict[str, tuple[int, int]]
"""By key: how many records, and the sum of their serials, which no loss and repetition together leave as it is."""


@dataclass(slots=True)
class Orders:
    """The topic on both clusters, and what was ever written to it and not deleted before the job began."""

    lab: Lab
    topic: str = TOPIC
    written: Counter[int] = field(default_factory=Counter)
    by_offset: dict[tuple[int, int], int] = field(default_factory=dict)
    """The serial at each old partition and offset."""

    def write(self, count: int) -> None:
        """Write as many records to every partition of the old cluster."""
        producer = Producer({"bootstrap.servers": self.lab.old_bootstrap, "enable.idempotence": True, "log_level": 2})
        for partition in GONE:
            for _ in range(count):
                offset = self.written[partition]
                serial = 2 * offset + partition
                self.written[partition] += 1
                self.by_offset[partition, offset] = serial
                producer.produce(self.topic, key=key_of(serial), value=str(serial), partition=partition)
        assert producer.flush(30) == 0

    def begin(self) -> None:
        """Make the old topic, and let retention take what is gone before anybody reads."""
        create(self.lab.old_bootstrap, self.topic)
        self.write(max(GONE.values()))
        admin = AdminClient({"bootstrap.servers": self.lab.old_bootstrap, "log_level": 2})
        for trimmed in admin.delete_records([TopicPartition(self.topic, *each) for each in GONE.items()]).values():
            trimmed.result(30)

    def arrive(self, count: int) -> None:
        """Write to the old cluster, and wait until the mirrors have copied all of it."""
        self.write(count)
        self.mirrored()

    def mirrored(self) -> None:
        for mirror in (TOPIC, RENAMED):
            self.lab.wait_until_mirrored([TOPIC], mirror=mirror)

    def truth(self) -> Counts:
        return counted(serial for (partition, offset), serial in self.by_offset.items() if offset >= GONE[partition])


def create(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    for made in admin.create_topics([NewTopic(topic, len(GONE), 1)]).values():
        made.result(30)


def key_of(serial: int) -> str:
    return f"k{serial * serial % KEYS}"


def counted(serials: Any) -> Counts:
    counts: Counts = {}
    for serial in serials:
        count, total = counts.get(key_of(serial), (0, 0))
        counts[key_of(serial)] = (count + 1, total + serial)
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A stateful job that counts by key in update mode, and where it keeps what it counted."""

    spark: SparkSession
    counts: Counts = field(default_factory=dict)
    """The sink: the last that the job said of each key."""
    seen: list[int] = field(default_factory=list)
    """The ids of the batches that reached the sink."""
    conf: tuple[tuple[str, str], ...] = ()
    source_name: str | None = None
    """Of a query with named sources (Spark 4.2)."""

    def run(
        self,
        bootstrap: str,
        checkpoint: Path,
        *,
        topic: str = TOPIC,
        starting: str = "earliest",
        fails_in: int | None = None,
    ) -> None:
        """Run until the log's end; in `fails_in`, a batch is planned and its output lost."""

        def write(batch: DataFrame, batch_id: int) -> None:
            rows = batch.collect()
            if batch_id == fails_in:
                raise RuntimeError("planned and not committed")
            self.seen.append(batch_id)
            self.counts.update({row["key"]: (row["count"], row["sum"]) for row in rows})

        with self._configured():
            stream: Any = self.spark.readStream
            if self.source_name is not None:
                stream = stream.name(self.source_name)
            query = (
                stream.format("kafka")
                .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": starting})
                .option("maxOffsetsPerTrigger", 400)
                .load()
                .selectExpr("CAST(key AS STRING) key", "CAST(CAST(value AS STRING) AS LONG) serial")
                .groupBy("key")
                .agg(F.count("*").alias("count"), F.sum("serial").alias("sum"))
                .writeStream.outputMode("update")
                .option("checkpointLocation", str(checkpoint))
                .trigger(availableNow=True)
                .foreachBatch(write)
                .start()
            )
            try:
                query.awaitTermination()
            except StreamingQueryException:
                if fails_in is None:
                    raise

    def restarted(self) -> Job:
        """Return the same job with a sink of its own, which holds what this one's holds."""
        return Job(spark=self.spark, counts=dict(self.counts), conf=self.conf, source_name=self.source_name)

    @contextmanager
    def _configured(self) -> Iterator[None]:
        conf = {"spark.sql.shuffle.partitions": "2", **dict(self.conf)}
        before: dict[str, str | None] = {key: self.spark.conf.get(key, None) for key in conf}
        for key, value in conf.items():
            self.spark.conf.set(key, value)
        try:
            yield
        finally:
            for key, earlier in before.items():
                if earlier is None:
                    self.spark.conf.unset(key)
                else:
                    self.spark.conf.set(key, earlier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One checkpoint's migration in a folder of its own, by the command line."""

    folder: Path
    migration: Path
    checkpoint: Path

    def compare(self) -> dict[str, Any]:
        return call("compare", "-m", self.migration, "--checkpoint", "orders", "--json").answered()

    def draft(self, target: str, *flags: str) -> dict[str, Any]:
        arguments = ("--checkpoint", "orders", "--target", target, "--author", "ada", "--out", self.plan, "--json")
        return call("draft", "-m", self.migration, *arguments, *flags).answered()

    def sign(self, *flags: str) -> None:
        key = self.folder / "reviewer"
        assert call("keygen", "--out", key, "--as", "bob").code == 0
        approval = self.folder / "plan.approval.json"
        assert call("sign", self.plan, "--key", key, "--as", "bob", "--out", approval, *flags).code == 0

    def apply(self, *flags: str) -> dict[str, Any]:
        given = ("--approval", self.folder / "plan.approval.json", *self.trusted)
        ran = call("apply", self.plan, "-m", self.migration, *given, *flags, "--json")
        return ran.answered() if "--execute" in flags else self._document(ran.code, ran.out, ran.err)

    def verify(self, *flags: str) -> tuple[int, set[str], bool]:
        """Return the exit code, what is said of the positions, and whether the job was seen to go on."""
        ran = call("verify", self.receipt, "-m", self.migration, *flags, "--json")
        body = self._document(0, ran.out, ran.err)
        return ran.code, {each["turnout"] for each in body["positions"]}, body["started"]

    def asked(self, address: str) -> tuple[int, str, dict[str, Any]]:
        """Ask a job what it began from; return the exit code, its answer in a word, and all that is recorded."""
        ran = call("verify", self.receipt, "-m", self.migration, "--job", address, "--json")
        job = self._document(0, ran.out, ran.err)["job"]
        return ran.code, job["origin"], job

    def roll_back(self) -> None:
        ran = call("rollback", self.receipt, "-m", self.migration, *self.trusted, "--execute", "--json")
        assert ran.code == 0, ran.err + ran.out

    @property
    def trusted(self) -> tuple[str | Path, ...]:
        return ("--trust", self.folder / "reviewer.pub")

    @property
    def plan(self) -> Path:
        return self.folder / "plan.json"

    @property
    def receipt(self) -> Path:
        return self.folder / "plan.receipt.json"

    @property
    def copy(self) -> Path:
        return self.folder / "applied" / "orders"

    @staticmethod
    def _document(code: int, out: str, err: str) -> dict[str, Any]:
        assert code in {0, 5}, err
        body: dict[str, Any] = json.loads(out)
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Jobs that were stopped in the middle, with their checkpoints."""

    orders: Orders
    clean: tuple[Job, Path]
    pending: tuple[Job, Path]
    polluted: tuple[Job, Path]
    """Started unedited on the new cluster while its log was too short."""
    rocksdb: tuple[tuple[Job, Path], ...]
    """With state format 1, then 2."""


def staged(lab: Lab, folder: Path) -> Scene:
    """Let the jobs run, and stop."""
    spark = open_session(SparkSettings(master="local[2]"), kafka=True)  # as the sample says: one session for all
    orders = Orders(lab)
    orders.begin()
    lab.start_mirror(Policy.IDENTITY, topics=[TOPIC], name=TOPIC)
    lab.start_mirror(Policy.DEFAULT, topics=[TOPIC], name=RENAMED)
    orders.write(400)

    clean = Job(spark=spark)
    clean.run(lab.old_bootstrap, folder / "clean")
    assert len(clean.seen) > 2, "several batches"
    rocksdb = [
        Job(spark=spark, conf=(("spark.sql.streaming.stateStore.providerClass", ROCKSDB), (STATE_FORMAT, version)))
        for version in ("1", "2")
    ]
    for number, job in enumerate(rocksdb):
        job.run(lab.old_bootstrap, folder / f"rocksdb{number}")
    orders.mirrored()
    polluted, pending = clean.restarted(), clean.restarted()
    shutil.copytree(folder / "clean", folder / "polluted")
    with pytest.raises(StreamingQueryException):
        polluted.run(lab.new_bootstrap, folder / "polluted")
    shutil.copytree(folder / "clean", folder / "pending")
    orders.write(300)
    pending.run(lab.old_bootstrap, folder / "pending", fails_in=clean.seen[-1] + 1)
    orders.mirrored()
    return Scene(
        orders=orders,
        clean=(clean, folder / "clean"),
        pending=(pending, folder / "pending"),
        polluted=(polluted, folder / "polluted"),
        rocksdb=tuple((job, folder / f"rocksdb{number}") for number, job in enumerate(rocksdb)),
    )


class Clusters(Protocol):
    """Where two clusters are, such as a lab's."""

    @property
    def old_bootstrap(self) -> str: ...

    @property
    def new_bootstrap(self) -> str: ...


def moved(
    lab: Clusters,
    checkpoint: Path,
    folder: Path,
    *,
    topics: dict[str, Any] | None = None,
    job: dict[str, Any] | None = None,
    back: bool = False,
) -> Move:
    """Return a checkpoint's own copy a migration file of its own; `back` goes from the new cluster to the old one."""
    own = folder / "checkpoints" / "orders"
    shutil.copytree(checkpoint, own)
    (folder / "applied").mkdir()
    old = {"name": "old", "alias": "old", "properties": {"bootstrap.servers": lab.old_bootstrap}}
    new = {"name": "new", "alias": "new", "properties": {"bootstrap.servers": lab.new_bootstrap}}
    stated = {"stateful": True, "watermark_ms": 600_000, "sink": "foreachBatch", "tolerates_replay": False}
    listed = {
        "name": "orders",
        "uri": "./checkpoints/orders",
        "job": stated | (job or {}),
        # Both logs hold the numbers; only people know on which cluster the job ran last. `old` is the file's source.
        "belongs_to": "old",
    }
    body = {
        "name": "end-to-end",
        "source": new if back else old,
        "target": old if back else new,
        "topics": topics or {"policy": "identity"},
        "checkpoint_roots": ["./checkpoints"],
        "checkpoints": [listed],
        "writers": "mixed" if back else "mirror-only",
        "write_roots": ["./applied", "./checkpoints"],
        "spark": {"master": "local[2]"},
    }
    migration = folder / "migration.yaml"
    migration.write_text(yaml.safe_dump(body), encoding="utf-8")
    return Move(folder=folder, migration=migration, checkpoint=own)


Moving = Callable[..., Move]


def tree(folder: Path) -> dict[str, str]:
    """Return every file below a folder with its hash."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def move_copy(scene: Scene, move: Move, job: Job, *, topic: str = TOPIC) -> Path:
    """Compare, draft, sign, apply, restart; give the copy that the job runs from."""
    old = tree(move.checkpoint)
    compared = move.compare()
    assert {row["exactness"] for row in compared["partitions"]} == {"EXACT"}
    for row in compared["partitions"]:
        assert int(row["old_offset"]) - int(row["new_offset"]) == GONE[row["partition"]]
    plan = move.draft("spark-checkpoint")
    assert {position["new_topic"] for position in plan["positions"]} == {topic}
    move.sign()
    output = ("--output", str(move.copy))
    dry = move.apply(*output)
    assert dry["changes"]
    assert not move.copy.exists(), "a dry run writes nothing"
    move.apply(*output, "--execute")
    assert move.verify() == (0, {"CONFIRMED"}, False), "as planned, and no job has begun"

    scene.orders.arrive(50)
    job.run(scene.orders.lab.new_bootstrap, move.copy, topic=topic)

    assert job.counts == scene.orders.truth(), "every record once, of every key"
    assert tree(move.checkpoint) == old, "the old checkpoint is as it was"
    return move.copy
