"""What Spark's JVM is started with: a folder of its own, and properties that no other user of the machine can read."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
"""What PySpark puts on the command line of `spark-submit`; its last word is the program."""
_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""What `spark-submit` starts its JVM with."""
_PROGRAM: Final = "pyspark-shell"
_PATHS: Final = (
    *("spark.jars", "spark.jars.ivy", "spark.jars.ivySettings", "spark.files", "spark.archives"),
    *("spark.submit.pyFiles", "spark.local.dir", "spark.eventLog.dir"),
)
"""Properties that hold paths, separated by commas: relative ones mean the folder that the command is given in."""


def new_folder() -> TemporaryDirectory[str]:
    """Give a folder for a JVM to work in, this user's alone; it goes with the value, or with this process.

    Spark 4.0 makes `artifacts/` wherever its JVM works, and leaves it there.
    """
    return TemporaryDirectory(prefix="offsetwise-spark-", ignore_cleanup_errors=True)


@contextmanager
def starting(properties: Mapping[str, str], folder: Path) -> Iterator[None]:
    """Let the JVM that PySpark starts inside the block read these properties, and work in `folder`.

    Everybody on the machine sees the command line of a process. So it names a file, which is its owner's alone and
    gone when the block ends. Spark's own defaults are read as without it. Workers keep the folder of this process.
    """
    file = folder / "spark.properties"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as written:
        written.writelines(f"{_escaped(name)}={_escaped(value)}\n" for name, value in properties.items())
    *given, program = shlex.split(os.environ.get(_ARGUMENTS, _PROGRAM))
    told = {
        _ARGUMENTS: shlex.join([*given, "--load-spark-defaults", "--properties-file", str(file), program]),
        _OPTIONS: f'{os.environ.get(_OPTIONS, "")} "-Duser.dir={folder}"'.strip(),
    }
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        file.unlink()


def absolute_paths(properties: Mapping[str, str]) -> dict[str, str]:
    """Give the properties with every path in them absolute."""
    return {name: _absolute(value) if name in _PATHS else value for name, value in properties.items()}


def _absolute(paths: str) -> str:
    parts = (path.strip() for path in paths.split(","))
    return ",".join(path if not path or ":" in path else os.path.abspath(path) for path in parts)


def _escaped(text: str) -> str:
    """Write a key or value so that `java.util.Properties` reads it back, whatever is in it."""
    return "".join(one if one.isascii() and one.isalnum() else _unicode(one) for one in text)


def _unicode(one: str) -> str:
    units = one.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
