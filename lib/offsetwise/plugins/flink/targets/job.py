"""Checks whether a running Flink job was restored from the savepoint that a plan wrote, by its own REST API."""

from __future__ import annotations

import re
from typing import Final

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.job import Judgement
from offsetwise.client_properties.sign_on import SignOn
from offsetwise.engines.rest import RestService
from offsetwise.errors import StorageError
from offsetwise.model import JobOrigin, Plan, ReceiptStep, VerifiedJob
from offsetwise.plan.target import has_opaque_positions
from offsetwise.plugins.flink.engine.rest import ENGINE, FlinkAddress, FlinkJob, Restored, read_job
from offsetwise.plugins.flink.targets.source_metrics import SourceOffsets, metric_name, read_source_offsets
from offsetwise.position import offset_of
from offsetwise.wording import first_of

_NAMED: Final = 5
_SCHEMES: Final = {"s3a": "s3", "s3n": "s3", "s3p": "s3", "abfss": "abfs"}
"""Aliases of schemes of the same store."""
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(/.*)")


def address_of(text: str) -> str:
    return FlinkAddress.parse(text).text


def observed(plan: Plan, steps: tuple[ReceiptStep, ...], text: str, readers: Readers) -> VerifiedJob:
    (step,) = steps
    address = FlinkAddress.parse(text)
    sign_on = readers.migration.job_sign_on(address.text)
    job = read_job(address, sign_on)
    required = plan.requirements.checkpoint
    judged = _judge(job, step.place, None if required is None else required.uri)
    origin, message = judged if has_opaque_positions(plan) else _by_sources(_offsets(job, sign_on), plan, *judged)
    return VerifiedJob(
        target=step.target,
        address=job.address,
        id=job.id,
        name=job.name,
        state=job.state,
        expected=step.place,
        restored_from=None if job.restored is None else job.restored.path,
        origin=origin,
        told=f"Job {job.id} ({job.name}) is {job.state}. {message}",
    )


def _judge(job: FlinkJob, savepoint: str, original: str | None) -> Judgement:
    if not job.keeps_checkpoints:
        return (
            JobOrigin.UNKNOWN,
            "Flink keeps no statistics of its checkpoints, so it does not say what the job was restored from: the job "
            "has checkpointing switched off, or is only being initialized. Give a checkpoint of the job, --checkpoint, "
            "or look again.",
        )
    if job.restored is None:
        return _not_restored(job, savepoint)
    if job.restored.path is None:
        return (
            JobOrigin.UNKNOWN,
            f"It was restored from checkpoint {job.restored.checkpoint_id}, of which Flink names no path, so that it "
            f"cannot be compared with {savepoint}.",
        )
    if original is not None and same_folder(job.restored.path, original) and job.restores == 1:
        return (
            JobOrigin.RESTORED_FROM_OTHER,
            f"It was restored from {original}, the one that the plan was drafted from, whose positions are those of "
            f"the old cluster; expected {savepoint}. Stop it, and start it from the savepoint: -s {savepoint}",
        )
    return _compared(job, job.restored, job.restored.path, savepoint)


def _offsets(job: FlinkJob, sign_on: SignOn) -> SourceOffsets:
    """Return the offsets of the sources: additional evidence, so a missing answer is not an error."""
    try:
        return read_source_offsets(RestService.at(job.url, sign_on, engine=ENGINE), job.id, job.vertices)
    except StorageError:
        return {}


def _by_sources(offsets: SourceOffsets, plan: Plan, origin: JobOrigin, message: str) -> Judgement:
    """Add the evidence of the sources' offsets: a job restored as planned reads nothing before the plan."""
    planned: dict[tuple[str, int], int] = {}
    topics: dict[str, set[str]] = {}
    for position in plan.positions:
        name, offset = metric_name(position.new_topic), offset_of(position.new_offset)
        at = name, position.partition
        planned[at] = min(planned.get(at, offset), offset)
        topics.setdefault(name, set()).add(position.new_topic)
    # Two topics with the same name in metrics cannot be distinguished.
    reported = {at: offsets[at] for at in planned if at in offsets and len(topics[at[0]]) == 1}
    before = [
        f"{next(iter(topics[name]))}-{partition} at {offset:,}, before the planned {planned[name, partition]:,}"
        for (name, partition), offset in reported.items()
        if offset < planned[name, partition]
    ]
    if before:
        return (
            JobOrigin.FRESH_START if origin is JobOrigin.FRESH_START else JobOrigin.RESTORED_FROM_OTHER,
            f"{message} Its sources are at {first_of(before, _NAMED, between='; ')}: they began elsewhere. Stop the "
            "job.",
        )
    if not reported:
        return origin, f"{message} The metrics of its sources say nothing of the planned partitions."
    return origin, (
        f"{message} The metrics of its sources show no position before the planned one, in {len(reported):,} of "
        f"{len(planned):,} partitions."
    )


