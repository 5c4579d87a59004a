"""The lab's migration of 40 jobs, the commands that walk it, and what every job's sink must hold."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from offsetwise.lab import Lab, migration
from offsetwise.lab import plan_of_jobs as of
from offsetwise.lab.flink import jobs as flink_jobs
from offsetwise.lab.plan_of_jobs import TOPICS, JobKind, LabJob
from tests.commands import Ran, call
from tests.docs_pages import blocks, section
from tests.lab.readable import readable

JOBS: Final = {job.subject: job for job in of.jobs(flink=True)}
NATIVES: Final = {
    record.serial for topic in TOPICS.values() if topic.polluted for record in of.natives_of(topic, of.SECOND)
}
"""What others wrote to the copies behind everything that the jobs had read: a job that reads the copy reads it too."""
TARGETS: Final = (
    *("--target", "spark-checkpoint", "--target", "consumer-group", "--target", "flink-savepoint"),
    *("--author", "ada"),
)
_LINES: Final = "".join(blocks(section("docs/many-jobs.md", "Forty jobs to try it on"), "sh")).replace("\\\n", " ")
_COMMANDS: Final = re.findall(r"^offsetwise ((?:lab )?[a-z]+) (.*)$", _LINES, flags=re.MULTILINE)
SHOWN: Final = {command: shlex.split(words) for command, words in _COMMANDS}
"""By its name, the words of each command that the page shows."""
STOPPED_S: Final = 600
"""How long ago the jobs are said to have stopped: two minutes are the rule, and a test does not wait for them."""


@dataclass(slots=True, kw_only=True)
class Forty:
    """The migration in a lab, by the file that `init` wrote and people have filled in."""

    lab: Lab
    end: int = of.END
    """How many records each partition of the old cluster has been given."""

    @property
    def out(self) -> Path:
        """The folder for everything that commands write."""
        return self.lab.directory / "out"

    @property
    def file(self) -> Path:
        return self.lab.directory / "mine.yaml"

    @property
    def trusted(self) -> tuple[str | Path, ...]:
        return ("--trust", self.lab.directory / "reviewer.pub")

    def init(self) -> dict[str, Any]:
        """Let `init` find the jobs."""
        clusters = ("--old", self.lab.old_bootstrap, "--new", self.lab.new_bootstrap)
        given = ("--checkpoints", self.lab.directory / of.ROOT, "--out", self.file, "--json")
        ran = call("init", *clusters, *given)
        assert ran.code == 0, ran.err
        found: dict[str, Any] = json.loads(ran.out)
        return found

    def fill_in(self) -> None:
        """Add to the file what only people know: the lab's own file has it. A savepoint gets the name of its job."""
        found = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        known = migration.migration_of(self.lab)
        checkpoints = {job["uri"]: job for job in known["checkpoints"]}
        groups = {job["name"]: job for job in known["groups"]}
        for checkpoint in found["checkpoints"]:
            checkpoint |= {key: checkpoints[checkpoint["uri"]][key] for key in ("name", "job", "belongs_to")}
        found["groups"] = [groups[name] for name in found["groups"]]
        of_people = ("checkpoint_roots", "isolation_level", "writers", "write_roots", "waves", "spark")
        found |= {key: known[key] for key in of_people}
        self.file.write_text(yaml.safe_dump(found, sort_keys=False), encoding="utf-8")

    def age(self) -> None:
        """Let the queries have stopped some time ago, as their files say it."""
        then = time.time() - STOPPED_S
        for job in JOBS.values():
            for file in (self.lab.directory / of.ROOT / job.name).rglob("*"):
                os.utime(file, (then, then))

    def states(self, *more: str | Path) -> dict[str, str]:
        """Return the state of every job, as `status` finds it."""
        return {job: row["state"] for job, row in self.status(*more).items()}

    def status(self, *more: str | Path) -> dict[str, dict[str, Any]]:
        """Return what `status` finds of every job; its exit code has to agree."""
        ran = self.run("status", "--folder", self.out, *self.trusted, "--json", "--detailed-exitcode", *more)
        rows: dict[str, dict[str, Any]] = {row["job"]: row for row in json.loads(ran.out)["jobs"]}
        states = {row["state"] for row in rows.values()}
        code = 5 if "DIFFERENT" in states else 0 if states == {"CAUGHT_UP"} else 2
        assert (ran.code, ran.err) == (code, "")
        return rows

    def run(self, command: str, *arguments: str | Path) -> Ran:
        return call(command, *arguments, "-m", self.file)

    def watch_old_logs(self) -> dict[str, Any]:
        """Look until the old logs have stood still, and keep what was seen."""
        ran = self.run("cutover", "--still-for", "2s", "--every", "1", "--json")
        assert ran.code == 0, ran.err
        (self.out / "cutover.json").write_text(ran.out, encoding="utf-8")
        found: dict[str, Any] = json.loads(ran.out)
        return found

    def of_page(self, command: str, wave: str = of.PILOT, *more: str) -> Ran:
        """Run a command as docs/many-jobs.md shows it for the first wave."""
        words = [self._path(word.replace(of.PILOT, wave)) for word in SHOWN[command]]
        return call(*command.split(), *words, *more)

    def _path(self, word: str) -> str:
        """Return a word of a command, which the page gives in the lab's folder."""
        if word == "migration.yaml":
            return str(self.file)
        if word == "lab":
            return str(self.lab.directory)
        if word.partition("/")[0] in {".", "out", "applied", "reviewer", "reviewer.pub"}:
            return str(self.lab.directory / word)
        return word

    def sign_alone(self, plan: Path) -> Path:
        """Approve one plan; return the approval, which lies beside it."""
        approval = plan.with_suffix(".approval.json")
        ran = call("sign", plan, "--key", self.lab.directory / "reviewer", "--as", "rea", "--out", approval)
        assert ran.code == 0, ran.err
        return approval

    @property
    def applied(self) -> Path:
        return self.lab.directory / migration.APPLIED

    def verify(self, wave: str) -> set[str]:
        """Return what is said of the positions of a wave."""
        ran = self.of_page("verify", wave, "--json")
        assert ran.code == 0, ran.err + ran.out
        results = [json.loads(line)["result"] for line in ran.out.splitlines()]
        return {position["turnout"] for result in results for position in result["positions"]}

    def arrive(self, count: int) -> None:
        """Write more records to the old cluster, and wait until they are mirrored."""
        migration.produce(self.lab, self.end, self.end + count)
        self.end += count
        migration.wait_until_mirrored(self.lab)

    def start(self, jobs: Iterable[LabJob]) -> None:
        """Run moved jobs on the new cluster, to the ends of their logs."""
        migration.run_on_new(self.lab, [*jobs])

    def miscounted(self, jobs: Iterable[LabJob]) -> dict[str, Counter[str]]:
        """Return by job which records its sink has more or less often than once; nothing of one that is right."""
        wrong = {}
        for job in jobs:
            due = Counter(serial for topic in job.topics for serial in readable(TOPICS[topic], self.end))
            if any(TOPICS[topic].polluted for topic in job.topics):
                due.update(NATIVES)
            sink = flink_jobs.sink_of(self.lab, job) if job.flink else migration.sink_of(self.lab, job)
            had = Counter(sink.serials())
            had.subtract(due)
            wrong[job.subject] = Counter({serial: count for serial, count in had.items() if count})
        return {job: counts for job, counts in wrong.items() if counts}


def target_of(job: LabJob) -> str:
    """Return the target that moves a job that is drafted alone."""
    if job.kind is JobKind.GROUP:
        return f"consumer-group:{job.name}"
    return "flink-savepoint" if job.flink else "spark-checkpoint"


def of_wave(*waves: str) -> list[LabJob]:
    return [job for job in JOBS.values() if job.wave in waves]
