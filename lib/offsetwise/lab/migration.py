"""A migration of 40 real jobs in three waves: Spark queries and consumer groups, stopped on the old cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import yaml
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic

from offsetwise.errors import LabError
from offsetwise.lab import consumers, making, queries
from offsetwise.lab import plan_of_jobs as of
from offsetwise.lab.cluster import Lab
from offsetwise.lab.flink import FlinkFolder
from offsetwise.lab.flink import jobs as flink_jobs
from offsetwise.lab.job_sinks import JobSink
from offsetwise.lab.making import TIMEOUT_S
from offsetwise.lab.mirrors import Policy
from offsetwise.lab.plan_of_jobs import TOPICS, JobKind, LabJob, LabTopic, Stop

APPLIED: Final = "applied"
"""The folder for `apply --output`, next to the migration file."""
_MIRRORED: Final = {
    Policy.IDENTITY: tuple(topic.name for topic in TOPICS.values() if not topic.renamed),
    Policy.DEFAULT: tuple(topic.name for topic in TOPICS.values() if topic.renamed),
}
_COMMITTED: Final = {"old.consumer.isolation.level": "read_committed"}
"""The mirrors skip aborted records, which the jobs do not read either."""


def make_migration(lab: Lab, *, flink: FlinkFolder | None = None, said: Callable[[str], None] = lambda _: None) -> Path:
    """Create the migration of 40 jobs, unless it exists; return its `migration.yaml`.

    Args:
        lab: A running lab without topics.
        flink: Runs some of the jobs; None leaves them to Spark.
        said: Called with a description, including the duration, after each step.

    Raises:
        LabError: The brokers do not run, an earlier run was interrupted, a step fails, or there is a migration without
            Flink.
    """
    path = lab.directory / "migration.yaml"
    if is_made(path):
        flink_jobs.keep_again(lab, flink)
        start_mirrors(lab, only_ended=True)
        return path
    began = time.monotonic()

    def step(what: str) -> None:
        said(f"{what} ({time.monotonic() - began:.1f} s since the start)")

    create_topics(lab)
    flink_jobs.keep(lab, flink)
    _make(lab, step)
    (path.parent / APPLIED).mkdir(exist_ok=True)
    making.write_migration(path, migration_of(lab))
    return path


def _make(lab: Lab, step: Callable[[str], None]) -> None:
    produce(lab, 0, of.FIRST)
    delete_first_records(lab)
    pollute(lab, 0)
    start_mirrors(lab)
    step("produced the first records, deleted some of them, started two mirrors")
    jobs = jobs_of(lab)
    run_on_old(lab, [job for job in jobs if job.stop is Stop.BEHIND])
    step("stopped the jobs that are far behind")
    wait_until_mirrored(lab)
    pollute(lab, of.FIRST)
    produce(lab, of.FIRST, of.SECOND)
    run_on_old(lab, [job for job in jobs if job.stop is not Stop.BEHIND])
    step(f"stopped the others of {len(jobs):,} jobs")
    produce(lab, of.SECOND, of.END)
    wait_until_mirrored(lab)
    pollute(lab, of.SECOND)
    step("mirrored everything")


def is_made(path: Path) -> bool:
    return path.is_file() and yaml.safe_load(path.read_text(encoding="utf-8")).get("name") == of.MIGRATION


def create_topics(lab: Lab) -> None:
    """Create the topics of the old cluster, and on the new one those that get other records before the mirror's.

    Raises:
        LabError: A topic exists already.
    """
    polluted = [topic for topic in TOPICS.values() if topic.polluted]
    there = making.create_topics(
        {lab.old_bootstrap: [*map(_new, TOPICS.values())], lab.new_bootstrap: [*map(_new, polluted)]}
    )
    if there is not None:
        folder = lab.directory
        raise LabError(
            f"The lab in {folder}: expected no topic {there!r} before its migration is made, found one: the folder "
            "has the lab's sample, or an earlier run was interrupted. Nothing was added.",
            fix=f"Run `offsetwise lab down --dir {folder}`, remove the folder, and run `offsetwise lab migration --dir "
            f"{folder}`; or name another folder.",
        )


def _new(topic: LabTopic) -> NewTopic:
    return NewTopic(topic.name, len(topic.deleted), 1)


def produce(lab: Lab, first: int, end: int) -> None:
    """Write the records with the numbers from `first` to `end`, exclusive, to every topic of the old cluster.

    With transactions, `first` and `end` are multiples of `PER_TRANSACTION`.
    """
    producer = Producer(_settings(lab.old_bootstrap))
    paying = Producer(_settings(lab.old_bootstrap) | {"transactional.id": "lab-migration"})
    paying.init_transactions(TIMEOUT_S)
    for topic in TOPICS.values():
        records = of.records_of(topic, first, end)
        if not topic.transactions:
            making.send(producer, records)
            continue
        for start in range(first, end, of.PER_TRANSACTION):
            written = list(of.records_of(topic, start, start + of.PER_TRANSACTION))
            making.send_transaction(paying, written, aborted=written[0].aborted)
    producer.flush(TIMEOUT_S)


def pollute(lab: Lab, first: int) -> None:
    producer = Producer(_settings(lab.new_bootstrap))
    for topic in TOPICS.values():
        if topic.polluted:
            making.send(producer, of.natives_of(topic, first))


def delete_first_records(lab: Lab) -> None:
    starts = (
        TopicPartition(topic.name, partition, start)
        for topic in TOPICS.values()
        for partition, start in enumerate(topic.starts)
        if start
    )
    making.delete_before(lab.old_bootstrap, starts)


def start_mirrors(lab: Lab, *, only_ended: bool = False) -> None:
    making.start_mirrors(lab, _MIRRORED, only_ended=only_ended, settings=_COMMITTED)


def wait_until_mirrored(lab: Lab) -> None:
    for policy, topics in _MIRRORED.items():
        lab.wait_until_mirrored(topics, mirror=policy)


def jobs_of(lab: Lab) -> tuple[LabJob, ...]:
    return of.jobs(flink=flink_jobs.is_kept(lab))


def sink_of(lab: Lab, job: LabJob) -> JobSink:
    """Return the sink of a job that does not run on Flink."""
    return JobSink(lab.directory / flink_jobs.OUTPUT / job.file_name)


def run_on_old(lab: Lab, jobs: Sequence[LabJob]) -> None:
    of_flink = [job for job in jobs if job.flink]
    _run(lab, jobs, lab.directory / of.ROOT, lambda: flink_jobs.run_on_old(lab, of_flink), moved=False)


def _run(lab: Lab, jobs: Sequence[LabJob], folder: Path, run_flink: Callable[[], object], *, moved: bool) -> None:
    bootstrap = lab.new_bootstrap if moved else lab.old_bootstrap
    chosen = [
        queries.LabQuery(
            job=job,
            bootstrap=bootstrap,
            topics=job.copies if moved else job.topics,
            checkpoint=folder / (job.file_name if moved else job.name),
            sink=sink_of(lab, job),
            fails_in=1 if job.stop is Stop.PENDING and not moved else None,
        )
        for job in jobs
        if is_query(job)
    ]
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_flink)
        queries.run_all(chosen)
        consumers.run_all(
            consumers.ConsumerReading(
                group=job.name,
                bootstrap=bootstrap,
                topics=job.copies if moved else job.topics,
                sink=sink_of(lab, job),
                most=None if moved else job.most,
                reset="error" if moved else "earliest",
            )
            for job in jobs
            if job.kind is JobKind.GROUP
        )
        running.result()
    for query in chosen:
        if query.job.commits_to is not None:
            consumers.commit(bootstrap, query.job.commits_to, queries.committed_positions(query.checkpoint))


def is_query(job: LabJob) -> bool:
    return job.kind is JobKind.CHECKPOINT and not job.flink


def run_on_new(lab: Lab, jobs: Sequence[LabJob]) -> tuple[LabJob, ...]:
    """Run the moved jobs among `jobs` on the new cluster, to the ends of their logs; return them.

    Raises:
        LabError: None of them has been moved, the Flink of a job is gone, or a job could not be run.
    """
    folder = lab.directory / APPLIED
    moved = tuple(job for job in jobs if is_moved(lab, job))
    if not moved:
        raise LabError(
            f"The lab in {lab.directory}: expected jobs that have been moved, such as {jobs[0].subject}, found neither "
            f"a copy of a checkpoint in {folder} nor commits of a group on the new cluster. No job was started.",
            fix=f"Draft, sign and apply the plans of the wave, with --output {folder}; then run the command again.",
        )
    of_flink = flink_jobs.moved_runs(lab, [job for job in moved if job.flink], folder)
    _run(lab, moved, folder, lambda: flink_jobs.run_on_new(of_flink), moved=True)
    return moved


def is_moved(lab: Lab, job: LabJob) -> bool:
    if job.kind is JobKind.CHECKPOINT:
        return (lab.directory / APPLIED / job.file_name).is_dir()
    return consumers.has_committed(lab.new_bootstrap, job.name, job.copies)


def jobs_of_wave(lab: Lab, wave: str) -> tuple[LabJob, ...]:
    """Return the jobs of a wave of a lab's migration.

    Raises:
        LabError: There is no such wave.
    """
    waves = {name: tuple(jobs) for name, jobs in groupby(jobs_of(lab), key=lambda job: job.wave)}
    if wave not in waves:
        raise LabError(
            f"The lab's migration: expected one of its waves, found {wave!r}. No job was started.",
            fix=f"Name one of {', '.join(waves)}.",
        )
    return waves[wave]


def migration_of(lab: Lab) -> dict[str, Any]:
    """Return the migration file: the results of `init`, and what only people know."""
    jobs = jobs_of(lab)
    return {
        "name": of.MIGRATION,
        "source": {"name": "old", "alias": "old", "properties": {"bootstrap.servers": lab.old_bootstrap}},
        "target": {"name": "new", "alias": "new", "properties": {"bootstrap.servers": lab.new_bootstrap}},
        "link": "mirrormaker",
        "isolation_level": "read_committed",
        "topics": {
            "policy": "identity",
            "map": {topic.name: topic.copy for topic in TOPICS.values() if topic.renamed},
        },
        "checkpoint_roots": [f"./{of.ROOT}", *([f"./{of.MOVED}"] if flink_jobs.is_kept(lab) else [])],
        "checkpoints": [
            {"name": job.name, "uri": _stopped_at(lab, job), "job": of.traits_of(job), "belongs_to": "old"}
            for job in jobs
            if job.kind is JobKind.CHECKPOINT
        ],
        "groups": [{"name": job.name, "job": of.traits_of(job)} for job in jobs if job.kind is JobKind.GROUP],
        "waves": of.waves_of_file(),
        "writers": "mixed",
        "write_roots": [f"./{APPLIED}"],
        "spark": {"master": queries.SETTINGS.master},
    }


def _stopped_at(lab: Lab, job: LabJob) -> str:
    folder = f"./{of.ROOT}/{job.name}"
    return f"{folder}/{flink_jobs.savepoint_in(lab.directory / folder).name}" if job.flink else folder


def _settings(bootstrap: str) -> dict[str, str | int | bool]:
    return {"bootstrap.servers": bootstrap, "linger.ms": 5, "enable.idempotence": True, "log_level": 2}
