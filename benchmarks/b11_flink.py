"""B11: a Flink savepoint of 10,000 partitions inspected, and a `_metadata` of 100 MB with keyed state.

Targets: at most 200 ms; at most 3 s and three times the file in memory. The large file is read once with its keyed
state inline (one handle per subtask) and once as a RocksDB job's: a million handles of files.

Peer: Flink's State Processor API (`StateProcessor.java`) reads the positions of the first file in a process of its own,
the first time, and again in the same, warm Java. It runs in the Flink that the tests use (`make test` fetches it).

    python -m benchmarks.b11_flink
"""

from __future__ import annotations

import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.jars import locked_jars
from offsetwise.lab.brokers import LOG_CONFIGURATION
from offsetwise.lab.java import find_java
from offsetwise.plugins.flink.engine.metadata import parse_metadata
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.position import offset_of
from tests.integration.flink_cluster import jvm
from tests.integration.flink_distribution import DISTRIBUTIONS

PARTITIONS, ROUNDS = 10_000, 9
LARGE_BYTES = 100 * 1024 * 1024
SUBTASKS = 128
NO_STOP = -(2**63)
SOURCE = "source"
FLINK = DISTRIBUTIONS[-1]
RECORDED = Path("tests/data/checkpoints/flink-2.2-enumerator-v3/_metadata").read_bytes()
"""Of a real job: Flink itself reads only what has its serializers, which stand before the elements, and properties."""
PROPERTIES = RECORDED[RECORDED.rindex(b"\xac\xed\x00\x05") :]


def main() -> None:
    if len(sys.argv) > 1:
        _one_reading(sys.argv[1])
        return
    with tempfile.TemporaryDirectory() as directory:
        for name, data in (
            (f"{PARTITIONS:,} partitions", metadata(kafka_source(PARTITIONS, enumerator=3))),
            (f"{PARTITIONS:,} partitions, Flink 1.20", metadata(kafka_source(PARTITIONS, enumerator=2))),
            ("keyed state inline", metadata(kafka_source(16, enumerator=3), inline_state(LARGE_BYTES))),
            ("keyed state in files", metadata(kafka_source(16, enumerator=3), files_of_state(LARGE_BYTES))),
        ):
            folder = Path(directory) / name.replace(" ", "-")
            folder.mkdir()
            (folder / "_metadata").write_bytes(data)
            _told(name, folder, len(data))
            if folder.name.endswith("partitions"):
                _peer(name, folder)


def _peer(name: str, folder: Path) -> None:
    """Let Flink read the same positions, and hold them against ours."""
    jars = locked_jars(f"flink-state-processor-{FLINK.version}", java=find_java)
    settings = folder.with_name("settings")
    settings.mkdir()
    (settings / "config.yaml").touch()
    (settings / "log4j2.properties").write_text(LOG_CONFIGURATION, encoding="utf-8")
    *command, classpath, main, path, uid, rounds = jvm(
        FLINK, settings, str(Path(__file__).with_name("StateProcessor.java")), str(folder), SOURCE, "5"
    )
    begun = time.perf_counter()
    ran = subprocess.run(
        [*command, f"{classpath}:{jars / '*'}", main, path, uid, rounds], check=True, capture_output=True, text=True
    )
    whole = time.perf_counter() - begun
    found = [tuple(map(int, line.split())) for line in ran.stdout.splitlines() if line[:1].isdigit()]
    offsets = [offset_of(at.offset) for source in read_checkpoint(str(folder)).sources for at in source.positions]
    if {each[:2] for each in found} != {(len(offsets), sum(offsets))}:
        raise SystemExit(f"{name}: the peer found other positions: {found}")
    first, *warm = (took for _, _, took in found)
    print(
        f"B11 {name}, State Processor API of Flink {FLINK.version}: {first} ms the first time, "
        f"{statistics.median(warm):.0f} ms again; with the start of Java and five readings {whole:.1f} s"
    )


def _told(name: str, folder: Path, size: int) -> None:
    rounds = ROUNDS if size < LARGE_BYTES // 10 else 3
    wall, cpu = [], []
    for _ in range(rounds):
        begun, used = time.perf_counter(), time.process_time()
        read = read_checkpoint(str(folder))
        wall.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - used)
    positions = sum(len(source.positions) for source in read.sources)
    if read.problems:
        raise SystemExit(f"{name}: {read.problems[0]}")
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.b11_flink", str(folder)], check=True, capture_output=True, text=True
    )
    grown = int(ran.stdout)
    print(
        f"B11 {name}: {size / 1e6:.1f} MB, {positions:,} positions, {statistics.median(wall) * 1000:.0f} ms "
        f"({statistics.median(cpu) * 1000:.0f} ms CPU), memory {grown / 1e6:.0f} MB = {grown / size:.1f} x file"
    )


