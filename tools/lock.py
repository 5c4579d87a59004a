"""Writes the locks: every package and jar by its SHA-256. `make lock` runs it; it needs a network.

Locked versions stay: a package keeps its version until `UPGRADE=name make lock` requests the newest one that
pyproject.toml allows, and the hash of a jar is never changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from offsetwise.jars import LOCK, locked, resolve, sha256_of
from offsetwise.lab.jars import KAFKA_VERSION
from offsetwise.lab.java import find_java
from offsetwise.pipeline.launching import CONNECTOR
from tests.integration.flink_distribution import DISTRIBUTIONS, PACKAGE, ROOT
from tests.integration.secured_broker import NEWEST_KAFKA, OLD_KAFKA
from tests.plugins.connect.live.connect_workers import JARS as CONNECT
from tests.plugins.connect.live.connect_workers import WANTED as OF_CONNECT
from tests.plugins.kafka.live.group_jobs import JARS as OF_STREAMS
from tests.plugins.kafka.live.group_jobs import WANTED as STREAMS
from tests.plugins.kinesis.live.jars import SETS
from tests.plugins.spark.live.spark_versions import OTHER_SPARKS, SPARKS

LOCKS: Final = ROOT / "locks"
OLDEST_PYTHON: Final = "3.11"
LOG4J: Final = "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3"
PARTS: Final = {"console": ("screens", "postgres", "kinesis", "s3", "gcs", "azure"), "spark": ("spark",)}
"""Locks with a part of `packages.txt`, by the extras that are in them."""
NOT_IN_SPARK: Final = (
    "commons-pool2",
    "kafka-clients",
    "spark-sql-kafka-0-10_2.13",
    "spark-token-provider-kafka-0-10_2.13",
)
"""What the connector needs and no Spark brings. Its other dependencies are among Spark's own jars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    name: str
    coordinates: tuple[str, ...]
    transitive: bool = False
    only: tuple[str, ...] = ()
    """The names to keep; empty keeps all."""


def wanted_jars() -> Iterator[Wanted]:
    kafka = ("kafka_2.13", "connect-mirror", "connect-runtime", "kafka-tools")
    yield Wanted(
        name=f"kafka-{KAFKA_VERSION}",
        coordinates=(
            *(f"org.apache.kafka:{each}:{KAFKA_VERSION}" for each in kafka),
            LOG4J,
        ),
        transitive=True,
    )
    yield Wanted(name=CONNECT, coordinates=OF_CONNECT)
    yield Wanted(name=OF_STREAMS, coordinates=STREAMS)
    for version, logging in ((NEWEST_KAFKA, LOG4J), (OLD_KAFKA, "org.slf4j:slf4j-simple:1.7.36")):
        broker = f"org.apache.kafka:kafka_2.13:{version}"
        yield Wanted(name=f"kafka-{version}", coordinates=(broker, logging), transitive=True)
    for version in SPARKS:
        connector = f"{CONNECTOR}:{version}"
        yield Wanted(name=f"spark-kafka-{version}", coordinates=(connector,), transitive=True, only=NOT_IN_SPARK)
    for flink in DISTRIBUTIONS:
        yield Wanted(name=f"flink-{flink.version}", coordinates=flink.jars)
    newest = DISTRIBUTIONS[-1].version
    state = f"org.apache.flink:flink-state-processor-api:{newest}"
    yield Wanted(name=f"flink-state-processor-{newest}", coordinates=(state,))
    for name, coordinates in SETS.items():
        yield Wanted(name=name, coordinates=coordinates, transitive=True)


def lock_jars() -> None:
    """Write the lock of the jars; fetch only those it lacks."""
    before, sets = locked(), dict[str, dict[str, str]]()
    for each in wanted_jars():
        known = before.get(each.name, {})
        sets[each.name] = known if set(each.coordinates) <= known.keys() else _digests(each)
        print(f"{each.name}: {len(sets[each.name])} jars", flush=True)
    LOCK.write_text(json.dumps(sets, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _digests(wanted: Wanted) -> dict[str, str]:
    with TemporaryDirectory() as work:
        jars = resolve(
            wanted.name,
            Path(work),
            wanted.coordinates,
            find_java(),
            pattern="[organisation]/[module]/[revision]/[artifact]-[revision].[ext]",
            transitive=wanted.transitive,
        )
        found = {}
        for path in (each for each in jars.rglob("*") if each.is_file()):
            organisation, name, version = path.relative_to(jars).parts[:-1]
            kind = path.suffix[1:]
            if path.name != f"{name}-{version}.{kind}":
                raise SystemExit(f"{path.name}: expected the jar of {name} {version}. Nothing was written.")
            if not wanted.only or name in wanted.only:
                found[f"{organisation}:{name}:{version}{'' if kind == 'jar' else f':{kind}'}"] = sha256_of(path)
    return found


def lock_packages() -> None:
    """Write the locks of the Python packages, with the hashes of every file of a version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    _compile(LOCKS / "build.txt", "\n".join(project["build-system"]["requires"]))
    # A new lock keeps the versions of the existing one.
    _compile(LOCKS / "packages.txt", "pyproject.toml", "--all-extras")
    of_all = f"--constraint={LOCKS / 'packages.txt'}"
    for name, extras in PARTS.items():
        _compile(LOCKS / f"{name}.txt", "pyproject.toml", of_all, *(f"--extra={extra}" for extra in extras))
    _compile(LOCKS / "uv.txt", "uv", of_all)
    for spark in OTHER_SPARKS:
        _compile(spark.lock, f"pyspark=={spark.version}", "--no-deps")
    for flink in DISTRIBUTIONS:
        _compile(flink.lock, f"{PACKAGE}=={flink.version}", "--no-deps")


def _compile(lock: Path, source: str, *options: str) -> None:
    """Lock the requirements of a project file, or requirements given one a line."""
    is_file = source.endswith(".toml")
    upgraded = [f"--upgrade-package={name}" for name in os.environ.get("UPGRADE", "").split()]
    subprocess.run(  # noqa: S603 - arguments are our own
        [
            *(str(Path(sys.prefix, "bin", "uv")), "pip", "compile", *options, *upgraded),
            *("--universal", "--generate-hashes", "--python-version", OLDEST_PYTHON),
            *("--no-annotate", "--no-header", "--quiet", "--output-file", str(lock), source if is_file else "-"),
        ],
        input=None if is_file else source,
        cwd=ROOT,
        text=True,
        stdout=subprocess.DEVNULL,
        check=True,
    )


if __name__ == "__main__":
    lock_packages()
    lock_jars()
