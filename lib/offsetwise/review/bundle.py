"""A review bundle: everything that a reviewer needs of one plan, in one file, for a console without the clusters.

gzip over one JSON object. Each part is the exact text of its file with its SHA-256; the bundle's own digest covers all
parts. Whoever changes the plan and all digests changes the plan's digest too, and an envelope for that digest is not
valid at the console of origin.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError

from offsetwise import files, strict_json
from offsetwise.approval import strict
from offsetwise.errors import FileError
from offsetwise.model import MAX_TIME_MS, Comparison, Plan
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.reading import read_plan
from offsetwise.store.review_rows import CommentRow, EditorRow, Who

KIND: Final = "review-bundle"
MAX_PACKED_BYTES: Final = 16 * 1024 * 1024
MAX_BYTES: Final = 64 * 1024 * 1024
"""Unpacked. A bundle of 10,000 partitions has 42 MB."""
MAX_RATIO: Final = 200
"""The maximum ratio of unpacked to packed bytes. Bundles of 1, 100 and 10,000 similar partitions have 6, 38 and 113."""
MAX_VALUES: Final = 2_500_000
"""The maximum number of JSON values of all parts. A bundle of 10,000 partitions has 1.6 million."""
OBSERVED: Final = ("comparison", "old", "new")
_KINDS: Final = ("plan", *OBSERVED)
_FIX: Final = "Ask for the bundle again, and compare the digest that is shown with the one at its console."


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The content of a bundle, after checking every digest."""

    digest: str
    """The digest of the bundle."""
    plan_digest: str
    content: bytes
    """The plan's file, every byte."""
    plan: Plan
    observed: Comparison | None
    """The comparison that it was drafted from; None if it was not stored."""
    files: Mapping[str, bytes]
    """The files of `observed`, every byte."""
    submitted_by: Who
    submitted_at_ms: int
    expires_at_ms: int
    """When its submission expires at the console of origin."""
    editors: tuple[EditorRow, ...]
    comments: tuple[CommentRow, ...]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


_Name = Annotated[str, Field(max_length=1_000)]
_TimeMs = Annotated[StrictInt, Field(ge=0, le=MAX_TIME_MS)]
_Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _BundlePart(_Shape):
    sha256: _Hex
    content: str


class _Parts(_Shape):
    plan: _BundlePart
    comparison: _BundlePart | None = None
    old: _BundlePart | None = None
    new: _BundlePart | None = None


class _Editor(_Shape):
    issuer: _Name
    subject: _Name
    address: _Name | None
    since_number: Annotated[StrictInt, Field(ge=1)]


class _Comment(_Shape):
    number: Annotated[StrictInt, Field(ge=1)]
    issuer: _Name
    subject: _Name
    name: _Name
    at_ms: _TimeMs
    body: Annotated[str, Field(max_length=10_000)]


class _Submission(_Shape):
    issuer: _Name
    subject: _Name
    name: _Name
    at_ms: _TimeMs
    expires_at_ms: _TimeMs


class _Stated(_Shape):
    submission: _Submission
    editors: Annotated[list[_Editor], Field(min_length=1, max_length=1_000)]
    comments: Annotated[list[_Comment], Field(max_length=10_000)]
    digest: _Hex


class _BundleShape(_Stated):
    parts: _Parts


def pack(
    content: bytes,
    evidence: dict[str, bytes],
    *,
    submitted_by: Who,
    submitted_at_ms: int,
    expires_at_ms: int,
    editors: tuple[EditorRow, ...],
    comments: tuple[CommentRow, ...],
) -> bytes:
    """Return a bundle's bytes.

    Args:
        content: The plan's file.
        evidence: The files `comparison`, `old` and `new`, by these names; or empty.
        submitted_by: Who submitted it.
        submitted_at_ms: When, epoch ms.
        expires_at_ms: When the submission expires, epoch ms.
        editors: Everybody who wrote, edited or submitted any version.
        comments: The discussion.
    """
    body: dict[str, Any] = {
        "format": f"offsetwise/{KIND}",
        "format_version": files.FORMAT_VERSION,
        "parts": {"plan": _part(content), **{kind: _part(data) for kind, data in evidence.items()}},
        "submission": {
            "issuer": submitted_by.issuer,
            "subject": submitted_by.subject,
            "name": submitted_by.name,
            "at_ms": submitted_at_ms,
            "expires_at_ms": expires_at_ms,
        },
        "editors": [asdict(editor) for editor in editors],
        "comments": [_comment_fields(comment) for comment in comments],
    }
    body["digest"] = _digest(body)
    # Without a time stamp, so that the same content gives the same bytes.
    return gzip.compress(json.dumps(body, sort_keys=True).encode("ascii"), compresslevel=6, mtime=0)


def _comment_fields(comment: CommentRow) -> dict[str, Any]:
    return {
        "number": comment.number,
        "issuer": comment.by.issuer,
        "subject": comment.by.subject,
        "name": comment.by.name,
        "at_ms": comment.at_ms,
        "body": comment.body,
    }


