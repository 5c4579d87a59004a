"""Start Spark's JVM with a private folder, properties that nobody else can read, and the Kafka connector."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyspark

from offsetwise.client_properties.user_settings import SPARK_CONF
from offsetwise.errors import ConnectorError, JarError
from offsetwise.jars import locked, locked_jars

CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""The environment variable with the JVM options of `spark-submit`."""
SAFE_PATH: Final = "PYTHONSAFEPATH"
"""If set, Python imports nothing from the working folder (https://docs.python.org/3/using/cmdline.html)."""
_HOME: Final = "SPARK_HOME"
_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
"""The environment variable with PySpark's arguments of `spark-submit`; the last word is the program."""
_LATER: Final = (
    *("-XX:Tier4InvocationThreshold=50000", "-XX:Tier4MinInvocationThreshold=6000"),
    *("-XX:Tier4CompileThreshold=150000", "-XX:Tier4BackEdgeThreshold=400000"),
)
"""Start the C2 compiler ten times later than by default: on a machine with few cores it takes most of the processor
from small jobs, and jobs of minutes reach it all the same."""
_PROGRAM: Final = "pyspark-shell"
_PATHS: Final = (
    *("spark.jars", "spark.jars.ivy", "spark.jars.ivySettings", "spark.files", "spark.archives"),
    *("spark.submit.pyFiles", "spark.local.dir", "spark.eventLog.dir"),
)
"""Properties with comma-separated paths; relative ones are relative to the working folder of the command."""


def connector_jars(java: Callable[[], str]) -> list[str]:
    """Return the paths of the connector's jars, after comparing them with the lock.

    Args:
        java: Returns the path of the `java` command; called only if jars must be fetched.

    Raises:
        ConnectorError: The lock has no connector of this PySpark, or the jars cannot be fetched or differ.
    """
    name = f"spark-kafka-{pyspark.__version__}"
    known = sorted(entry.removeprefix("spark-kafka-") for entry in locked() if entry.startswith("spark-kafka-"))
    if name not in locked():
        raise ConnectorError(
            f"Spark's Kafka connector of PySpark {pyspark.__version__}: expected its SHA-256 in jars.lock, found those "
            f"of {', '.join(known)}. No record was read.",
            fix=f"Install one of these PySparks, or name the connector yourself in the file that {SPARK_CONF} names: "
            f"its files in spark.jars, or {CONNECTOR}:{pyspark.__version__} in spark.jars.packages, which Spark "
            "fetches without comparing it with anything that Offsetwise knows.",
        )
    try:
        return [str(path) for path in sorted(locked_jars(name, java=java).iterdir())]
    except JarError as error:
        raise ConnectorError(
            error.problem,
            fix=f"{error.fix} Offline, put the connector's jars into spark.jars in the file that {SPARK_CONF} names.",
        ) from error


def spark_home() -> Path:
    """Return the folder of the Spark to start: `SPARK_HOME`, or else that of the imported PySpark.

    PySpark itself first looks above the working folder, and runs any `bin/spark-submit` that it finds there.
    """
    if named := os.environ.get(_HOME):
        return Path(named)
    package = Path(pyspark.__file__).parent
    folders = (package / "spark-distribution", package, package.parents[1])
    return next((folder for folder in folders if (folder / "bin" / "spark-submit").is_file()), package)


def new_folder() -> TemporaryDirectory[str]:
    """Return a private working folder for a JVM; it is removed with the returned object, or with this process.

    Spark 4.0 creates `artifacts/` in the working folder of its JVM and leaves it there.
    """
    return TemporaryDirectory(prefix="offsetwise-spark-", ignore_cleanup_errors=True)


@contextmanager
def starting(properties: Mapping[str, str], folder: Path, options: Sequence[str] = ()) -> Iterator[None]:
    """Start PySpark's JVM inside the block with these properties and options, and with `folder` as working folder.

    Everybody on the machine can see the command line of a process. So it names a file, which only its owner can read
    and which is removed when the block ends. Spark's own defaults still apply. Workers keep the working folder of this
    process.
    """
    file = folder / "spark.properties"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as written:
        written.writelines(f"{_escaped(name)}={_escaped(value)}\n" for name, value in properties.items())
    *given, program = shlex.split(os.environ.get(_ARGUMENTS, _PROGRAM))
    results = {
        _ARGUMENTS: shlex.join([*given, "--load-spark-defaults", "--properties-file", str(file), program]),
        # The JVM starts Python workers in the folder of this process, where `python -m` would look for modules first.
        SAFE_PATH: "1",
        _HOME: str(spark_home()),
        OPTIONS: " ".join([*_LATER, *options, os.environ.get(OPTIONS, ""), f'"-Duser.dir={folder}"']),
    }
    before = {name: os.environ.get(name) for name in results}
    os.environ.update(results)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        file.unlink()


def absolute_paths(properties: Mapping[str, str]) -> dict[str, str]:
    return {name: _absolute(value) if name in _PATHS else value for name, value in properties.items()}


def _absolute(paths: str) -> str:
    parts = (path.strip() for path in paths.split(","))
    return ",".join(path if not path or ":" in path else os.path.abspath(path) for path in parts)


def _escaped(text: str) -> str:
    return "".join(
        character if character.isascii() and character.isalnum() else _unicode(character) for character in text
    )


def _unicode(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
