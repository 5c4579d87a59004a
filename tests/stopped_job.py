"""A stateful job that was stopped on the old cluster, and the folder that the runbook and the pages work in."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml
from confluent_kafka import Consumer, TopicPartition

from offsetwise.config import SparkSettings
from offsetwise.lab import Lab
from tests.integration.topics import copies, create, produce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOPIC: Final = "trades"
GROUP: Final = "trades-etl"
READ: Final = 1_050
END: Final = 1_200
"""What the job read on the old cluster, and where its log ends."""
COPIED_FROM: Final = 100
"""The mirror's copy lacks what retention had deleted before: 1050 there is 950 here."""
KEYS: Final = 5
Counts = dict[str, tuple[int, int]]


def read_as_stream(bootstrap: str, checkpoint: Path, counts: Counts) -> None:
    """Run the stateful job, count and sum of serials by key, up to the end of the log."""
    # Every process of tests loads this module's fixtures, and few of them run Spark.
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - PySpark's own convention

    from offsetwise.pipeline.session import open_session  # noqa: PLC0415

    def write(batch: DataFrame, _batch_id: int) -> None:
        counts.update({row["key"]: (row["count"], row["sum"]) for row in batch.collect()})

    spark = open_session(SparkSettings(master="local[2]"), kafka=True)
    serial = F.regexp_extract(F.col("value").cast("string"), r"r(\d+)", 1).cast("long")
    query = (
        spark.readStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": TOPIC, "startingOffsets": "earliest"})
        .load()
        .select((serial % KEYS).cast("string").alias("key"), serial.alias("serial"))
        .groupBy("key")
        .agg(F.count("*").alias("count"), F.sum("serial").alias("sum"))
        .coalesce(1)
        .writeStream.outputMode("update")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .foreachBatch(write)
        .start()
    )
    query.awaitTermination()


def truth(end: int) -> Counts:
    serials = {str(key): range(key, end, KEYS) for key in range(KEYS)}
    return {key: (len(each), sum(each)) for key, each in serials.items()}


@pytest.fixture(scope="session")
def stopped(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Counts]:
    """Return the checkpoint of a job that was stopped on the old cluster, and what its sink holds."""
    checkpoint = tmp_path_factory.mktemp("runbook") / "trades"
    counts: Counts = {}
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, TOPIC)
    produce(lab.old_bootstrap, {TOPIC: copies(0, READ)})
    read_as_stream(lab.old_bootstrap, checkpoint, counts)
    assert counts == truth(READ)
    consumer = Consumer({"bootstrap.servers": lab.old_bootstrap, "group.id": GROUP, "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, READ)], asynchronous=False)
    consumer.close()
    produce(lab.old_bootstrap, {TOPIC: copies(READ, END)})
    produce(lab.new_bootstrap, {TOPIC: copies(COPIED_FROM, END)})
    return checkpoint, counts


@pytest.fixture
def desk(lab: Lab, stopped: tuple[Path, Counts], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that the page works in: a migration file, the checkpoint, room to write."""
    shutil.copytree(stopped[0], tmp_path / "checkpoints" / "trades")
    (tmp_path / "applied").mkdir()
    old = {"name": "old", "properties": {"bootstrap.servers": lab.old_bootstrap}}
    new = {"name": "new", "properties": {"bootstrap.servers": lab.new_bootstrap}}
    job = {"stateful": True, "sink": "kafka", "tolerates_replay": False}
    body: dict[str, Any] = {
        "name": "trades-to-new",
        "source": old,
        "target": new,
        "checkpoint_roots": ["./checkpoints", "./applied"],
        "checkpoints": [{"name": "trades", "uri": "./checkpoints/trades", "job": job, "belongs_to": "old"}],
        "write_roots": ["./applied", "./checkpoints"],
        "groups": [GROUP],
        "writers": "mirror-only",
        "spark": {"master": "local[2]"},
    }
    (tmp_path / "migration.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    moved = {"name": "trades", "uri": "./applied/trades", "job": job, "belongs_to": "old"}
    back = {"name": "trades-back", "source": new, "target": old, "checkpoints": [moved]}
    (tmp_path / "back.yaml").write_text(yaml.safe_dump(body | back), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path
