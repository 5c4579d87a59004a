from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from offsetwise.survey.results import MissingValue, Survey, SurveyedCheckpoint

OF_THE_MIGRATION: Final[dict[str, tuple[str, str]]] = {
    "isolation_level": (
        "read_committed",
        "what the jobs' consumers read: read_committed where `isolation.level` says so; read_uncommitted, Kafka's "
        "default, unless given",
    ),
    "writers": (
        "mirror-only",
        "who writes to the new topics before the cutover: mirror-only, or mixed if producers do too; what is not known "
        "is proven on the records alone",
    ),
    "write_roots": (
        "[./applied]",
        "the only folders that `offsetwise apply` may write to; nothing can be applied without",
    ),
}
"""Key: an example, and the explanation."""

Applies = Callable[[SurveyedCheckpoint], bool]
OF_A_JOB: Final[dict[str, tuple[str, str, Applies]]] = {
    "stateful": (
        "true",
        "whether the job keeps state, in which a record read twice counts twice",
        lambda job: job.stateful is None,
    ),
    "watermark_ms": (
        "600000",
        "the delay of the job's watermark in milliseconds; the checkpoint shows that it has one, not how long it waits",
        lambda job: job.watermark,
    ),
    "sink": (
        "delta",
        "what the job writes to, in one word: delta, iceberg, hudi, file, kafka or another",
        lambda job: not job.transactional_id_prefixes,
    ),
    "tolerates_replay": (
        "false",
        "whether records may be read twice; false blocks every plan that would",
        lambda job: True,  # noqa: ARG005 - no checkpoint states it
    ),
    "commits_to": (
        "GROUP",
        "the consumer group that the job commits its offsets to; the groups named here have committed in exactly its "
        "partitions",
        lambda job: bool(job.may_commit_to),
    ),
}
"""Key of `job`: an example, the explanation, and the checkpoints for which it is unknown."""


def missing_values(survey: Survey) -> Iterator[MissingValue]:
    if survey.link.link is None:
        yield MissingValue(key="link", write=f"how records come over: {survey.link.evidence}")
    for key, (_, write) in OF_THE_MIGRATION.items():
        yield MissingValue(key=key, write=write)
    jobs = [checkpoint for checkpoint in survey.checkpoints if checkpoint.left_out is None]
    if any(job.belongs_to is None for job in jobs):
        message = "which cluster the positions are of, old or new, where `compare` cannot tell it on the records either"
        yield MissingValue(key="checkpoints[].belongs_to", write=message)
    for key, (_, write, applies) in OF_A_JOB.items():
        if any(map(applies, jobs)):
            yield MissingValue(key=f"checkpoints[].job.{key}", write=write)
    if survey.topics.unmatched:
        message = "the new names of old topics that were found under none, unless they stay behind"
        yield MissingValue(key="topics.map", write=message)
    if survey.old.groups == 0:
        message = "groups to move; the old cluster lists none: there is none, or the user may not DESCRIBE any"
        yield MissingValue(key="groups", write=message)
