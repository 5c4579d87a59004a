"""Class data sharing (CDS) of Java for a local Spark: classes are loaded and checked once and mapped by later JVMs.

Loading classes is half of the cost of a small job. The first process that starts Spark leaves a child behind when it
ends, which starts the same JVM once more, runs a small job, and writes the classes to the user's cache. Nobody waits
for it. A JVM ignores an archive that is damaged, or of other jars or another Java.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pyspark

from offsetwise.config import SparkSettings
from offsetwise.jars import cache_folder
from offsetwise.pipeline.launching import OPTIONS, spark_home
from offsetwise.regular_files import opening

ARCHIVE_BYTES: Final = 160_000_000
"""About the size of an archive; none is created if less than twice that is free."""
_AGAIN_S: Final = 86_400
"""The minimum time between two attempts, in seconds."""
_UNUSED_S: Final = 30 * 86_400
"""How long an unused archive of another Java or Spark is kept, in seconds."""
_LIMIT_S: Final = 900
_CHOSEN: Final = re.compile(r"-Xshare|SharedArchiveFile|ArchiveClassesAtExit|SharedClassListFile")
_LEAST_PRIORITY: Final = 19
_handled: set[Path] = set()
"""Archives that a child process will create when this process ends."""


def archive_options(java: str) -> list[str]:
    """Return the options with which the JVM of a local master maps its archive; empty if there is none.

    If none was tried lately, one is created after this process ends. Own CDS options in SPARK_SUBMIT_OPTS have
    precedence. Never raises: without an archive Spark only starts later.
    """
    if _CHOSEN.search(os.environ.get(OPTIONS, "")):
        return []
    try:
        archive = archive_for(java)
        if usable(archive):
            return [f'"-XX:SharedArchiveFile={archive}"', "-XX:+VerifySharedSpaces"]
        if archive not in _handled and not _tried_lately(archive):
            _handled.add(archive)
            atexit.register(_leave_to_a_child, archive)
    except OSError:
        pass
    return []


def archive_for(java: str) -> Path:
    """Return the path of the archive for a Java and this Spark; whatever would make a JVM reject it changes the name.

    Raises:
        OSError: Java or Spark's jars cannot be read.
    """
    runtime = Path(java).resolve(strict=True)
    libraries = runtime.parent.parent / "lib" / "modules"
    jars = spark_home() / "jars"
    states = [_state(path) for path in (runtime, libraries) if path.exists()]
    states += sorted(_state(path) for path in jars.iterdir())
    digest = sha256(repr(states).encode()).hexdigest()
    return cache_folder().with_name("classes") / f"spark-{pyspark.__version__}-{digest[:16]}.jsa"


def usable(archive: Path) -> bool:
    """Return whether an archive exists, complete, that nobody else could have written: a JVM runs its code.

    A JVM verifies the checksum itself and ignores a file that it cannot use, but crashes if the file is too short.
    """
    try:
        whole = f"{archive.stat().st_size}\n" == _lock_of(archive).read_text(encoding="ascii")
        return whole and opening(archive, shared_folder=False) is None
    except (OSError, ValueError):
        return False


def make(archive: Path) -> bool:
    """Create an archive, unless another process does; it appears as a whole, by a rename.

    Returns:
        Whether it exists now.

    Raises:
        OSError: The folder cannot be written, or is full.
        OffsetwiseError: Spark does not start.
    """
    with _alone(archive) as lock:
        if lock is None or usable(archive):
            return usable(archive)
        if shutil.disk_usage(archive.parent).free < 2 * ARCHIVE_BYTES:
            return False
        path = archive.with_name(f"making-{os.getpid()}.jsa")
        try:
            _record(path)
            path.chmod(0o600)
            os.truncate(lock, 0)
            path.replace(archive)
            os.write(lock, f"{archive.stat().st_size}\n".encode())
        finally:
            path.unlink(missing_ok=True)
        _remove_unused(archive)
    return True


def _state(path: Path) -> tuple[str, int, int]:
    result = path.stat()
    return str(path), result.st_size, result.st_mtime_ns


def _lock_of(archive: Path) -> Path:
    return archive.with_suffix(".lock")


def _tried_lately(archive: Path) -> bool:
    lock = _lock_of(archive)
    return lock.exists() and time.time() - lock.stat().st_mtime < _AGAIN_S


def _leave_to_a_child(archive: Path) -> None:
    """Start the child that creates the archive, in its own session: it outlives this process and its terminal."""
    with suppress(OSError):
        subprocess.Popen(  # noqa: S603 - the interpreter that runs this
            [sys.executable, "-P", "-m", __spec__.name, str(archive)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


@contextmanager
def _alone(archive: Path) -> Iterator[int | None]:
    """Yield the locked lock file of an archive; None if another process has locked it.

    The file's time is that of the last attempt, its content the size of the archive in bytes.
    """
    archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(_lock_of(archive), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        os.utime(lock)
        yield lock
    finally:
        os.close(lock)


def _record(archive: Path) -> None:
    """Start a JVM as usual, and let it write its classes when it ends: another launch would have another class path."""
    from offsetwise.pipeline.session import open_session  # noqa: PLC0415 - it imports this module

    given = os.environ.get(OPTIONS, "")
    os.environ[OPTIONS] = f'{given} "-XX:ArchiveClassesAtExit={archive}"'
    try:
        spark = open_session(SparkSettings(master="local[1]"), kafka=True)
    finally:
        os.environ[OPTIONS] = given
    jvm = spark.sparkContext._gateway.proc  # type: ignore[union-attr] # py4j has no types, and a classic session has one

    def same(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    spark.range(10).mapInArrow(same, "id long").groupBy("id").count().toArrow()
    spark.stop()
    jvm.stdin.close()
    jvm.wait(_LIMIT_S)


def _remove_unused(archive: Path) -> None:
    for path in archive.parent.glob("*.jsa"):
        with suppress(OSError):
            if path != archive and time.time() - max(path.stat().st_mtime, path.stat().st_atime) > _UNUSED_S:
                path.unlink()
                _lock_of(path).unlink(missing_ok=True)


if __name__ == "__main__":
    os.nice(_LEAST_PRIORITY)
    make(Path(sys.argv[1]))
