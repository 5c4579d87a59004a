"""Whether a running job of Flink was restored from the savepoint that a plan wrote, by its own REST API."""

from __future__ import annotations

import re
from typing import Final

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.job import Judgement
from offsetwise.engines.flink.rest import FlinkAddress, FlinkJob, Restored, read_job
from offsetwise.model import JobOrigin, Plan, ReceiptStep, VerifiedJob

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3", "s3p": "s3", "abfss": "abfs"}
"""Schemes that name the same store by another one."""
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(/.*)")


def address_of(text: str) -> str:
    """Return the address of a job as documents have it; see `JobModule`."""
    return FlinkAddress.parse(text).text


def observed(plan: Plan, steps: tuple[ReceiptStep, ...], text: str, readers: Readers) -> VerifiedJob:
    """Ask a running job whether it was restored from the savepoint; see `JobModule`."""
    (step,) = steps
    address = FlinkAddress.parse(text)
    job = read_job(address, readers.migration.job_sign_on(address.text))
    required = plan.requirements.checkpoint
    origin, told = _judge(job, step.place, None if required is None else required.uri)
    return VerifiedJob(
        target=step.target,
        address=job.address,
        id=job.id,
        name=job.name,
        state=job.state,
        expected=step.place,
        restored_from=None if job.restored is None else job.restored.path,
        origin=origin,
        told=f"Job {job.id} ({job.name}) is {job.state}. {told}",
    )


def _judge(job: FlinkJob, place: str, original: str | None) -> Judgement:
    if not job.keeps_checkpoints:
        return (
            JobOrigin.UNKNOWN,
            "Flink keeps no statistics of its checkpoints, so it does not say what the job was restored from: the job "
            "has checkpointing switched off, or is only being initialized. Give a checkpoint of the job, --checkpoint, "
            "or look again.",
        )
    if job.restored is None:
        return _not_restored(job, place)
    if job.restored.path is None:
        return (
            JobOrigin.UNKNOWN,
            f"It was restored from checkpoint {job.restored.checkpoint_id}, of which Flink names no path, so that it "
            f"cannot be compared with {place}.",
        )
    if original is not None and same_folder(job.restored.path, original) and job.restores == 1:
        return (
            JobOrigin.RESTORED_FROM_OTHER,
            f"It was restored from {original}, the one that the plan was drafted from, whose positions are those of "
            f"the old cluster; expected {place}. Stop it, and start it from the savepoint: -s {place}",
        )
    return _compared(job, job.restored, job.restored.path, place)


def _not_restored(job: FlinkJob, place: str) -> Judgement:
    if not job.is_settled:
        return (
            JobOrigin.UNKNOWN,
            "Flink names no restore of it yet, and its answers may be some seconds old. Look again in a moment.",
        )
    return (
        JobOrigin.FRESH_START,
        f"It was restored from nothing, expected {place}: it began without state, where its sources say. Stop it, and "
        f"start it from the savepoint: -s {place}",
    )


def _compared(job: FlinkJob, restored: Restored, path: str, place: str) -> Judgement:
    what = f"{'savepoint' if restored.is_savepoint else 'checkpoint'} {restored.checkpoint_id}, {path}"
    if same_folder(path, place):
        return JobOrigin.RESTORED_FROM_PLAN, f"It was restored from what the plan wrote, {path}."
    if _is_own(job, path):
        return (
            JobOrigin.UNKNOWN,
            f"Its latest restore is from {what}, which the job has taken itself: after a failure Flink names that one "
            f"alone ({job.restores:,} restored), so whether it began from {place} is not known. Give that checkpoint, "
            "--checkpoint, to see where the job is.",
        )
    if job.restores > 1:
        return (
            JobOrigin.UNKNOWN,
            f"Its latest restore is from {what}, and it was restored {job.restores:,} times; Flink names the latest "
            f"alone, so whether it began from {place} is not known.",
        )
    if _may_be_same(path, place):
        return (
            JobOrigin.UNKNOWN,
            f"It was restored from {what}; the plan wrote {place}. Both folders have one name, and may be one that the "
            "two machines reach by different paths. Compare their _metadata.",
        )
    return (
        JobOrigin.RESTORED_FROM_OTHER,
        f"It was restored from {what}, expected {place}. Stop it, and start it from the savepoint: -s {place}",
    )


def same_folder(one: str, other: str) -> bool:
    """Return whether two paths name one folder, however it is spelled.

    >>> same_folder("file:/sp/x/", "/sp/x"), same_folder("s3a://b/x/_metadata", "s3://b/x"), same_folder("/a", "/b")
    (True, True, False)
    """
    return _normalized(one) == _normalized(other)


def _normalized(path: str) -> tuple[str, str, str]:
    """Return scheme, authority and path of a folder; `file` where there is no scheme."""
    match = _URI.fullmatch(path)
    scheme, authority, rest = ("file", "", path) if match is None else (match[1].lower(), match[2] or "", match[3])
    rest = re.sub(r"/+", "/", rest).removesuffix("/_metadata").rstrip("/")
    return _SCHEMES.get(scheme, scheme), "" if authority == "localhost" else authority, rest or "/"


def _is_own(job: FlinkJob, path: str) -> bool:
    """Return whether the job has taken a checkpoint itself: Flink lists it so, or its folder is named after the job."""
    names = _normalized(path)[2].split("/")
    return (
        any(same_folder(path, own) for own in job.own_paths)
        or job.id in names
        or names[-1].startswith(f"savepoint-{job.id[:6]}-")
    )


def _may_be_same(one: str, other: str) -> bool:
    """Return whether folders of one name may be one: a disk is mounted elsewhere, or a name service has two names."""
    (scheme, authority, path), (other_scheme, other_authority, other_path) = _normalized(one), _normalized(other)
    if path.rpartition("/")[2] != other_path.rpartition("/")[2]:
        return False
    return scheme != other_scheme or scheme == "file" or (authority != other_authority and path == other_path)
