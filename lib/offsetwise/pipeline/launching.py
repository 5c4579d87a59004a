"""What Spark's JVM is started with: a folder of its own, properties that nobody else can read, the Kafka connector."""

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
"""What `spark-submit` starts its JVM with."""
SAFE_PATH: Final = "PYTHONSAFEPATH"
"""Set to anything, Python imports nothing from the working folder (https://docs.python.org/3/using/cmdline.html)."""
_HOME: Final = "SPARK_HOME"
_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
"""What PySpark puts on the command line of `spark-submit`; its last word is the program."""
_LATER: Final = (
    *("-XX:Tier4InvocationThreshold=50000", "-XX:Tier4MinInvocationThreshold=6000"),
    *("-XX:Tier4CompileThreshold=150000", "-XX:Tier4BackEdgeThreshold=400000"),
)
"""The second compiler starts ten times later than by default: on a machine of few cores it takes from small work most
of the processor, and what runs for minutes gets there all the same."""
_PROGRAM: Final = "pyspark-shell"
_PATHS: Final = (
    *("spark.jars", "spark.jars.ivy", "spark.jars.ivySettings", "spark.files", "spark.archives"),
    *("spark.submit.pyFiles", "spark.local.dir", "spark.eventLog.dir"),
)
"""Properties that hold paths, separated by commas: relative ones mean the folder that the command is given in."""


def connector_jars(java: Callable[[], str]) -> list[str]:
    """Return the paths of the connector's jars, compared with the lock.

    Args:
        java: Gives the path of the `java` command; asked only where jars must be fetched.

    Raises:
        ConnectorError: The lock knows no connector of this PySpark, or the jars cannot be fetched or are others.
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
    """Return the folder of the Spark that is started: what `SPARK_HOME` names, else that of the imported PySpark.

    PySpark itself looks above the working folder first, and runs `bin/spark-submit` of whatever it finds there.
    """
    if named := os.environ.get(_HOME):
        return Path(named)
    package = Path(pyspark.__file__).parent
    folders = (package / "spark-distribution", package, package.parents[1])
    return next((folder for folder in folders if (folder / "bin" / "spark-submit").is_file()), package)


def new_folder() -> TemporaryDirectory[str]:
    """Return a folder for a JVM to work in, this user's alone; it goes with the value, or with this process.

    Spark 4.0 makes `artifacts/` wherever its JVM works, and leaves it there.
    """
    return TemporaryDirectory(prefix="offsetwise-spark-", ignore_cleanup_errors=True)


@contextmanager
def starting(properties: Mapping[str, str], folder: Path, options: Sequence[str] = ()) -> Iterator[None]:
    """Let the JVM that PySpark starts inside the block read these properties, have these options, work in `folder`.

    Everybody on the machine sees the command line of a process. So it names a file, which is its owner's alone and
    gone when the block ends. Spark's own defaults are read as without it. Workers keep the folder of this process.
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
