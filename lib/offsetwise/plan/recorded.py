"""Check the files that a step records: the reviewed files with their edits, or those that the plan creates."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Final

from offsetwise.model import Plan, ReceiptStep, TopicPartition, WrittenFile
from offsetwise.regular_files import stays_below

URI: Final = re.compile(r"[a-z][a-z0-9]*://")
_BESIDE: Final = re.compile(r"\.tmp-[0-9a-f]{32}")
"""The suffix of temporary names: of files that are being written or removed."""


def wrong_new_files(step: ReceiptStep, expected: Mapping[str, str | None]) -> Iterator[str]:
    """Yield differences between the recorded new files and those that the plan creates.

    Args:
        step: The step of a receipt or journal.
        expected: SHA-256 by path, hex; None for a file that contains an id of its own and only has to exist.
    """
    yield from _files(step)
    results = {file.path: file for file in step.files}
    if results.keys() != expected.keys():
        yield f"it lists {_names(results)}, and the plan makes {_names(expected)}"
    for path in results.keys() & expected.keys():
        written_file = results[path]
        if (
            written_file.sha256 is None
            or expected[path] not in (None, written_file.sha256)
            or written_file.before_sha256
            or written_file.kept_as
        ):
            yield f"its file {path[:300]} is not the one that the plan makes"


def made_text(step: ReceiptStep, text: str) -> Iterator[str]:
    yield from wrong_new_files(step, {os.path.basename(step.place): sha256(text.encode()).hexdigest()})


def edited(plan: Plan, digest: str, step: ReceiptStep, *, new: Container[str] = ()) -> Iterator[str]:
    """Yield files of a copy that are neither reviewed and edited nor in `new`, the files that the plan creates."""
    yield from _edited(plan, digest, step, in_place=False, new=new)


def edited_in_place(plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
    yield from _edited(plan, digest, step, in_place=True)


def notes_of_output(location: str, notes: Mapping[str, str], *, begun: bool) -> Iterator[str]:
    """Yield wrong notes of a journal about files that are written under a temporary name and then renamed.

    Args:
        location: The final location: an absolute path or a URI.
        notes: The notes by name.
        begun: Whether the step began.
    """
    needed = "token" if URI.match(location) else "tmp"
    if begun and needed not in notes:
        yield f"it has no note of its {needed}"
    for name in ("tmp", "trash"):
        value = notes.get(name)
        if value is not None and not (value.startswith(location) and _BESIDE.fullmatch(value, len(location))):
            yield f"its {name} {value[:300]!r} is no name beside {location}"


def notes_of_originals(digest: str, step: ReceiptStep, notes: Mapping[str, str], *, begun: bool) -> Iterator[str]:
    """Yield wrong notes of a journal about files that are edited in place, with the originals kept next to them.

    Args:
        digest: The plan's digest, hex.
        step: What was about to be written.
        notes: The notes by name.
        begun: Whether the step began.
    """
    for name in ("keep", "guard"):
        if begun and name not in notes:
            yield f"it has no note of its {name}"
    keep = notes.get("keep")
    if keep is not None and not re.fullmatch(rf"\.offsetwise-{digest[:12]}-[0-9a-f]{{8}}", keep):
        yield f"its originals are in {keep[:300]!r}, where none are kept"
    if keep is not None and any(
        file.kept_as is not None and not file.kept_as.startswith(f"{keep}/") for file in step.files
    ):
        yield f"its originals are in {keep!r} and elsewhere"


def _edited(plan: Plan, digest: str, step: ReceiptStep, *, in_place: bool, new: Container[str] = ()) -> Iterator[str]:
    yield from _files(step)
    reviewed = {} if plan.requirements.checkpoint is None else dict(plan.requirements.checkpoint.files)
    for file in step.files:
        yield from _as_reviewed(file, reviewed.get(file.path), new=file.path in new)
    yield from _kept_originals(step, f".offsetwise-{digest[:12]}-", in_place=in_place)


def _files(step: ReceiptStep) -> Iterator[str]:
    if step.offsets:
        yield f"it has committed offsets, which {step.target} has none of"
    if not step.files:
        yield f"it lists no file, and {step.target} has some"
    for written_file in step.files:
        if not stays_below(written_file.path):
            yield f"its file {written_file.path[:300]!r} leads out of {step.place}"
    if len({file.path for file in step.files}) != len(step.files):
        yield "it lists a file twice"


def _as_reviewed(written_file: WrittenFile, reviewed: str | None, *, new: bool) -> Iterator[str]:
    if written_file.sha256 is not None and written_file.before_sha256 is None and not new:
        yield f"it says that {written_file.path[:300]} is new, and the plan makes no file"
    if reviewed is not None and written_file.before_sha256 not in (
        (reviewed,) if written_file.sha256 is not None else (None, reviewed)
    ):
        yield f"it says that {written_file.path[:300]} was another file before than the one that was reviewed"


def _kept_originals(step: ReceiptStep, keep: str, *, in_place: bool) -> Iterator[str]:
    folder = re.compile(rf"{re.escape(keep)}[0-9a-f]{{8}}")
    folders = set()
    for file in step.files:
        where, _, below = (file.kept_as or "").partition("/")
        if file.kept_as is not None and not (in_place and folder.fullmatch(where) and below == f"before/{file.path}"):
            yield f"its file {file.path[:300]} is kept as {file.kept_as[:300]!r}, where no original is kept"
        elif file.kept_as is not None:
            folders.add(where)
        elif in_place and file.sha256 is not None:
            yield f"it keeps no original of {file.path[:300]}"
    if len(folders) > 1:
        yield f"its originals are kept in {_names(folders)}, expected one folder"


def _names(paths: Iterable[str]) -> str:
    return ", ".join(sorted(path[:100] for path in paths)) or "nothing"


def offsets_apart(
    step: ReceiptStep, planned: Mapping[TopicPartition, int], before: Mapping[TopicPartition, int | None]
) -> Iterator[str]:
    """Yield differences between the offsets of a step and those of its plan.

    Args:
        step: What was written.
        planned: The offsets of the plan.
        before: The reviewed offsets before the step; partitions without one are missing.
    """
    visited: set[TopicPartition] = set()
    for offset in step.offsets:
        key = offset.topic_partition
        if key in visited:
            yield f"it has {key} twice"
        visited.add(key)
        if offset.offset != planned.get(key):
            yield f"it has {key} at {offset.offset:,}, and the plan says {planned.get(key, 'nothing')}"
        if offset.before != before.get(key):
            was, reviewed = (_committed(value) for value in (offset.before, before.get(key)))
            yield f"it says that {was} was committed for {key} before, and {reviewed} was reviewed"
    if planned.keys() - visited:
        lacking = min(planned.keys() - visited)
        yield f"it lacks {lacking}, which the plan moves to {planned[lacking]}"


def _committed(offset: int | None) -> str:
    return "nothing" if offset is None else f"{offset:,}"
