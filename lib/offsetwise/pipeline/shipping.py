"""Ship the code and check the packages that Spark's Python workers need: one tiny job, then a zip.

Workers that already import exactly the same code get nothing: a zip comes first on their path and would hide the rest
of an installed Offsetwise. That is the case for local masters, and for clusters whose image has this release.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from platform import node
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from fsspec.core import split_protocol
from fsspec.registry import known_implementations
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.errors import WorkerError
from offsetwise.pipeline.interrupting import interruptible, over_connect
from offsetwise.pipeline.spark_errors import foreign_answer, spark_errors
from offsetwise.registry import modules_on_workers

PACKAGE: Final = Path(__file__).parents[1]
SHIPPED: Final = (
    "engines.rows",
    "pipeline.windows",
    "translation.content",
    "translation.identity",
    "translation.worker",
)
"""Modules of the core whose functions run on workers; plug-ins register theirs. They are sent with all modules of
Offsetwise that they import."""
CLIENT: Final = "confluent-kafka"
"""The package with librdkafka. Another release may lack calls or behave differently, so that Spark's source is used
then."""
_IMPORT: Final = re.compile(r"\s*from offsetwise\.([\w.]+) import ")
PROBED_TASKS: Final = 4
SHIPPED_KEY: Final = "spark.offsetwise.shipped"
CLIENT_KEY: Final = "spark.offsetwise.client"


def ship(
    spark: SparkSession,
    *,
    uris: Sequence[str] = (),
    packages: Sequence[str] = (),
    watch: Callable[[], None] = lambda: None,
) -> None:
    """Make the workers able to run Offsetwise's functions (`mapInArrow`, `applyInArrow`); calling it again is cheap.

    Spark pickles a function by the name of its module, so a function for workers is in one of the modules `SHIPPED`, or
    inside another function.

    Args:
        spark: Classic or Connect.
        uris: The URIs that the workers will open; the libraries of their file systems are checked too.
        packages: Other packages that they have to import.
        watch: Called several times a second while the job runs, which may wait on a full cluster; its exception ends
            the job and is raised here.

    Raises:
        WorkerError: A worker has another Python, or lacks a package. The message names both and the pip command.
    """
    needed = tuple(dict.fromkeys((*_packages(uris), *packages)))
    files = shipped_files()
    digest = _digest(files)
    done = f"{digest} {' '.join(needed)}"
    if spark.conf.get(SHIPPED_KEY, "") == done:
        return
    answers = _ask_here(spark, needed, tuple(files)) or _ask_workers(spark, needed, tuple(files), watch)
    for where, python, missing, _, _ in answers:
        if missing:
            raise _lacking(where, python, needed, missing)
    if any(installed != digest for *_, installed, _ in answers):
        with spark_errors():
            spark.addArtifacts(str(keep_archive(files)), pyfile=True)
    spark.conf.set(CLIENT_KEY, str(all(client for *_, client in answers)).lower())
    spark.conf.set(SHIPPED_KEY, done)


def have_client(spark: SparkSession) -> bool:
    return spark.conf.get(CLIENT_KEY, "false") == "true"


def keep_archive(files: Mapping[str, bytes]) -> Path:
    """Return a zip of modules that exists until this process ends, because an executor may fetch it at any time.

    Its name depends on its content: Spark rejects a file with a known name and other bytes.

    Args:
        files: Source by path below the package.
    """
    data = _zipped(files)
    path = Path(_folder().name, f"offsetwise-{sha256(data).hexdigest()}.zip")
    if not path.exists():
        path.write_bytes(data)
    return path


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="offsetwise-")


def _zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, source in files.items():
            archive.writestr(ZipInfo(f"offsetwise/{name}"), source, compress_type=ZIP_DEFLATED)
    return buffer.getvalue()


@cache
def shipped_files() -> dict[str, bytes]:
    """Return the modules that run on workers with their imports; source by path below the package, sorted by path.

    Imports inside functions of modules that register are not followed: most of that code runs on the driver.
    """
    results: dict[str, bytes] = {}
    of_plugins = modules_on_workers()
    registering = ("builtin", *(name.partition(".")[2] for name in of_plugins))
    run = [name.partition(".")[2] for modules in of_plugins.values() for name in modules]
    ahead = [""]  # the package's own __init__
    ahead += [name for module in (*registering, *run, *SHIPPED) for name in _around(module)]
    while ahead:
        module = ahead.pop()
        path = _path(module)
        name = path.relative_to(PACKAGE).as_posix()
        if name not in results:
            results[name] = path.read_bytes()
            ahead += _imports(results[name], deepest=0 if module in registering else None)
    return dict(sorted(results.items()))


def _path(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imports(source: bytes, *, deepest: int | None = None) -> Iterator[str]:
    """Yield the modules below `offsetwise` that a source imports when it runs, and their parent packages.

    Imports that are indented deeper than `deepest` are ignored. Lines are parsed instead of the AST: `ast.parse` may
    fail if two threads call it at once (CPython issue 106905), and pages are parsed while Spark starts.
    """
    guard: int | None = None
    for line in source.decode().splitlines():
        depth = len(line) - len(line.lstrip())
        if guard is not None and line.strip() and depth <= guard:
            guard = None
        if line.strip() == "if TYPE_CHECKING:":
            guard = depth
        elif guard is None and (deepest is None or depth <= deepest) and (match := _IMPORT.match(line)):
            yield from _around(match[1])


def _around(module: str) -> Iterator[str]:
    parts = module.split(".")
    yield from (".".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _digest(files: Mapping[str, bytes]) -> str:
    return sha256(b"\0".join(part for name, source in files.items() for part in (name.encode(), source))).hexdigest()


def _packages(uris: Sequence[str]) -> tuple[str, ...]:
    """Return the packages that workers must import: Arrow always, and file systems for the URIs."""
    if not uris:
        return ("pyarrow",)
    schemes = {split_protocol(uri)[0] or "file" for uri in uris}
    classes = [known_implementations[scheme]["class"] for scheme in schemes if scheme in known_implementations]
    return ("pyarrow", *sorted({"fsspec", *(name.split(".")[0] for name in classes)}))


_Answer = tuple[str, str, str, str, bool]
"""Host, Python, missing packages, digest of the Offsetwise that it imports, and whether it has our librdkafka."""


def _ask_here(spark: SparkSession, needed: tuple[str, ...], names: tuple[str, ...]) -> list[_Answer]:
    """Run the check in the Python of a local master's workers, without Spark; empty if they may have another one.

    The answer is that of the workers if it finds the same package: they have the same environment and folder.
    """
    if over_connect(spark) or not (spark.conf.get("spark.master", "") or "").startswith("local"):
        return []
    python = spark.conf.get("spark.pyspark.python", "")
    if python != sys.executable:
        return []
    ran = subprocess.run(  # noqa: S603 - the interpreter that runs this
        [python, "-P", "-c", "import importlib.util as u; print(u.find_spec('offsetwise').origin)"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [_question(needed, names)(0)] if ran.stdout.strip() == str(PACKAGE / "__init__.py") else []


def _ask_workers(
    spark: SparkSession, needed: tuple[str, ...], names: tuple[str, ...], watch: Callable[[], None]
) -> list[_Answer]:
    answer = F.udf(
        _question(needed, names),
        "struct<host: string, python: string, lacks: string, installed: string, client: boolean>",
        useArrow=False,  # the default of PySpark 4.2 needs pyarrow, which the workers may lack
    )
    with spark_errors():
        frame = spark.range(0, PROBED_TASKS, numPartitions=PROBED_TASKS).select(answer("id").alias("it"))
        rows = interruptible(spark, frame.collect, watch)
    answers = {row.it and tuple(row.it) for row in rows}
    if not all(answer and [type(value) for value in answer] == [str, str, str, str, bool] for answer in answers):
        raise foreign_answer("one about its packages that it never gives")
    return sorted(answers)


def _question(needed: tuple[str, ...], names: tuple[str, ...]) -> Callable[[int], _Answer]:
    ours = version(CLIENT)

    def answer(_: int) -> _Answer:
        lacks = " ".join(name for name in needed if find_spec(name) is None)
        package = find_spec("offsetwise")
        folder = Path(package.origin or "").parent if package else Path()
        installed = sha256()
        for at, name in enumerate(names):
            source = (folder / name).read_bytes() if (folder / name).is_file() else b""
            installed.update((b"\0" if at else b"") + name.encode() + b"\0" + source)
        try:
            same = version(CLIENT) == ours
        except PackageNotFoundError:
            same = False
        return node(), sys.executable, lacks, installed.hexdigest(), same

    return answer


def _lacking(where: str, python: str, needed: Sequence[str], missing: str) -> WorkerError:
    return WorkerError(
        f"Spark's Python workers on {where} ({python}) need {', '.join(needed)}, and lack {missing}. Nothing was read.",
        fix=f"Run there: {python} -m pip install {missing}",
    )
