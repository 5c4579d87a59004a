"""The classes that local JVMs of Spark map: made once by a child that nobody waits for, and never in the way."""

from __future__ import annotations

import atexit
import fcntl
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from offsetwise.jars import cache_folder
from offsetwise.lab.java import find_java
from offsetwise.pipeline import class_archive
from offsetwise.pipeline.class_archive import archive_for, archive_options, make, usable
from tests.pipeline.test_session import OPEN
from tests.quick_spark import OPTIONS
from tests.with_cases import with_cases

MAPPED = "shared objects file (top)"
"""What a JVM says of a class that it took from an archive of ours; Java's own one is not on top."""
WAIT_S = 300


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder with the jars, for this process and its children, whose JVMs start as everybody's do."""
    jars = cache_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(OPTIONS, raising=False)
    (tmp_path / "cache" / "offsetwise").mkdir(parents=True)
    cache_folder().symlink_to(jars)
    return tmp_path / "cache" / "offsetwise" / "classes"


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What this process would do at its end."""
    registered: list[Any] = []
    monkeypatch.setattr(atexit, "register", lambda *given: registered.append(given))
    monkeypatch.setattr(class_archive, "_handled", set())
    return registered


def opened(log: Path | None = None, *, within: Sequence[str] = ()) -> str:
    """Open a session in a process of its own, and give what it said; `log` gets where its classes came from.

    `within` is a command that runs the one behind it.
    """
    told = {} if log is None else {OPTIONS: f"-Xlog:class+load=info:file={log}"}
    ran = subprocess.run(
        [*within, sys.executable, "-c", OPEN, '[{"master": "local[1]"}, true]'],
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    return ran.stdout + ran.stderr


def damage(archive: Path) -> None:
    with archive.open("r+b") as file:
        file.seek(archive.stat().st_size // 2)
        file.write(b"\xff" * 100_000)


def shorten(archive: Path) -> None:
    os.truncate(archive, archive.stat().st_size // 2)


def of_another_java(archive: Path) -> None:
    head = archive.read_bytes()[:8_192]
    at = head.index(b"OpenJDK")
    with archive.open("r+b") as file:
        file.seek(at)
        file.write(b"OtherVM")


@pytest.mark.gates
@pytest.mark.proof
def test_the_first_process_leaves_a_child_that_keeps_the_classes_and_the_next_ones_map_them(
    cache: Path, tmp_path: Path
) -> None:
    archive = archive_for(find_java())
    assert opened() == "7 UTC\n"
    until = time.monotonic() + WAIT_S
    while not usable(archive) and time.monotonic() < until:
        time.sleep(0.5)

    assert usable(archive)
    assert opened(tmp_path / "mapped.log") == "7 UTC\n"
    assert (tmp_path / "mapped.log").read_text().count(MAPPED) > 5_000
    assert sorted(path.suffix for path in cache.iterdir()) == [".jsa", ".lock"]
    whole = archive.rename(tmp_path / "whole.jsa")
    for number, harm in enumerate((damage, shorten, of_another_java)):
        shutil.copy(whole, archive)
        archive.chmod(0o600)
        harm(archive)
        log = tmp_path / f"{number}.log"
        assert opened(log) == "7 UTC\n", harm.__name__
        assert MAPPED not in log.read_text(), harm.__name__


@pytest.mark.gates
@pytest.mark.proof
def test_a_disk_that_fills_while_it_is_made_leaves_nothing_behind(cache: Path) -> None:
    archive = archive_for(find_java())
    limit = class_archive.ARCHIVE_BYTES // 4

    subprocess.run(
        [sys.executable, "-m", "offsetwise.pipeline.class_archive", str(archive)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )

    assert [path.suffix for path in cache.iterdir()] == [".lock"]


def test_nothing_is_begun_where_the_disk_is_nearly_full(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12, 10**8))
    monkeypatch.setattr(class_archive, "_record", None)

    assert make(archive_for(find_java())) is False
    assert [path.suffix for path in cache.iterdir()] == [".lock"]


def test_a_process_that_makes_it_is_not_joined_by_another(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = archive_for(find_java())
    cache.mkdir()
    monkeypatch.setattr(class_archive, "_record", None)
    with archive.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert make(archive) is False


def test_an_attempt_is_made_once_a_day_and_once_a_process(cache: Path, left: list[Any]) -> None:
    archive = archive_for(find_java())

    assert [archive_options(find_java()) for _ in range(2)] == [[], []]
    assert [path for _, path in left] == [archive]

    left.clear()
    class_archive._handled.clear()
    cache.mkdir()
    lock = archive.with_suffix(".lock")
    lock.touch()
    assert archive_options(find_java()) == []
    assert left == []
    os.utime(lock, (0, 0))
    assert archive_options(find_java()) == []
    assert [path for _, path in left] == [archive]


def put(archive: Path) -> None:
    archive.parent.mkdir()
    archive.write_bytes(b"classes")
    archive.with_suffix(".lock").write_text("7\n")
    archive.chmod(0o600)


@with_cases(
    "let_in",
    [
        lambda archive: archive.chmod(0o606),
        lambda archive: archive.parent.chmod(0o777),
        lambda archive: archive.unlink(),
    ],
    ids=["others may write it", "others may write its folder", "none"],
)
@pytest.mark.usefixtures("cache")
def test_an_archive_that_others_could_have_written_or_that_is_not_whole_is_not_mapped(
    left: list[Any], let_in: Callable[[Path], None]
) -> None:
    archive = archive_for(find_java())
    put(archive)
    assert archive_options(find_java()) == [f'"-XX:SharedArchiveFile={archive}"', "-XX:+VerifySharedSpaces"]

    let_in(archive)

    assert archive_options(find_java()) == []
    assert left == [], "it was made a moment ago"


@pytest.mark.gates
@pytest.mark.proof
@pytest.mark.usefixtures("left")
def test_a_cache_folder_that_cannot_be_one_is_left_alone(cache: Path) -> None:
    cache.write_text("a file")

    assert archive_options(find_java()) == []
    assert opened() == "7 UTC\n"
    assert cache.read_text() == "a file"


@pytest.mark.proof
def test_a_cache_that_cannot_be_written_is_left_alone(cache: Path) -> None:
    cache.mkdir()
    alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    read_only = [*alone, "sh", "-c", 'mount -t tmpfs -o ro none "$0" && exec "$@"', str(cache)]

    assert subprocess.run([*read_only, "touch", str(cache / "file")], capture_output=True, check=False).returncode != 0
    assert opened(within=read_only) == "7 UTC\n"
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("cache")
def test_what_a_user_chose_stands(left: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    put(archive_for(find_java()))
    for chosen in ("-Xshare:off", "-Xmx1g -XX:SharedArchiveFile=/a.jsa", "-XX:ArchiveClassesAtExit=/b.jsa"):
        monkeypatch.setenv(OPTIONS, chosen)
        assert archive_options(find_java()) == []
    assert left == []


@pytest.mark.usefixtures("cache")
def test_another_java_and_other_jars_have_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "java").touch()
    jar = tmp_path / "spark" / "jars" / "a.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"1")
    java = str(tmp_path / "one" / "bin" / "java")
    before = archive_for(java), archive_for(str(tmp_path / "two" / "bin" / "java"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    with_jar = archive_for(java)
    jar.write_bytes(b"22")

    assert len({*before, with_jar, archive_for(java)}) == 4
