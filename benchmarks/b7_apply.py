"""B7: a checkpoint with 10,000 state files, copied with other positions under the journal, verified before it appears.

Peer, on the same tree: `cp -r`, which neither checks, edits nor syncs anything. Targets: with hard links at most 2 s,
whatever the files hold; and what is copied without links is read again and hashed, for 10 GB in at most 12 s per
GB/s that one thread hashes here, told where `--gigabytes` makes the files larger than 16 KiB. The times of
`cp -r` and of the copy without links grow with the bytes too.

    python -m benchmarks.b7_apply [--gigabytes 10] [FOLDER]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.checkpoints import write_checkpoint
from offsetwise.apply.disk import Disk
from offsetwise.apply.journal import Journal
from offsetwise.apply.writing import Context
from offsetwise.model import Plan
from tests.apply.plans import COPY, IN_PLACE, drafted, in_place, spark_checkpoint

FILES, BYTES, STORES, ROUNDS = 10_000, 16_384, 200, 3
TARGET_S_PER_GB_S = 12


class WithoutLinks(Disk):
    """A file system that knows no links and no shared blocks."""

    def link(self, source: str, path: str) -> bool:  # noqa: ARG002 - as Disk declares it
        """Make none."""
        return False

    def _clone(self, fd: int, source_fd: int, path: str) -> bool:  # noqa: ARG002 - as Disk declares it
        return False

    def require_same(self, copied: Mapping[str, str]) -> None:
        """Print how long reading again takes, and how much of the processor, all threads together."""
        begun, used = time.perf_counter(), time.process_time()
        super().require_same(copied)
        self.read_again_s, self.processor_s = time.perf_counter() - begun, time.process_time() - used
        self.read_again_bytes = sum(os.path.getsize(path) for path in copied)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="where to make the checkpoint")
    parser.add_argument("--gigabytes", type=float, help="of state in all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    size = BYTES if given.gigabytes is None else int(given.gigabytes * 1e9) // (FILES // 2)
    with tempfile.TemporaryDirectory(dir=given.folder) as directory:
        root = Path(directory)
        source = root / "source"
        write_checkpoint(source, topics={"orders": 100}, batches=100)
        (source / "commits" / "99").write_bytes(b'v1\n{"nextBatchWatermarkMs":0}')
        _write_state(source, size)
        _age(source)
        plan = drafted(str(source))
        print(f"B7 {FILES:,} state files of {size:,} bytes in {STORES} stores, and their checksums", flush=True)
        rounds = given.rounds
        slow = WithoutLinks()
        linked = _median_s(root, rounds, lambda: _apply(root, plan, Disk()))
        copied = _median_s(root, rounds, lambda: _apply(root, plan, slow))
        peer = _median_s(root, rounds, lambda: subprocess.run(["cp", "-r", str(source), str(root / "out")], check=True))
        print(f"B7 copy by links, synced and journalled: {linked:.2f} s (target 2 s)")
        print(f"B7 copy without links, every file synced: {copied:.2f} s; cp -r, nothing synced: {peer:.2f} s")
        if given.gigabytes is not None:
            speed, gigabytes = _hash_gb_s(), slow.read_again_bytes / 1e9
            reached = slow.read_again_s * speed / gigabytes * 10
            print(
                f"B7 of it {gigabytes:.1f} GB read again: {slow.read_again_s:.1f} s, {slow.processor_s:.1f} s "
                f"of the processor; one thread hashes {speed:.2f} GB/s: {reached:.1f} s per GB/s for 10 GB "
                f"(target {TARGET_S_PER_GB_S})"
            )
        begun = time.perf_counter()
        with _journal(root, "in-place.journal") as journal:
            in_place.write(plan, IN_PLACE, _context(root, journal, Disk()))
        print(f"B7 edited in place: {time.perf_counter() - begun:.2f} s")


def _write_state(source: Path, size: int) -> None:
    for number in range(FILES // 2):
        store = source / "state" / "0" / str(number % STORES)
        store.mkdir(parents=True, exist_ok=True)
        # The oldest version of a store is whole, the others are changes to it.
        name = f"{100 - number // STORES}.{'snapshot' if number >= FILES // 2 - STORES else 'delta'}"
        (store / name).write_bytes(os.urandom(size))
        (store / f".{name}.crc").write_bytes(b"crc\0" + b"\0" * 132)


def _age(folder: Path) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - 3600, time.time() - 3600))


def _journal(root: Path, name: str) -> Journal:
    return Journal.open(str(root / name), digest="00" * 32, begun_at="2026-01-01T00:00:00Z")


def _context(root: Path, journal: Journal, disk: Disk) -> Context:
    return Context(
        digest=journal.digest,
        output=str(root / "out"),
        write_roots=(str(root),),
        read_roots=None,
        journal=journal,
        disk=disk,
    )


def _apply(root: Path, plan: Plan, disk: Disk) -> None:
    with _journal(root, "copy.journal") as journal:
        spark_checkpoint.write(plan, COPY, _context(root, journal, disk))


def _hash_gb_s() -> float:
    chunk, made = os.urandom(1 << 20), hashlib.sha256()
    begun = time.perf_counter()
    for _ in range(1_000):
        made.update(chunk)
    return 1_000 * len(chunk) / 1e9 / (time.perf_counter() - begun)


def _median_s(root: Path, rounds: int, run: Callable[[], object]) -> float:
    taken = []
    for _ in range(rounds):
        os.sync()
        begun = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begun)
        shutil.rmtree(root / "out")
        (root / "copy.journal").unlink(missing_ok=True)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