def _one_reading(folder: str) -> None:
    """Print by how many bytes this process grew at most while it read one savepoint."""
    before = _peak_bytes()
    read_checkpoint(folder)
    print(_peak_bytes() - before)


def _peak_bytes() -> int:
    """Return the most memory this process has had since it began, as Linux counts it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def metadata(*operators: bytes) -> bytes:
    """Put a file of version 6 together."""
    return struct.pack(">iiqii", 0x4960672D, 6, 1, 0, len(operators)) + b"".join(operators) + PROPERTIES


def kafka_source(partitions: int, *, enumerator: int) -> bytes:
    """Return a KafkaSource of `SUBTASKS` subtasks whose coordinator knows the same partitions."""
    splits = [split(partition) for partition in range(partitions)]
    header = serializers()
    subtasks = []
    for index in range(SUBTASKS):
        own = [struct.pack(">iii", len(one) + 8, 0, len(one)) + one for one in splits[index::SUBTASKS]]
        places = [len(header) + sum(map(len, own[:at])) for at in range(len(own))]
        blob = header + b"".join(own)
        managed = b"\x04" + struct.pack(">i", 1) + utf("SourceReaderState") + b"\0"
        managed += struct.pack(f">i{len(places)}q", len(places), *places)
        # Flink takes inline states of one name for one state: had they one, it would read a few subtasks for all.
        managed += b"\x01" + utf(f"file:/label-{index}") + struct.pack(">i", len(blob)) + blob
        subtasks.append(struct.pack(">ii", index, 1) + managed + struct.pack(">ibbii", 0, 0, 0, 0, 0))
    if enumerator == 3:
        listed = struct.pack(">ii", partitions, 0)
        listed += b"".join(struct.pack(">i", len(one)) + one + struct.pack(">i", 0) for one in splits)
    else:
        known = (utf("orders") + struct.pack(">ii", partition, 0) for partition in range(partitions))
        listed = struct.pack(">i", partitions) + b"".join(known)
    payload = struct.pack(">iii", 1, enumerator, len(listed) + 1) + listed + b"\x01"
    coordinator = b"\x01" + utf("label") + struct.pack(">i", len(payload)) + payload
    return operator(SOURCE, coordinator, subtasks)


def serializers() -> bytes:
    """Return what stands before the elements of a real source's state."""
    for entry in parse_metadata(RECORDED).operators:
        for each in entry.subtasks:
            for state in () if each.managed is None else each.managed.states:
                if state.name == "SourceReaderState" and each.managed and each.managed.handle:
                    at = each.managed.handle.at
                    return RECORDED[at : at + state.offsets[0]]
    raise SystemExit("The recorded savepoint has no KafkaSource.")


def split(partition: int) -> bytes:
    """Return one partition's split."""
    return utf("orders") + struct.pack(">iqq", partition, 10_000_000 + partition, NO_STOP)


def inline_state(size: int) -> bytes:
    """Return an operator whose keyed state stands in the file."""
    part = bytes(size // SUBTASKS)
    keyed = b"\x03" + struct.pack(">iiq", 0, 1, 0) + b"\x01" + utf("label") + struct.pack(">i", len(part)) + part
    return operator("window", b"\0", [_keyed(index, keyed) for index in range(SUBTASKS)])


def files_of_state(size: int) -> bytes:
    """Return an operator whose keyed state stands in files, as of incremental checkpoints."""
    one = utf("000012.sst") + b"\x02" + struct.pack(">q", 1 << 20) + utf("s3://bucket/flink/job/shared/" + "a" * 36)
    files = size // SUBTASKS // len(one)
    keyed = b"\x0b" + struct.pack(">q", 1) + utf("uuid") + struct.pack(">iiq", 0, 1, 0) + b"\0"
    keyed += struct.pack(">i", files) + one * files + struct.pack(">i", 0) + utf("id")
    return operator("join", b"\0", [_keyed(index, keyed) for index in range(SUBTASKS)])


def operator(name: str, coordinator: bytes, subtasks: list[bytes]) -> bytes:
    """Return one operator."""
    head = utf(name) + utf(name) + bytes.fromhex(operator_id(name)) + struct.pack(">ii", SUBTASKS, SUBTASKS)
    return head + coordinator + struct.pack(">i", len(subtasks)) + b"".join(subtasks)


def utf(text: str) -> bytes:
    """Write Java's UTF."""
    return struct.pack(">H", len(text)) + text.encode()


def _keyed(index: int, keyed: bytes) -> bytes:
    return struct.pack(">iii", index, 0, 0) + keyed + struct.pack(">bii", 0, 0, 0)


if __name__ == "__main__":
    main()