def open_bundle(data: bytes, *, subject: str) -> Bundle:
    """Parse a bundle, strictly.

    Args:
        data: The whole file.
        subject: The name of the file in errors.

    Raises:
        FileError: It is not a bundle, too large, cut off, or changed since it was written.
        PlanError: Its plan contradicts itself.
        VersionError: A major version that this release does not know.
    """
    read, evidence = _read(data, subject)
    content = evidence.pop("plan")
    return Bundle(
        digest=read.digest,
        plan_digest=digest_of(content),
        content=content,
        plan=read_plan(content, subject=f"{subject}: its plan"),
        observed=_observed(evidence, subject),
        files=evidence,
        submitted_by=Who(issuer=read.submission.issuer, subject=read.submission.subject, name=read.submission.name),
        submitted_at_ms=read.submission.at_ms,
        expires_at_ms=read.submission.expires_at_ms,
        editors=tuple(EditorRow(**editor.model_dump()) for editor in read.editors),
        comments=tuple(
            CommentRow(
                number=comment.number,
                by=Who(issuer=comment.issuer, subject=comment.subject, name=comment.name),
                at_ms=comment.at_ms,
                body=comment.body,
            )
            for comment in read.comments
        ),
    )


def _read(data: bytes, subject: str) -> tuple[_Stated, dict[str, bytes]]:
    body = files.read_object(_unpacked(data, subject), subject=subject, most=MAX_BYTES)
    files.check_header(body, KIND, subject=subject)
    results = {key: value for key, value in body.items() if key not in ("format", "format_version")}
    try:
        read = _BundleShape.model_validate(results)
    except ValidationError as error:
        raise _unusable(subject, strict.first_wrong(error)) from error
    if read.digest != _digest({key: value for key, value in body.items() if key != "digest"}):
        raise _unusable(subject, "what it holds does not have the digest written in it: it was changed")
    parts = {kind: part for kind in _KINDS if (part := getattr(read.parts, kind)) is not None}
    evidence = {kind: _checked(part, kind, subject) for kind, part in parts.items()}
    try:
        remaining = MAX_VALUES
        for content in evidence.values():
            remaining -= strict_json.check_size(content, most=remaining)
    except ValueError as error:
        raise _unusable(subject, f"with all its parts, {error}") from error
    return _Stated.model_validate(read.model_dump(exclude={"parts"})), evidence


def _observed(evidence: Mapping[str, bytes], subject: str) -> Comparison | None:
    if not evidence:
        return None
    if len(evidence) != len(OBSERVED):
        raise _unusable(subject, f"it has {', '.join(evidence)} and not the rest of comparison, old and new")
    return comparison_of(evidence, subject=f"{subject}: its")


def comparison_of(evidence: Mapping[str, bytes], *, subject: str) -> Comparison:
    """Return a comparison with its snapshots from their stored files; `subject` begins their names in errors."""
    compared: Comparison = files.load(evidence["comparison"], "comparison", subject=f"{subject} comparison")
    old = files.load(evidence["old"], "snapshot", subject=f"{subject} snapshot of the old cluster")
    new = files.load(evidence["new"], "snapshot", subject=f"{subject} snapshot of the new cluster")
    return replace(compared, read_from=(old, new))


def _part(content: bytes) -> dict[str, str]:
    text = content.decode("utf-8", "surrogatepass")
    return {"sha256": hashlib.sha256(content).hexdigest(), "content": text}


def _checked(part: _BundlePart, kind: str, subject: str) -> bytes:
    content = part.content.encode("utf-8", "surrogatepass")
    result = hashlib.sha256(content).hexdigest()
    if result != part.sha256:
        raise _unusable(subject, f"its {kind} has the SHA-256 {result[:12]}…, not {part.sha256[:12]}…: it was changed")
    return content


def _digest(body: dict[str, Any]) -> str:
    hasher = hashlib.sha256()
    # In pieces: joined, the parts would need twice more memory.
    for piece in json.JSONEncoder(sort_keys=True, separators=(",", ":")).iterencode(body):
        hasher.update(piece.encode("ascii"))
    return hasher.hexdigest()


def _unpacked(data: bytes, subject: str) -> bytes:
    if len(data) > MAX_PACKED_BYTES:
        raise _unusable(subject, f"it has {len(data):,} bytes, the limit is {MAX_PACKED_BYTES:,}")
    most = min(MAX_BYTES, MAX_RATIO * len(data))
    unpacking = zlib.decompressobj(wbits=31)
    try:
        # zlib stops there, whatever follows.
        unpacked = unpacking.decompress(data, most + 1)
    except zlib.error as error:
        raise _unusable(subject, "it is not gzip, or damaged") from error
    if len(unpacked) > most:
        raise _unusable(subject, f"it unpacks to more than {most:,} bytes, {MAX_RATIO} for each of its own at most")
    if not unpacking.eof or unpacking.unused_data:
        raise _unusable(subject, "it is cut off, or something follows it")
    if not unpacked.isascii():
        raise _unusable(subject, "it has other characters than ASCII")
    return unpacked


def _unusable(subject: str, why: str) -> FileError:
    return FileError(
        f"{subject}: expected a review bundle as the console wrote it, but {why}. Nothing was used from it.", fix=_FIX
    )