def _not_restored(job: FlinkJob, savepoint: str) -> Judgement:
    if not job.is_settled:
        return (
            JobOrigin.UNKNOWN,
            "Flink names no restore of it yet, and its answers may be some seconds old. Look again in a moment.",
        )
    return (
        JobOrigin.FRESH_START,
        f"It was restored from nothing, expected {savepoint}: it began without state, where its sources say. Stop "
        f"it, and start it from the savepoint: -s {savepoint}",
    )


def _compared(job: FlinkJob, restored: Restored, path: str, savepoint: str) -> Judgement:
    what = f"{'savepoint' if restored.is_savepoint else 'checkpoint'} {restored.checkpoint_id}, {path}"
    if same_folder(path, savepoint):
        return JobOrigin.RESTORED_FROM_PLAN, f"It was restored from what the plan wrote, {path}."
    if _is_own(job, path):
        return (
            JobOrigin.UNKNOWN,
            f"Its latest restore is from {what}, which the job has taken itself: after a failure Flink names that one "
            f"alone ({job.restores:,} restored), so whether it began from {savepoint} is not known. Give that "
            "checkpoint, --checkpoint, to see where the job is.",
        )
    if job.restores > 1:
        return (
            JobOrigin.UNKNOWN,
            f"Its latest restore is from {what}, and it was restored {job.restores:,} times; Flink names the latest "
            f"alone, so whether it began from {savepoint} is not known.",
        )
    if _may_be_same(path, savepoint):
        return (
            JobOrigin.UNKNOWN,
            f"It was restored from {what}; the plan wrote {savepoint}. Both folders have one name, and may be one "
            "that the two machines reach by different paths. Compare their _metadata.",
        )
    return (
        JobOrigin.RESTORED_FROM_OTHER,
        f"It was restored from {what}, expected {savepoint}. Stop it, and start it from the savepoint: -s {savepoint}",
    )


def same_folder(uri: str, other: str) -> bool:
    """Return whether two paths name the same folder, in any spelling.

    >>> same_folder("file:/sp/x/", "/sp/x"), same_folder("s3a://b/x/_metadata", "s3://b/x"), same_folder("/a", "/b")
    (True, True, False)
    """
    return _normalized(uri) == _normalized(other)


def _normalized(path: str) -> tuple[str, str, str]:
    match = _URI.fullmatch(path)
    scheme, authority, rest = ("file", "", path) if match is None else (match[1].lower(), match[2] or "", match[3])
    rest = re.sub(r"/+", "/", rest).removesuffix("/_metadata").rstrip("/")
    return _SCHEMES.get(scheme, scheme), "" if authority == "localhost" else authority, rest or "/"


def _is_own(job: FlinkJob, path: str) -> bool:
    """Return whether the job took a checkpoint itself: Flink lists it so, or its folder is named after the job."""
    names = _normalized(path)[2].split("/")
    return (
        any(same_folder(path, own) for own in job.own_paths)
        or job.id in names
        or names[-1].startswith(f"savepoint-{job.id[:6]}-")
    )


def _may_be_same(uri: str, other: str) -> bool:
    """Return whether folders of the same name may be one: through another mount, or two names of a name service."""
    (scheme, authority, path), (other_scheme, other_authority, other_path) = _normalized(uri), _normalized(other)
    if path.rpartition("/")[2] != other_path.rpartition("/")[2]:
        return False
    return scheme != other_scheme or scheme == "file" or (authority != other_authority and path == other_path)
