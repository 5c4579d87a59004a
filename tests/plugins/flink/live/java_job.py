"""A job of Flink in Java, for sources that SQL does not know, which prints what it reads."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from tests.integration.flink_cluster import LIMIT_S, Flink, jvm, wait_until

DYNAMIC: Final = "DynamicJob"
"""Reads several clusters with one DynamicKafkaSource: CLUSTER=TOPIC@SERVERS for each."""
HYBRID: Final = "HybridJob"
"""Reads a folder of text files, and then a topic, with one HybridSource: FOLDER, TOPIC@SERVERS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaJob:
    """The job, on a running Flink."""

    flink: Flink
    main: str
    jar: Path
    prefix: str
    """Of the lines that it prints; its own, since jobs share a log."""

    @classmethod
    def compiled(cls, main: str, flink: Flink, folder: Path, prefix: str) -> JavaJob:
        """Compile the program against the Flink that runs it."""
        compiler = shutil.which("javac")
        assert compiler, "expected a JDK, found no javac on the PATH. Nothing was run."
        classes, jar = folder / "classes", folder / f"{main}.jar"
        options = ["-nowarn", "--release", "11", "-cp", flink.distribution.classpath(), "-d", str(classes)]
        subprocess.run([compiler, *options, str(Path(__file__).with_name(f"{main}.java"))], check=True)
        with ZipFile(jar, "w") as archive:
            for each in sorted(classes.glob("*.class")):
                archive.write(each, each.name)
        return cls(flink=flink, main=main, jar=jar, prefix=prefix)

    def start(self, *places: str, state: Path | None = None) -> str:
        """Start it on what it reads, from a savepoint if there is one; return its id."""
        restored = [] if state is None else ["-s", state.as_uri()]
        arguments = ["run", "-d", *restored, "-c", self.main, str(self.jar), self.prefix, *places]
        command = jvm(self.flink.distribution, self.flink.folder, "org.apache.flink.client.cli.CliFrontend", *arguments)
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        found = re.search(r"Job has been submitted with JobID (\w+)", ran.stdout)
        assert found, ran.stdout + ran.stderr
        return found[1]

    def read(self) -> list[str]:
        """Return what was ever printed, by this job and by those that it went on from."""
        log = (self.flink.folder / "taskmanager.log").read_text(encoding="utf-8", errors="replace")
        return re.findall(rf"^{self.prefix}(?::\d+)?> (\S+)$", log, re.MULTILINE)

    def until(self, job: str, count: int) -> None:
        """Wait until so many records were printed."""
        wait_until(lambda: len(self.read()) >= count, f"{count} records", refuse=lambda: self.flink.failure(job))
