"""The Flinks that the end-to-end test runs, each in a folder of its own, from PyPI and Maven Central.

`python -m tests.integration.flink_distribution` fetches them, as `make test` does, so that no test needs a network.
Nothing of PyFlink is needed: the jars of a wheel are a whole Flink, and its jobs here are SQL.
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
from offsetwise.jars import cache_folder, locked_jars
from offsetwise.lab.java import find_java

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = "apache-flink-libraries"
FETCH: Final = "make test, or: python -m tests.integration.flink_distribution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One version of Flink, and what of Maven Central goes with it."""

    version: str
    connector: str
    kafka_clients: str
    beside: str | None = None
    """A further set of jars of the lock."""

    @property
    def jars(self) -> tuple[str, ...]:
        """What goes with it, for the lock."""
        flink = "org.apache.flink"
        return (
            f"{flink}:flink-connector-kafka:{self.connector}",
            f"{flink}:flink-sql-gateway:{self.version}",
            f"org.apache.kafka:kafka-clients:{self.kafka_clients}",
        )

    @property
    def lock(self) -> Path:
        """The hashes of its wheel, or of its source where it has none."""
        return ROOT / "locks" / f"flink-{self.version}.txt"

    @property
    def home(self) -> Path:
        """The folder that `pip` put it into."""
        return cache_folder().with_name(f"flink-{self.version}")

    def classpath(self) -> str:
        """Return the class path of all its processes.

        Raises:
            AssertionError: It was not fetched; the message says how to.
        """
        lib = self.home / "pyflink" / "lib"
        assert lib.is_dir(), f"Flink {self.version} is not in {self.home}. Nothing was run. Fetch it: {FETCH}"
        beside = "" if self.beside is None else f":{locked_jars(self.beside, java=find_java) / '*'}"
        return f"{lib / '*'}:{self._jars() / '*'}{beside}"

    def linked(self, folder: Path) -> Path:
        """Make a folder whose `lib` has links to all its jars, as those who unpack a Flink have one; return it.

        Raises:
            AssertionError: It was not fetched; the message says how to.
        """
        lib = folder / "lib"
        lib.mkdir(parents=True)
        for jars in self.classpath().split(":"):
            for jar in Path(jars).parent.glob("*.jar"):
                (lib / jar.name).symlink_to(jar)
        return folder

    def fetch(self) -> None:
        """Install it, if it is not there. The folder appears by a rename, so one that exists is complete.

        Raises:
            JarError: Maven Central was not reached, or gave other jars than those of the lock.
            CalledProcessError: PyPI was not.
        """
        self._jars()
        if self.home.is_dir():
            return
        work = Path(mkdtemp(dir=self.home.parent, prefix="installing-"))
        try:
            # Its bulk are jars: pip neither caches nor compiles them, and none of its Python dependencies is used.
            # 1.20 has no wheel on PyPI: it is built with the build tools of the lock that are installed here.
            options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile", "--no-cache-dir"]
            locked = ["--require-hashes", "--no-build-isolation", "-r", str(self.lock)]
            command = [sys.executable, "-m", "pip", "install", *options, *locked, "--target", str(work / "home")]
            subprocess.run(command, check=True)
            if not self.home.is_dir():
                (work / "home").rename(self.home)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _jars(self) -> Path:
        return locked_jars(f"flink-{self.version}", java=find_java)


DISTRIBUTIONS: Final = (
    Distribution(version="1.20.3", connector="3.4.0-1.20", kafka_clients="3.4.0"),
    Distribution(version="2.0.0", connector="4.0.1-2.0", kafka_clients="3.9.1"),
    Distribution(version="2.2.0", connector="5.0.0-2.2", kafka_clients="4.2.0"),
)


def main() -> None:
    """Fetch every version."""
    try:
        for each in DISTRIBUTIONS:
            each.fetch()
    except (OffsetwiseError, subprocess.CalledProcessError) as error:
        sys.exit(f"Flink could not be fetched, and its end-to-end test needs it. No test was run. {error}")


if __name__ == "__main__":
    main()
