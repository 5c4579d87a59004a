"""Jars of Maven Central: fetched once into the user's cache, and compared with `jars.lock` at every use.

The lock has each jar by its coordinates with its SHA-256, and a native library that belongs to jars by a fourth
coordinate, `so`. `make lock` adds to it, and never changes a hash.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from offsetwise.errors import JarError

LOCK: Final = Path(__file__).with_name("jars.lock")


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "offsetwise" / "jars"


def locked() -> dict[str, dict[str, str]]:
    """Return the lock: by the name of a set, the SHA-256 of each of its jars by `organisation:name:version`."""
    sets: dict[str, dict[str, str]] = json.loads(LOCK.read_text(encoding="utf-8"))
    return sets


def locked_jars(name: str, *, java: Callable[[], str]) -> Path:
    """Return the folder with exactly the jars of a set of the lock, after fetching them if it is missing.

    They are fetched by the Ivy in pyspark, so no Maven is needed. The folder appears by a rename once every jar was
    compared with the lock. It is compared again at each use: a jar that was changed in the cache never runs.

    Args:
        name: The set in the lock.
        java: Returns the path of the `java` command; called only if jars must be fetched.

    Raises:
        JarError: The jars cannot be fetched (the end of Ivy's log is in the message), or differ from the lock.
    """
    pinned = locked()[name]
    # Another list is another folder: releases with other jars share one cache.
    folder = cache_folder() / f"{name}-{sha256(json.dumps(pinned, sort_keys=True).encode()).hexdigest()[:8]}"
    if not folder.is_dir():
        _fetch(folder, pinned, java())
    _compare(folder, pinned)
    return folder


def resolve(name: str, work: Path, coordinates: Iterable[str], java: str, *, pattern: str, transitive: bool) -> Path:
    """Let Ivy fetch jars into `work`, and return their folder.

    Args:
        name: The set, for the error.
        work: An empty folder.
        coordinates: `organisation:name:version`; for a native library followed by `:so`.
        java: The `java` command.
        pattern: Ivy's pattern for the path of each jar.
        transitive: Whether to fetch their dependencies too.

    Raises:
        JarError: They cannot be fetched; the end of Ivy's log is in the message.
    """
    artifacts = [coordinate.split(":") for coordinate in coordinates]
    ivy_file = work / "ivy.xml"
    ivy_file.write_text(_ivy_module(artifacts, transitive=transitive), encoding="utf-8")
    command = [java, "-jar", str(_ivy_jar()), "-ivy", str(ivy_file), "-cache", str(work / "ivy")]
    command += ["-types", "jar", "bundle", "maven-plugin", "so", "-retrieve", str(work / "jars" / pattern)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - arguments are our own
    if ran.returncode != 0 or not (work / "jars").is_dir():
        said = [line.strip() for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
        raise JarError(
            f"The jars of {name} could not be fetched into {cache_folder()}. Nothing was run. "
            f"Ivy's last words: {' | '.join(said[-6:])}",
            fix="Check that this machine reaches Maven Central (or your mirror of it), then run the command again.",
        )
    return work / "jars"


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _fetch(folder: Path, pinned: Mapping[str, str], java: str) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(mkdtemp(dir=folder.parent, prefix="fetching-"))
    try:
        jars = resolve(folder.name, work, pinned, java, pattern="[artifact]-[revision].[ext]", transitive=False)
        _compare(jars, pinned)
        if not folder.is_dir():
            jars.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _compare(folder: Path, pinned: Mapping[str, str]) -> None:
    """Raise if a folder holds anything but the jars of the lock: a class path takes whatever is there."""
    expected = {_file(coordinates): digest for coordinates, digest in pinned.items()}
    results = {path.name: path for path in folder.iterdir()}
    for name in sorted(expected.keys() | results.keys()):
        if name not in expected:
            wrong = f"{results[name]}: expected only the jars that {LOCK.name} names, found this one too"
        elif name not in results:
            wrong = f"{folder / name}: expected a jar, found none"
        else:
            digest = sha256_of(results[name])
            if digest == expected[name]:
                continue
            wrong = f"{results[name]}: expected SHA-256 {expected[name]}, as in {LOCK.name}, found {digest}"
        raise JarError(
            f"{wrong}. Nothing was run.",
            fix=f"Find out who changed it. Then remove {folder}, and run the command again: the jars are fetched anew.",
        )


def _file(coordinates: str) -> str:
    _, name, version, *kind = coordinates.split(":")
    return f"{name}-{version}.{kind[0] if kind else 'jar'}"


def _ivy_module(artifacts: Iterable[list[str]], *, transitive: bool) -> str:
    whole = str(transitive).lower()
    dependencies = "".join(
        f'<dependency org="{org}" name="{name}" rev="{rev}" transitive="{whole}">'
        + "".join(f'<artifact name="{name}" type="{artifact_type}" ext="{artifact_type}"/>' for artifact_type in kind)
        + "</dependency>"
        for org, name, rev, *kind in artifacts
    )
    return (
        '<ivy-module version="2.0"><info organisation="offsetwise" module="jars"/>'
        '<configurations><conf name="default"/></configurations>'
        f'<dependencies defaultconf="default->master,runtime">{dependencies}</dependencies></ivy-module>'
    )


def _ivy_jar() -> Path:
    pyspark = find_spec("pyspark")
    folder = Path(pyspark.origin).parent / "jars" if pyspark and pyspark.origin else Path()
    paths = sorted(folder.glob("ivy-*.jar"))
    if not paths:
        raise JarError(
            f"Jars are fetched with the Ivy that pyspark brings, found none in {folder}. Nothing was run.",
            fix="Install the full pyspark package (not pyspark-client) into this environment.",
        )
    return paths[-1]
