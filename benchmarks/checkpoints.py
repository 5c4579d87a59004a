"""Makes checkpoints of a given size, byte for byte as Spark 4.0.0 writes them on a local file system."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path

CONFIGURATION = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
    "HDFSBackedStateStoreProvider",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "2",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.streaming.aggregation.stateFormatVersion": "2",
    "spark.sql.shuffle.partitions": "200",
}


def write_checkpoint(
    folder: Path, *, topics: Mapping[str, int], batches: int, first: int = 10_000_000, step: int = 100
) -> None:
    """Write a checkpoint whose last batch is planned and not committed, with its checksums.

    Args:
        folder: Where.
        topics: How many partitions of each topic.
        batches: How many there are.
        first: Where partition 0 begins; each other one an offset later.
        step: Records of a batch.
    """
    _write(folder / "metadata", b'{"id":"d188985a-ef29-47bf-937e-53c1c76305fe"}')
    _write(folder / "sources" / "0" / "0", b"\0v1\n" + _offsets(topics, first))
    for batch in range(batches):
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1795229305292 + batch * 1000, "conf": CONFIGURATION}
        header = f"v1\n{json.dumps(metadata, separators=(',', ':'))}\n".encode()
        _write(folder / "offsets" / str(batch), header + _offsets(topics, first + step * (batch + 1)))
        if batch + 1 < batches:
            _write(folder / "commits" / str(batch), b'v1\n{"nextBatchWatermarkMs":0}')


def _offsets(topics: Mapping[str, int], offset: int) -> bytes:
    numbers = {topic: {str(each): offset + each for each in range(width)} for topic, width in topics.items()}
    return json.dumps(numbers, separators=(",", ":")).encode()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    sums = b"".join(zlib.crc32(data[start : start + 512]).to_bytes(4, "big") for start in range(0, len(data), 512))
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + sums)
