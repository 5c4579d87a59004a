"""Checkpoints for tests: the recorded ones, ones put together by hand, and a folder in memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from offsetwise.errors import MissingError, StorageError
from offsetwise.storage.folders import Entry

SAMPLES = Path(__file__).parents[2] / "data" / "checkpoints"
NAMES = tuple(sorted(path.name for path in SAMPLES.glob("spark-*")))
FLINK_NAMES = tuple(sorted(path.name for path in SAMPLES.glob("flink-*")))


@dataclass
class MemoryFolder:
    """A folder whose files are bytes in memory, counting what is asked of it."""

    files: dict[str, bytes]
    uri: str = "memory"
    listings: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)

    def entries(self, folder: str = "", *, details: bool = False) -> tuple[Entry, ...]:
        self.listings.append(folder)
        prefix = f"{folder}/" if folder else ""
        names: dict[str, bool] = {}
        for path in self.files:
            if path.startswith(prefix):
                name, slash, _ = path[len(prefix) :].partition("/")
                names[name] = bool(slash)
        if not names:
            raise MissingError(f"{folder}: expected a folder, found nothing.", fix="")
        return tuple(Entry(name=name, is_dir=names[name], modified_s=0 if details else None) for name in sorted(names))

    def read_many(self, files: Mapping[str, int | None]) -> dict[str, bytes | StorageError]:
        self.reads += files
        gone = MissingError("expected a file, found nothing.", fix="")
        return {file: self.files.get(file, gone) for file in files}

    def walk(self, folder: str) -> Iterator[tuple[str, int]]:
        for path, data in self.files.items():
            if path.startswith(f"{folder}/"):
                yield path[len(folder) + 1 :], len(data)


def sample_files(name: str) -> dict[str, bytes]:
    """Return every file of a recorded checkpoint by its relative path."""
    folder = SAMPLES / name
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def without_checksums(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files as an object store holds them."""
    return {path: data for path, data in files.items() if not path.endswith(".crc")}


def checkpoint(
    planned: Mapping[int, str | bytes],
    committed: tuple[int, ...] = (),
    *,
    initial: Mapping[str, bytes] | None = None,
    version: int = 1,
) -> dict[str, bytes]:
    """Put a checkpoint together.

    Args:
        planned: Per batch the source lines of its offset file, or the whole file as bytes.
        committed: The batches in `commits/`.
        initial: The bytes of `sources/<id>/0` by source id; source 0 starts at 5 unless given.
        version: The version of the offset log.
    """
    files = {"metadata": b'{"id":"d188985a-ef29-47bf-937e-53c1c76305fe"}'}
    for batch, lines in planned.items():
        head = f'v{version}\n{{"batchWatermarkMs":0,"batchTimestampMs":1795229305292,"conf":{{}}}}\n'
        files[f"offsets/{batch}"] = lines if isinstance(lines, bytes) else (head + lines).encode()
    for batch in committed:
        files[f"commits/{batch}"] = b'v1\n{"nextBatchWatermarkMs":0}'
    starts = {"0": b'\0v1\n{"orders":{"0":5,"1":5}}'} if initial is None else initial
    return files | {f"sources/{source}/0": data for source, data in starts.items()}


def orders(first: int, second: int = 20) -> str:
    """Return the offset line of a Kafka source with two partitions."""
    return f'{{"orders":{{"0":{first},"1":{second}}}}}'


def write(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write files below a folder, and give the folder."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def crc_of(data: bytes) -> bytes:
    """Make the `.crc` file Hadoop keeps beside a local file."""
    sums = b"".join(zlib.crc32(data[start : start + 512]).to_bytes(4, "big") for start in range(0, len(data), 512))
    return b"crc\0" + (512).to_bytes(4, "big") + sums
