"""Makes checkpoints of a given size, byte for byte as Spark 4.0.0 writes them on a local file system."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

CONFIGURATION = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
    "HDFSBackedStateStoreProvider",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "2",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.streaming.aggregation.stateFormatVersion": "2",
    "spark.sql.shuffle.partitions": "200",
}


def write_checkpoint(folder: Path, *, partitions: int, batches: int, topic: str = "orders") -> None:
    """Write a checkpoint whose last batch is planned and not committed, with its checksums."""
    _write(folder / "metadata", b'{"id":"d188985a-ef29-47bf-937e-53c1c76305fe"}')
    _write(folder / "sources" / "0" / "0", b"\0v1\n" + _offsets(topic, partitions, 0))
    for batch in range(batches):
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1795229305292 + batch * 1000, "conf": CONFIGURATION}
        header = f"v1\n{json.dumps(metadata, separators=(',', ':'))}\n".encode()
        _write(folder / "offsets" / str(batch), header + _offsets(topic, partitions, 100 * (batch + 1)))
        if batch + 1 < batches:
            _write(folder / "commits" / str(batch), b'v1\n{"nextBatchWatermarkMs":0}')


def _offsets(topic: str, partitions: int, offset: int) -> bytes:
    numbers = {str(partition): 10_000_000 + offset + partition for partition in range(partitions)}
    return json.dumps({topic: numbers}, separators=(",", ":")).encode()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    sums = b"".join(zlib.crc32(data[start : start + 512]).to_bytes(4, "big") for start in range(0, len(data), 512))
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + sums)
