"""Kafka's jars and others, resolved once and kept in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from offsetwise.errors import LabError
from offsetwise.lab.java import find_java

Dependency = tuple[str, str, str]
"""Organisation, name and version."""
KAFKA_VERSION: Final = "4.1.1"
LOG4J_VERSION: Final = "2.24.3"
DEPENDENCIES: Final[tuple[Dependency, ...]] = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "connect-mirror", KAFKA_VERSION),
    ("org.apache.kafka", "connect-runtime", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J_VERSION),
)


def cache_folder() -> Path:
    """Give the folder where jars are kept: below XDG_CACHE_HOME, or `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "offsetwise" / "jars"


def kafka_jars() -> Path:
    """Give the folder with Kafka's jars; see `resolved_jars`."""
    return resolved_jars(f"kafka-{KAFKA_VERSION}", DEPENDENCIES)


def resolved_jars(name: str, dependencies: Sequence[Dependency], *, transitive: bool = True) -> Path:
    """Give the folder with jars of Maven Central, resolving them first if this is the first time.

    They are resolved by the Ivy that comes with pyspark, so no Maven is needed. The folder appears by a rename, so
    a folder that exists is complete; its name holds what is wanted, so another wish gets another folder.

    Args:
        name: How the folder's name begins.
        dependencies: What is wanted, the most important one first.
        transitive: Whether what they depend on is wanted too.

    Raises:
        JavaError: Java is missing or too old.
        LabError: The jars cannot be resolved; the end of Ivy's log is in the message.
    """
    folder = cache_folder() / f"{name}-{sha256(repr(dependencies).encode()).hexdigest()[:8]}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(mkdtemp(dir=folder.parent, prefix="resolving-"))
    try:
        _resolve(work, dependencies, transitive=transitive)
        if not folder.is_dir():
            (work / "jars").rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def _resolve(work: Path, dependencies: Sequence[Dependency], *, transitive: bool) -> None:
    ivy_file = work / "ivy.xml"
    ivy_file.write_text(_ivy_module(dependencies, transitive=transitive), encoding="utf-8")
    command = [find_java(), "-jar", str(_ivy_jar()), "-ivy", str(ivy_file), "-cache", str(work / "ivy")]
    command += ["-types", "jar", "bundle", "maven-plugin"]
    command += ["-retrieve", str(work / "jars" / "[artifact]-[revision](-[classifier]).[ext]")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - arguments are our own
    _, name, version = dependencies[0]
    if ran.returncode != 0 or not any((work / "jars").glob(f"{name}-*.jar")):
        said = [line.strip() for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
        raise LabError(
            f"The jars of {name} {version} could not be resolved into {cache_folder()}. Nothing was started. "
            f"Ivy's last words: {' | '.join(said[-6:])}",
            fix="Check that this machine reaches Maven Central (or your mirror of it), then run the command again.",
        )


def _ivy_module(dependencies: Sequence[Dependency], *, transitive: bool) -> str:
    whole = str(transitive).lower()
    wanted = "".join(
        f'<dependency org="{org}" name="{name}" rev="{rev}" transitive="{whole}"/>' for org, name, rev in dependencies
    )
    return (
        '<ivy-module version="2.0"><info organisation="offsetwise" module="lab"/>'
        '<configurations><conf name="default"/></configurations>'
        f'<dependencies defaultconf="default->master,runtime">{wanted}</dependencies></ivy-module>'
    )


def _ivy_jar() -> Path:
    pyspark = find_spec("pyspark")
    folder = Path(pyspark.origin).parent / "jars" if pyspark and pyspark.origin else Path()
    found = sorted(folder.glob("ivy-*.jar"))
    if not found:
        raise LabError(
            f"The lab resolves Kafka's jars with the Ivy that pyspark brings, found none in {folder}.",
            fix="Install the full pyspark package (not pyspark-client) into this environment.",
        )
    return found[-1]
