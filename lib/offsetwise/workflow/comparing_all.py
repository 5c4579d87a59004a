from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import quote

from offsetwise import files, new_files
from offsetwise.comparison import Scene
from offsetwise.config import Migration
from offsetwise.errors import ConfigError, FileError, OffsetwiseError
from offsetwise.model import (
    Checkpoint,
    ComparedJob,
    Comparison,
    FleetComparison,
    Snapshot,
    Summary,
    UnreadJob,
    time_of,
)
from offsetwise.progress import Progress, no_progress
from offsetwise.workflow.comparing import compare_each
from offsetwise.workflow.scenes import WantedJob
from offsetwise.workflow.stored import read_file

MAX_AGE_S: Final = 3_600.0
"""The maximum age of a comparison from an earlier command."""
SUMMARY: Final = "summary.json"
RECORDS: Final = "records"
"""The value of `how` in `settings_of` if positions are proven by records."""
_LONGEST_NAME: Final = 200
"""In characters; file systems allow 255 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobComparison:
    job: WantedJob
    outcome: Comparison | OffsetwiseError
    reused: bool = False
    """Whether the comparison comes from an earlier command, and is still valid."""
    file: Path | None = None
    """The file of the comparison; None without a folder, or without a comparison."""


def all_jobs(migration: Migration) -> tuple[WantedJob, ...]:
    """Return every job of a migration, in the order of its file: the checkpoints, then the groups.

    Raises:
        ConfigError: The file has no job.
    """
    jobs = _listed(migration)
    if not jobs:
        raise ConfigError(
            f"Migration {migration.name!r}: expected checkpoints or groups to compare, the file has none. "
            "Nothing was compared.",
            fix="Add them under `checkpoints` and `groups`.",
        )
    return jobs


def _listed(migration: Migration) -> tuple[WantedJob, ...]:
    return tuple(map(WantedJob.of, migration.all_jobs))


def compare_all(
    migration: Migration,
    requested: Sequence[WantedJob] | None = None,
    *,
    out: Path | None = None,
    max_age_s: float = MAX_AGE_S,
    snapshots: tuple[Snapshot, Snapshot] | None = None,
    content: bool = True,
    progress: Progress = no_progress,
) -> Iterator[JobComparison]:
    """Compare many jobs at once; see `compare_each`.

    Args:
        migration: The migration.
        requested: The jobs; None for all of the migration file.
        out: A folder for a file of each comparison, written as soon as it is made, and a summary at the end. It is
            created if missing. Still valid comparisons in it are not made again.
        max_age_s: The maximum age of those, in seconds.
        snapshots: Compare with these instead of the live clusters; no record is read then.
        content: Whether to read records.
        progress: Called with each step.

    Yields:
        Each job as soon as it is ready.

    Raises:
        ClusterError: A cluster cannot be read at all.
        ConfigError: An unknown checkpoint, no job, or properties with which Spark cannot read a cluster.
        FileError: The folder cannot be used. Files written before are kept.
        SparkError: Spark cannot read the records.
    """
    jobs = tuple(dict.fromkeys(requested or all_jobs(migration)))
    how = RECORDS if content and snapshots is None else "claims"
    names = file_names(migration, jobs)
    folder = None if out is None else ComparisonFolder(out, settings_of(migration, how, snapshots), max_age_s, names)
    done: dict[WantedJob, JobComparison] = {}
    outcomes = compare_each(
        migration,
        jobs,
        snapshots=snapshots,
        content=content,
        progress=progress,
        known=None if folder is None else folder.known,
        spark_beside=folder is None or not all(map(folder.has, jobs)),
    )
    for requested_job, outcome in outcomes:
        comparison = JobComparison(job=requested_job, outcome=outcome)
        if isinstance(outcome, Comparison) and folder is not None:
            comparison = folder.keep(requested_job, outcome)
        elif isinstance(outcome, Comparison):
            comparison = replace(comparison, outcome=replace(outcome, job=str(requested_job)))
        done[requested_job] = comparison
        yield comparison
    if folder is not None:
        new_files.write_over(folder.path / SUMMARY, files.dump(summary(migration, [done[job] for job in jobs])))


def summary(migration: Migration, compared: Sequence[JobComparison]) -> FleetComparison:
    comparisons = [comparison.outcome for comparison in compared if isinstance(comparison.outcome, Comparison)]
    return FleetComparison(
        migration=migration.name,
        written_at=time_of(datetime.now(UTC)),
        old=comparisons[-1].old if comparisons else None,
        new=comparisons[-1].new if comparisons else None,
        jobs=tuple(map(_row, compared)),
        unread=len(compared) - len(comparisons),
        summary=_sum(comparison.summary for comparison in comparisons),
    )


def file_name(job: WantedJob, *, alike: bool = False) -> str:
    """Return the file name of a job's comparison: its kind, and its name percent-encoded.

    A name that is too long is cut, and ends with two percent signs and the beginning of its SHA-256. So does one that
    differs from another job's in case only, because many file systems ignore case.

    >>> from offsetwise.model import SubjectKind
    >>> file_name(WantedJob(kind=SubjectKind.GROUP, name="etl/eu"))
    'group-etl%2Feu.json'
    """
    encoded = quote(job.name, safe="")
    if alike or len(encoded) > _LONGEST_NAME:
        encoded = f"{encoded[: _LONGEST_NAME - 40]}%%{sha256(encoded.encode()).hexdigest()[:32]}"
    return f"{job.kind}-{encoded}.json"


def file_names(migration: Migration, jobs: Iterable[WantedJob]) -> dict[WantedJob, str]:
    """Return the file name of each job, and of those of the migration file, all different; see `file_name`."""
    every = dict.fromkeys((*_listed(migration), *jobs))
    alike = Counter(file_name(job).lower() for job in every)
    return {job: file_name(job, alike=alike[file_name(job).lower()] > 1) for job in every}


def _row(job_comparison: JobComparison) -> ComparedJob:
    comparison = job_comparison.outcome if isinstance(job_comparison.outcome, Comparison) else None
    error = job_comparison.outcome if isinstance(job_comparison.outcome, OffsetwiseError) else None
    return ComparedJob(
        checkpoint=job_comparison.job.checkpoint,
        group=job_comparison.job.group,
        file=None if job_comparison.file is None else job_comparison.file.name,
        taken_at=None if comparison is None else comparison.taken_at,
        reused=job_comparison.reused,
        summary=None if comparison is None else comparison.summary,
        findings=() if comparison is None else tuple(dict.fromkeys(finding.code for finding in comparison.findings)),
        unread=None if error is None else UnreadJob(error=type(error).__name__, problem=error.problem, fix=error.fix),
    )


def _sum(summaries: Iterable[Summary]) -> Summary:
    every = [*summaries]
    return Summary(**{field.name: sum(getattr(summary, field.name) for summary in every) for field in fields(Summary)})


def settings_of(migration: Migration, how: str = RECORDS, snapshots: tuple[Snapshot, Snapshot] | None = None) -> str:
    """Return what decides about every comparison: this release, the migration file as read, and how it is compared."""
    times = [snapshot.taken_at for snapshot in snapshots or ()]
    return json.dumps([version("offsetwise"), migration.model_dump_json(), how, times])


class ComparisonFolder:
    """Stores comparisons, each with the SHA-256 of its inputs.

    Args:
        path: The folder; created if missing.
        settings: What decides about every comparison; see `settings_of`.
        max_age_s: The maximum age of a comparison that is used again, in seconds.
        names: The file name of each job; see `file_names`.

    Raises:
        FileError: It cannot be used, or holds a summary that is not ours.
    """

    def __init__(self, path: Path, settings: str, max_age_s: float, names: Mapping[WantedJob, str]) -> None:
        self.path = path
        self._settings = settings
        self._youngest = datetime.now(UTC) - timedelta(seconds=max_age_s)
        self._known: set[WantedJob] = set()
        self._names = names
        try:
            path.mkdir(exist_ok=True)
        except OSError as error:
            raise FileError(
                f"{path}: expected a folder to write comparisons to, but {error.strerror or error}. "
                "Nothing was compared.",
                fix="Name a folder that exists, or one below a folder that does.",
            ) from error
        if self._is_file(SUMMARY):
            read_file(path / SUMMARY, "fleet-comparison")

    def has(self, job: WantedJob) -> bool:
        return self._is_file(self._names[job])

    def known(self, job: WantedJob, scene: Scene) -> Comparison | None:
        """Return the stored comparison of a job if its inputs are the same and it is not too old.

        Raises:
            FileError: Something else has the name of its file.
        """
        if not self.has(job):
            return None
        comparison: Comparison = read_file(self.path / self._names[job], "comparison")
        made_from = _made_from(self._settings, job, scene.subject.read, scene.old, scene.new)
        time = datetime.fromisoformat(comparison.taken_at)
        if made_from is None or comparison.made_from != made_from or not self._youngest < time <= datetime.now(UTC):
            return None
        self._known.add(job)
        return comparison

    def keep(self, job: WantedJob, comparison: Comparison) -> JobComparison:
        """Write the comparison of a job, unless it was read from there.

        Raises:
            FileError: It cannot be written.
        """
        return self.write(job, comparison) if job not in self._known else self._stored(job, comparison, reused=True)

    def write(self, job: WantedJob, comparison: Comparison) -> JobComparison:
        """Write the comparison of a job.

        Raises:
            FileError: It cannot be written.
        """
        made_from = _made_from(self._settings, job, comparison.checkpoint, *comparison.snapshots)
        comparison = replace(comparison, job=str(job), made_from=made_from)
        new_files.write_over(self.path / self._names[job], files.dump(comparison))
        return self._stored(job, comparison, reused=False)

    def _stored(self, job: WantedJob, comparison: Comparison, *, reused: bool) -> JobComparison:
        return JobComparison(job=job, outcome=comparison, reused=reused, file=self.path / self._names[job])

    def _is_file(self, name: str) -> bool:
        return os.path.lexists(self.path / name)


def _made_from(
    settings: str, job: WantedJob, checkpoint: Checkpoint | None, old: Snapshot, new: Snapshot
) -> str | None:
    """Return the SHA-256 of the inputs of a comparison; None if an input has no identity.

    The inputs are `settings`, the files of the checkpoint or the commits of the group, and the ids of clusters and
    topics. Records that were written since do not count: logs only grow, and the age of a comparison is limited for
    that.
    """
    committed = [group.offsets for group in old.groups if group.name == job.group]
    itself = (
        [offset for offsets in committed for offset in map(astuple, offsets)] if checkpoint is None else checkpoint.pins
    )
    clusters = [[snapshot.cluster_id, [(topic.name, topic.id) for topic in snapshot.topics]] for snapshot in (old, new)]
    known = all(snapshot.cluster_id and all(topic.id for topic in snapshot.topics) for snapshot in (old, new))
    if not known or not itself:
        return None
    uri = None if checkpoint is None else checkpoint.uri
    return sha256(json.dumps([settings, str(job), uri, itself, clusters]).encode()).hexdigest()
