"""What Spark's Python workers need: checked with one tiny job, then sent as a zip.

Workers that already import the very same code get nothing: a zip comes first on their path and would hide the rest of
an installed Offsetwise. That is so for local masters, and for clusters whose image holds this release.
"""

from __future__ import annotations

import ast
import io
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from platform import node
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from fsspec.core import split_protocol
from fsspec.registry import known_implementations
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

import offsetwise
from offsetwise.errors import WorkerError
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.pipeline.spark_errors import spark_errors

PACKAGE: Final = Path(offsetwise.__file__).parent
SHIPPED: Final = ("sources.spark_checkpoint_rows", "translation.content", "translation.identity", "translation.worker")
"""Modules that hold what runs on workers. They are sent with every module of Offsetwise that they import."""
PROBED_TASKS: Final = 4
SHIPPED_KEY: Final = "spark.offsetwise.shipped"


def ship(spark: SparkSession, *, uris: Sequence[str] = (), watch: Callable[[], None] = lambda: None) -> None:
    """Make the workers able to run Offsetwise's functions (`mapInArrow`, `applyInArrow`); cheap to call again.

    Spark sends a function by the name of its module, so a function for workers stands in one of the modules `SHIPPED`,
    or inside another function.

    Args:
        spark: Classic or Connect.
        uris: What the workers will open; their file systems' libraries are checked too.
        watch: Called several times a second while the workers are asked, which a full cluster lets wait; what it raises
            ends that and is raised here.

    Raises:
        WorkerError: A worker has another Python, or lacks a package. Says which, where, and the pip line.
    """
    needed = _packages(uris)
    files = _files()
    digest = _digest(files)
    done = f"{digest} {' '.join(needed)}"
    if spark.conf.get(SHIPPED_KEY, "") == done:
        return
    answers = _ask_workers(spark, needed, tuple(files), watch)
    for where, python, missing, _ in answers:
        if missing:
            raise WorkerError(
                f"Spark's Python workers on {where} ({python}) need {', '.join(needed)}, and lack {missing}. "
                "Nothing was read.",
                fix=f"Run there: {python} -m pip install {missing}",
            )
    if any(installed != digest for *_, installed in answers):
        with spark_errors():
            spark.addArtifacts(str(keep_archive(files)), pyfile=True)
    spark.conf.set(SHIPPED_KEY, done)


def write_archive(path: Path) -> None:
    """Write the zip of shipped modules; the same modules give the same bytes."""
    path.write_bytes(_zipped(_files()))


def keep_archive(files: Mapping[str, bytes]) -> Path:
    """Give a zip of modules that stays until this process ends, since an executor may ask for it at any time.

    Its name tells its content: Spark refuses a file that it has under the same name with other bytes.

    Args:
        files: Source by path below the package.
    """
    data = _zipped(files)
    path = Path(_kept().name, f"offsetwise-{sha256(data).hexdigest()}.zip")
    if not path.exists():
        path.write_bytes(data)
    return path


@cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="offsetwise-")


def _zipped(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with ZipFile(made, "w") as archive:
        for name, source in files.items():
            archive.writestr(ZipInfo(f"offsetwise/{name}"), source, compress_type=ZIP_DEFLATED)
    return made.getvalue()


def _files() -> dict[str, bytes]:
    """Follow the imports of `SHIPPED`; source by path below the package, in the order of the paths."""
    found: dict[str, bytes] = {}
    ahead = [""]  # the package's own __init__
    ahead += SHIPPED
    while ahead:
        path = _path(ahead.pop())
        name = path.relative_to(PACKAGE).as_posix()
        if name not in found:
            found[name] = path.read_bytes()
            ahead += _imports(found[name])
    return dict(sorted(found.items()))


def _path(module: str) -> Path:
    place = PACKAGE.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def _imports(source: bytes) -> Iterator[str]:
    """Name the modules below `offsetwise` that a source imports, and the packages around them."""
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("offsetwise."):
            parts = (statement.module or "").split(".")[1:]
            yield from (".".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _digest(files: Mapping[str, bytes]) -> str:
    return sha256(b"\0".join(part for name, source in files.items() for part in (name.encode(), source))).hexdigest()


def _packages(uris: Sequence[str]) -> tuple[str, ...]:
    """Name the packages that workers must import: Arrow always, file systems for the URIs at hand."""
    if not uris:
        return ("pyarrow",)
    schemes = {split_protocol(uri)[0] or "file" for uri in uris}
    classes = [known_implementations[scheme]["class"] for scheme in schemes if scheme in known_implementations]
    return ("pyarrow", *sorted({"fsspec", *(name.split(".")[0] for name in classes)}))


def _ask_workers(
    spark: SparkSession, needed: tuple[str, ...], names: tuple[str, ...], watch: Callable[[], None]
) -> list[tuple[str, str, str, str]]:
    """Ask a few workers, without Arrow: host, Python, packages they lack, digest of the Offsetwise they import."""
    answer = F.udf(_question(needed, names), "struct<host: string, python: string, lacks: string, installed: string>")
    with spark_errors():
        asked = spark.range(0, PROBED_TASKS, numPartitions=PROBED_TASKS).select(answer("id").alias("it"))
        rows = interruptible(spark, asked.collect, watch)
    return sorted({(row.it.host, row.it.python, row.it.lacks, row.it.installed) for row in rows})


def _question(needed: tuple[str, ...], names: tuple[str, ...]) -> Callable[[int], tuple[str, str, str, str]]:
    def answer(_: int) -> tuple[str, str, str, str]:
        lacks = " ".join(name for name in needed if find_spec(name) is None)
        package = find_spec("offsetwise")
        folder = Path(package.origin or "").parent if package else Path()
        installed = sha256()
        for at, name in enumerate(names):
            source = (folder / name).read_bytes() if (folder / name).is_file() else b""
            installed.update((b"\0" if at else b"") + name.encode() + b"\0" + source)
        return node(), sys.executable, lacks, installed.hexdigest()

    return answer
