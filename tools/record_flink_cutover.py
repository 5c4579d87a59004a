"""Record the cutover of the bundled Flink sample anew: `make sample-flink-cutover`.

Two Flink jobs and a consumer group read the old cluster of a separate lab while producers write to it. They are moved
by the commands that a team uses, in two waves, while `offsetwise status --watch --json --logs` runs: its lines are the
recording. The migration file is edited meanwhile, as people do: while a job runs it names the folder in which Flink
retains checkpoints, then the savepoint, and once the job has moved, the folder of its new id. The problems on the way
are real: the path of a savepoint is mistyped, and a forgotten producer writes to an old log that was mirrored. Takes a
quarter of an hour.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cutovers import (
    GROUP,
    LOOK_S,
    TOPICS,
    Reading,
    Watch,
    Writers,
    apply,
    command,
    compare,
    draft,
    record,
    say,
    wait_until,
    write_migration,
    written_to,
)

from offsetwise.lab import Lab, Policy
from offsetwise.lab.flink.running import RunningJob, running_job
from tests.integration.flink_distribution import DISTRIBUTIONS

WAVES: Final = [
    {"name": "pilot", "jobs": ["checkpoint:click-archive"], "window": "30m"},
    {"name": "core", "after": ["pilot"], "jobs": ["checkpoint:order-counts", f"group:{GROUP}"]},
]
TARGET: Final = "flink-savepoint"
BACKLOG: Final = 1_500_000
"""Records that are written to each topic of a job on the new cluster before it starts there."""
CHECKPOINT_S: Final = 10
_SQL: Final = """
CREATE TABLE events (
  line STRING, topic STRING METADATA VIRTUAL, arrived AS PROCTIME()
) WITH (
  'connector' = 'kafka', 'topic' = '{topics}', 'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{name}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'raw'
);
CREATE TABLE written ({columns}) WITH ('connector' = 'filesystem', 'path' = '{output}', 'format' = 'json');
INSERT INTO written {query};
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A SQL job of Flink that runs until it is stopped."""

    name: str
    old_id: str
    """The same in every recording, so that its folder is the same."""
    new_id: str
    """Id once it has moved."""
    topics: tuple[str, ...]
    stateful: bool
    columns: str
    """Columns of its output."""
    query: str

    @contextmanager
    def running(
        self, bootstrap: str, folder: Path, log: Path, *, savepoint: Path | None = None
    ) -> Iterator[RunningJob]:
        """Run it inside the block, from a savepoint or from the log starts."""
        settings: dict[str, object] = {
            "parallelism.default": 2,
            "taskmanager.numberOfTaskSlots": 2,
            "pipeline.name": self.name,
            "$internal.pipeline.job-id": self.old_id if savepoint is None else self.new_id,
            "execution.checkpointing.interval": f"{CHECKPOINT_S} s",
            "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
            "execution.checkpointing.num-retained": 2,
        }
        if savepoint is not None:
            settings["execution.state-recovery.path"] = savepoint.as_uri()
        sql = _SQL.format(
            topics=";".join(self.topics),
            bootstrap=bootstrap,
            name=self.name,
            columns=self.columns,
            output=(folder / "output" / self.name).as_uri(),
            query=self.query,
        )
        work = folder / "flink" / self.name
        with running_job(work, classpath=DISTRIBUTIONS[-1].classpath(), settings=settings, sql=sql, log=log) as running:
            yield running


ARCHIVE: Final = Job(
    name="click-archive",
    old_id="c11c0000000000000000000000000bee",
    new_id="c11c1111111111111111111111111bee",
    topics=("clicks",),
    stateful=False,
    columns="line STRING",
    query="SELECT line FROM events",
)
COUNTS: Final = Job(
    name="order-counts",
    old_id="0ff5e700000000000000000000000bee",
    new_id="0ff5e711111111111111111111111bee",
    topics=("orders", "payments"),
    stateful=True,
    columns="topic STRING, records BIGINT",
    query="SELECT topic, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(arrived), INTERVAL '10' SECOND)) "
    "GROUP BY topic, window_start, window_end",
)
JOBS: Final = (ARCHIVE, COUNTS)


@dataclass(slots=True)
class MigrationFile:
    """The migration file as it is edited while jobs move."""

    lab: Lab
    folder: Path
    uris: dict[str, str]
    """By job, its checkpoint on the old cluster."""
    moved: dict[str, str] = field(default_factory=dict)
    """By job, the folder of its checkpoints once it has moved."""

    def write(self) -> None:
        checkpoints = [
            {"name": job.name, "uri": self.uris[job.name], "belongs_to": "old", "job": dict(self._traits(job))}
            for job in JOBS
        ]
        write_migration(self.lab, self.folder, name="order-counts-to-new", checkpoints=checkpoints, waves=WAVES)

    def name_checkpoint(self, job: Job, folder: str) -> None:
        """Set the checkpoint of a job, by its folder's name."""
        say(f"{job.name} is in {folder}")
        self.uris[job.name] = f"./checkpoints/{folder}"
        self.write()

    def name_new(self, job: Job) -> None:
        """Set the checkpoint folder of a moved job."""
        self.moved[job.name] = f"./checkpoints/{job.new_id}"
        self.write()

    def _traits(self, job: Job) -> Iterator[tuple[str, Any]]:
        yield from {"stateful": job.stateful, "sink": "file", "tolerates_replay": False, "sql": True}.items()
        if job.name in self.moved:
            yield "new_checkpoint", self.moved[job.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The jobs to move, and what they are moved with."""

    lab: Lab
    folder: Path
    writers: Writers
    file: MigrationFile
    watch: Watch
    jobs: Mapping[str, RunningJob]
    moved: ExitStack
    """The moved jobs, which run until the end."""


def move(lab: Lab, folder: Path) -> Sequence[str]:
    """Move every job while it is watched; return the lines of the watch."""
    lab.start_mirror(Policy.IDENTITY, topics=[*TOPICS])
    file = MigrationFile(lab, folder, {job.name: f"./checkpoints/{job.old_id}" for job in JOBS})
    file.write()
    command(folder, "keygen", "--out", "bob", "--as", "bob")
    with written_to(lab) as writers, ExitStack() as old, ExitStack() as moved:
        jobs = {
            job.name: old.enter_context(job.running(lab.old_bootstrap, folder, lab.log(f"flink-{job.name}")))
            for job in JOBS
        }
        member = Reading(lab.old_bootstrap, "orders")
        for job in JOBS:
            retained = folder / "checkpoints" / job.old_id
            wait_until(lambda at=retained: any(at.glob("chk-*/_metadata")), f"a checkpoint of {job.name}")  # type: ignore[misc]
        watch = Watch(folder, "--trust", "bob.pub", "--still-for", "30s")
        scene = Scene(lab=lab, folder=folder, writers=writers, file=file, watch=watch, jobs=jobs, moved=moved)
        watch.wait("checkpoint order-counts", "RUNNING")
        time.sleep(4 * LOOK_S)
        move_pilot(scene)
        move_core(scene, member)
        watch.end()
    return watch.lines


def move_pilot(scene: Scene) -> None:
    say("the pilot wave")
    savepoint = scene.jobs[ARCHIVE.name].stop(scene.folder / "checkpoints")
    scene.writers.stop("clicks")
    scene.file.name_checkpoint(ARCHIVE, savepoint.name)
    scene.watch.wait("checkpoint click-archive", "STOPPED", "MIRRORED")
    scene.lab.wait_until_mirrored(["clicks"], mirror=Policy.IDENTITY.value)
    scene.watch.wait("checkpoint click-archive", "MIRRORED")
    compare(scene.folder, scene.watch, ARCHIVE.name, "--wave", "pilot")
    draft(scene.folder, ARCHIVE.name, TARGET)
    scene.watch.wait("checkpoint click-archive", "PLANNED")
    apply(scene.folder, scene.watch, ARCHIVE.name)
    go_on(scene, ARCHIVE)
    scene.watch.wait("checkpoint click-archive", "CAUGHT_UP")


def move_core(scene: Scene, member: Reading) -> None:
    """Move the jobs of the second wave; a path is mistyped, and a producer comes back."""
    say("the core wave")
    lab, folder, watch = scene.lab, scene.folder, scene.watch
    savepoint = scene.jobs[COUNTS.name].stop(folder / "checkpoints")
    member.stop()
    scene.file.name_checkpoint(COUNTS, f"{savepoint.name[:-1]}")
    watch.wait("checkpoint order-counts", "BLOCKED")
    time.sleep(2 * LOOK_S)
    scene.file.name_checkpoint(COUNTS, savepoint.name)
    watch.wait("checkpoint order-counts", "STOPPED")
    scene.writers.stop("orders", "payments")
    lab.wait_until_mirrored([*TOPICS], mirror=Policy.IDENTITY.value)
    watch.wait("checkpoint order-counts", "MIRRORED")
    say("a producer that nobody thought of")
    scene.writers.burst(lab.old_bootstrap, "payments", 60)
    watch.wait("checkpoint order-counts", "STOPPED")
    lab.wait_until_mirrored([*TOPICS], mirror=Policy.IDENTITY.value)
    watch.wait("checkpoint order-counts", "MIRRORED")
    compare(folder, watch, COUNTS.name, "--wave", "core")
    draft(folder, COUNTS.name, TARGET)
    draft(folder, GROUP, f"consumer-group:{GROUP}", kind="group")
    watch.wait("checkpoint order-counts", "PLANNED")
    apply(folder, watch, COUNTS.name)
    go_on(scene, COUNTS)
    apply(folder, watch, GROUP, kind="group")
    Reading(lab.new_bootstrap, "orders")


def go_on(scene: Scene, job: Job) -> None:
    """Let the producers of a job's topics continue on the new cluster, and then the job."""
    lab, folder = scene.lab, scene.folder
    for topic in job.topics:
        scene.writers.burst(lab.new_bootstrap, topic, BACKLOG // TOPICS[topic])
    time.sleep(LOOK_S)
    log = lab.log(f"flink-{job.name}-moved")
    scene.moved.enter_context(job.running(lab.new_bootstrap, folder, log, savepoint=folder / "applied" / job.name))
    scene.file.name_new(job)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "200"
    record(move, "sample_flink", __doc__)
