"""The releases of Spark that the product runs on, those beside the installed one in a folder each.

`python -m tests.plugins.spark.live.spark_versions` installs them, as `make gates` does, so that no test needs a
network. A folder holds PySpark alone, and goes before the packages of this environment: all releases take the same
ones.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from offsetwise.errors import OffsetwiseError
from offsetwise.jars import locked_jars
from offsetwise.lab.java import find_java

ROOT: Final = Path(__file__).parents[4]
INSTALLED: Final = "4.2.0"
"""The release that `locks/packages.txt` has."""
SPARKS: Final = ("4.0.0", "4.1.1", INSTALLED)
"""Every release of PySpark that pyproject.toml allows and whose Kafka connector resolves."""
FETCH: Final = "make gates, or: python -m tests.plugins.spark.live.spark_versions"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRelease:
    """A release of Spark that is not the one of this environment."""

    version: str

    @property
    def lock(self) -> Path:
        """The hashes of its source."""
        return ROOT / "locks" / f"spark-{self.version}.txt"

    @property
    def packages(self) -> Path:
        """The folder with its PySpark, to be searched before those of this environment."""
        return Path(sys.prefix) / "sparks" / self.version

    def require(self) -> Path:
        """Return `packages`.

        Raises:
            AssertionError: It was not fetched; the message says how to.
        """
        assert self.packages.is_dir(), f"{self.packages}: expected PySpark {self.version}, found none. Run {FETCH}."
        return self.packages


OTHER_SPARKS: Final = tuple(SparkRelease(version=version) for version in SPARKS if version != INSTALLED)


def fetch(spark: SparkRelease) -> None:
    """Install PySpark, compared with the lock, and its connector; the folder appears whole or not at all."""
    if not spark.packages.is_dir():
        spark.packages.parent.mkdir(parents=True, exist_ok=True)
        work = Path(mkdtemp(dir=spark.packages.parent, prefix="fetching-"))
        try:
            _install(spark, work)
            work.rename(spark.packages)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    locked_jars(f"spark-kafka-{spark.version}", java=find_java)


def _install(spark: SparkRelease, folder: Path) -> None:
    wanted = ["--no-deps", "--no-build-isolation", "--require-hashes", "--target", str(folder), "-r", str(spark.lock)]
    uv = [str(Path(sys.prefix, "bin", "uv")), "pip", "install", "--quiet", "--python", sys.executable, *wanted]
    if subprocess.run(uv, check=False).returncode != 0:
        # Behind a mirror or a proxy only pip has the configuration of, as in the Makefile.
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        subprocess.run([*pip, *wanted], check=True)


if __name__ == "__main__":
    for release in OTHER_SPARKS:
        print(f"PySpark {release.version}: its package and its connector", flush=True)
        try:
            fetch(release)
        except OffsetwiseError as error:
            sys.exit(f"{error.problem} {error.fix}")
