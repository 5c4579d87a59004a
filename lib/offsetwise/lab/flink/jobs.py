from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offsetwise.errors import LabError
from offsetwise.lab import consumers
from offsetwise.lab.cluster import Lab
from offsetwise.lab.flink.running import FlinkFolder, running_job
from offsetwise.lab.job_sinks import FlinkSink
from offsetwise.lab.plan_of_jobs import MOVED, ROOT, LabJob

AT_ONCE: Final = 3
OUTPUT: Final = "output"
"""The output folder of all jobs of the migration."""
_KEPT: Final = "flink.json"
"""The file in a lab's folder that names the folder of the Flink that runs some of its jobs."""
PARALLELISM: Final = 2
_SETTINGS: Final = {
    "parallelism.default": PARALLELISM,
    "taskmanager.numberOfTaskSlots": PARALLELISM,
    "restart-strategy.type": "none",
    # Output appears in the sink with a checkpoint. Checkpoints are kept in memory: only a savepoint remains.
    "execution.checkpointing.interval": "500 ms",
}
_FIRST: Final = {"scan.startup.mode": "earliest-offset"}
_RESTORED: Final = {"scan.startup.mode": "group-offsets", "properties.auto.offset.reset": "none"}
"""Stops a restored job whose position is not in the log."""
_SQL: Final = """
CREATE TABLE records (`key` STRING, serial STRING, arrived AS PROCTIME()) WITH ('connector' = 'kafka', {source});
CREATE TABLE counted ({columns}) WITH ('connector' = 'filesystem', {sink});
INSERT INTO counted SELECT {query} FROM records;
"""
_COLUMNS: Final = {False: "serial STRING", True: "serial STRING, `key` STRING, nth BIGINT"}
"""By whether a job has state."""
_QUERY: Final = {
    False: "serial",
    True: "serial, `key`, COUNT(*) OVER (PARTITION BY `key` ORDER BY arrived "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlinkRun:
    """One run of a job, to the ends of the logs at its start."""

    job: LabJob
    flink: FlinkFolder
    bootstrap: str
    topics: tuple[str, ...]
    """Names on the cluster that is read."""
    sink: FlinkSink
    folder: Path
    """Folder of its configuration."""
    log: Path
    savepoints: Path
    """The folder below which Flink writes the savepoint that the job is stopped with."""
    restored: Path | None = None
    """The savepoint that it starts from; None: it reads from the log start."""

    def run(self) -> Path:
        """Run it until every record is in its sink, and stop it; return its savepoint.

        Raises:
            LabError: It ended, or did not read everything in time.
        """
        last = consumers.last_serials(self.bootstrap, self.topics)
        for folder in (self.savepoints, self.sink.folder):
            folder.mkdir(parents=True, exist_ok=True)
        settings = _SETTINGS | {"pipeline.name": self.job.name}
        if self.restored is not None:
            settings |= {"execution.state-recovery.path": self.restored.as_uri()}
        with running_job(
            self.folder, classpath=self.flink.classpath, settings=settings, sql=self._sql(), log=self.log
        ) as job:
            job.wait_until(
                lambda: last <= {*self.sink.serials()}, "its sink to have the last record of every partition"
            )
            return job.stop(self.savepoints)

    def _sql(self) -> str:
        source = {
            "topic": ";".join(self.topics),
            "properties.bootstrap.servers": self.bootstrap,
            "properties.group.id": self.job.name,
            # Its positions are those of its savepoint: its group's lag is not watched.
            "properties.commit.offsets.on.checkpoint": "false",
            "properties.isolation.level": "read_committed",
            "key.format": "raw",
            "key.fields": "key",
            "value.format": "json",
            "value.fields-include": "EXCEPT_KEY",
        } | (_FIRST if self.restored is None else _RESTORED)
        sink = {
            "path": self.sink.folder.as_uri(),
            "format": "json",
            # A larger file is closed; closed files appear with the next checkpoint.
            "sink.rolling-policy.file-size": "1b",
        }
        columns, query = _COLUMNS[self.job.stateful], _QUERY[self.job.stateful]
        return _SQL.format(source=_listed(source), sink=_listed(sink), columns=columns, query=query)


def _listed(options: Mapping[str, str]) -> str:
    quoted = {key: value.replace("'", "''") for key, value in options.items()}
    return ", ".join(f"'{key}' = '{value}'" for key, value in quoted.items())


def keep(lab: Lab, flink: FlinkFolder | None) -> None:
    if flink is not None:
        (lab.directory / _KEPT).write_text(json.dumps({"folder": str(flink.path)}), encoding="utf-8")


def keep_again(lab: Lab, flink: FlinkFolder | None) -> None:
    """Record the Flink of another folder; None changes nothing.

    Raises:
        LabError: The jobs of the lab were created without Flink.
    """
    if flink is not None and not is_kept(lab):
        raise LabError(
            f"The lab in {lab.directory}: expected a migration with jobs of Flink, found one that was made without "
            "--flink. Nothing was changed.",
            fix="Name another folder: `offsetwise lab migration --dir FOLDER --flink FLINK`; or leave --flink out.",
        )
    keep(lab, flink)


def is_kept(lab: Lab) -> bool:
    return (lab.directory / _KEPT).is_file()


def sink_of(lab: Lab, job: LabJob) -> FlinkSink:
    return FlinkSink(lab.directory / OUTPUT / job.file_name)


def savepoint_in(folder: Path) -> Path:
    (savepoint,) = folder.glob("savepoint-*")
    return savepoint


def run_on_old(lab: Lab, jobs: Sequence[LabJob]) -> None:
    """Run jobs from the log starts on the old cluster; each leaves a savepoint in a folder of its own.

    Raises:
        LabError: A job ended, or did not read everything in time.
    """
    if jobs:
        flink = stored_flink(lab)
        _run_all([_run(lab, job, flink, savepoints=lab.directory / ROOT / job.name) for job in jobs])


def moved_runs(lab: Lab, jobs: Sequence[LabJob], applied: Path) -> dict[Path, FlinkRun]:
    """Return the runs of moved jobs by the later folder of their savepoint, without jobs that have read everything.

    A job starts from what `apply` wrote, or from its own savepoint if it has run on the new cluster before.

    Raises:
        LabError: Their Flink is gone. Nothing is started here.
    """
    if not jobs:
        return {}
    flink, runs = stored_flink(lab), {}
    for job in jobs:
        own, counted = lab.directory / MOVED / job.file_name, {*sink_of(lab, job).serials()}
        if own.is_dir() and consumers.last_serials(lab.new_bootstrap, job.copies) <= counted:
            continue
        restored = own if own.is_dir() else applied / job.file_name
        runs[own] = _run(lab, job, flink, savepoints=_folder(lab, job) / "savepoints", restored=restored)
    return runs


def run_on_new(runs: Mapping[Path, FlinkRun]) -> None:
    """Run moved jobs on the new cluster. The savepoint that each is stopped with replaces its earlier one.

    Flink's canonical savepoints can be moved, so that a migration file can name the folder beforehand.

    Raises:
        LabError: A job ended, or did not read everything in time.
    """
    for own, savepoint in zip(runs, _run_all([*runs.values()]), strict=True):
        shutil.rmtree(own, ignore_errors=True)
        own.parent.mkdir(exist_ok=True)
        savepoint.rename(own)


def stored_flink(lab: Lab) -> FlinkFolder:
    """Return the Flink that runs jobs of a lab.

    Raises:
        LabError: It is gone.
    """
    body = json.loads((lab.directory / _KEPT).read_text(encoding="utf-8"))
    return FlinkFolder.at(Path(body["folder"]))


def _folder(lab: Lab, job: LabJob) -> Path:
    return lab.directory / "flink" / job.file_name


def _run(lab: Lab, job: LabJob, flink: FlinkFolder, *, savepoints: Path, restored: Path | None = None) -> FlinkRun:
    return FlinkRun(
        job=job,
        flink=flink,
        bootstrap=lab.old_bootstrap if restored is None else lab.new_bootstrap,
        topics=job.topics if restored is None else job.copies,
        sink=sink_of(lab, job),
        folder=_folder(lab, job),
        log=lab.log(f"flink-{job.name}"),
        savepoints=savepoints,
        restored=restored,
    )


def _run_all(runs: Sequence[FlinkRun]) -> tuple[Path, ...]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return tuple(pool.map(FlinkRun.run, runs))
