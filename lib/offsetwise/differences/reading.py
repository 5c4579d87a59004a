"""Compare two files, or two folders with a document for each job."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from offsetwise import files
from offsetwise.differences import content
from offsetwise.differences.changes import DOCUMENT, Change, Difference
from offsetwise.errors import FileError, UsageError
from offsetwise.model import Comparison, Cutover, FleetComparison, Plan, PlanSet, Snapshot, Status, Subject
from offsetwise.plan.sets.file import SET_FILE
from offsetwise.regular_files import below, stays_below

SUMMARY: Final = "summary.json"
"""The index of a folder of `compare --out`."""
_Document = Comparison | Cutover | FleetComparison | Plan | PlanSet | Snapshot | Status
_Bodies: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folder:
    index: str
    """The name of the file that names the others."""
    kind: str
    """The kind of that file."""
    jobs: str
    """Its key with the jobs."""
    of_each: str
    """The kind of the documents of jobs."""
    again: str
    """The command that writes such a folder."""


_FOLDERS: Final = (
    _Folder(
        index=SUMMARY,
        kind="fleet-comparison",
        jobs="jobs",
        of_each="comparison",
        again="offsetwise compare --all --out DIR",
    ),
    _Folder(index=SET_FILE, kind="plan-set", jobs="plans", of_each="plan", again="offsetwise draft --all --out DIR"),
)


def diff(before: str | Path | _Document, after: str | Path | _Document) -> Difference:
    """Return the differences between two documents of one kind.

    Args:
        before: The file of a comparison, plan, plan set, fleet comparison, snapshot, cutover or status; a folder of
            `offsetwise compare --out` or `offsetwise draft --out`; or such a document itself.
        after: Another one of the same kind.

    Raises:
        UsageError: They have two kinds, or one that cannot be compared.
        FileError: One cannot be read.
    """
    (kind, old), (other, new) = _body(before), _body(after)
    names = _name(before, "before"), _name(after, "after")
    if kind != other:
        raise UsageError(
            f"diff: expected two files of one kind, found offsetwise/{kind} ({names[0]}) and offsetwise/{other} "
            f"({names[1]}). Nothing was compared.",
            fix="Name two files of one kind. `offsetwise drift` compares a plan with the clusters.",
        )
    if not (_is_folder(before) and _is_folder(after)):
        return content.compare(kind, old, new, names=names)
    folder = next(folder for folder in _FOLDERS if folder.kind == kind)
    paths = Path(str(before)), Path(str(after))
    return content.collected(kind, _of_folders(folder, paths, (old, new)), names=names)


def _is_folder(source: str | Path | _Document) -> bool:
    return isinstance(source, str | Path) and Path(source).is_dir()


def _name(source: str | Path | _Document, otherwise: str) -> str:
    return str(source) if isinstance(source, str | Path) else otherwise


def _body(source: str | Path | _Document) -> tuple[str, Mapping[str, Any]]:
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.is_dir():
            return _read(path)
        folder = next((folder for folder in _FOLDERS if (path / folder.index).exists()), _FOLDERS[0])
        return _read(path / folder.index, folder.kind)
    body = json.loads(files.dump(source))
    return _kind(body, "diff"), body


def _read(path: Path, expected: str | None = None) -> tuple[str, Mapping[str, Any]]:
    """Read a file of the expected kind, or of any that can be compared.

    Raises:
        FileError: It cannot be read, or is not complete.
        UsageError: Its kind cannot be compared.
    """
    text = files.read_bytes(
        path,
        f"an offsetwise/{expected} file" if expected else "one of Offsetwise's JSON files",
        effect="Nothing was compared.",
        fix="Check the path: name two files, or two folders of `compare --all --out` or `draft --all --out`.",
    )
    body = files.read_object(text, subject=str(path))
    kind = expected or _kind(body, str(path))
    files.load(text, kind, subject=str(path))
    return kind, body


def _kind(body: Mapping[str, Any], subject: str) -> str:
    stated = str(body.get("format"))
    kind = stated.removeprefix("offsetwise/")
    if kind not in content.KINDS or kind == stated:
        known = ", ".join(f"offsetwise/{known_kind}" for known_kind in content.KINDS)
        raise UsageError(
            f"{subject}: expected a file of one of the formats {known}; found {stated[:80]!r}. Nothing was compared.",
            fix="Name two files of one of these formats, as Offsetwise wrote them.",
        )
    return kind


def _of_folders(folder: _Folder, paths: tuple[Path, Path], bodies: _Bodies) -> Iterator[Change]:
    yield from content.compare(folder.kind, *(_without_digests(body) for body in bodies)).changes
    first, second = (_files(folder, body) for body in bodies)
    both = [job for job in first if job in second]
    order = [job for job in second if job in first]
    if folder.kind == "plan-set" and both != order:
        yield Change(section=DOCUMENT, subject=None, key="order", before=", ".join(both), after=", ".join(order))
    for job in both:
        files_of_job = zip(paths, (first[job], second[job]), strict=True)
        documents = [_read(_below(path, name, folder), folder.of_each)[1] for path, name in files_of_job]
        for change in content.compare(folder.of_each, *documents).changes:
            yield replace(change, job=job)


def _without_digests(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drop the digests of plans, which change with the time of a draft: the plans themselves are compared."""
    if "plans" not in body:
        return body
    return {**body, "plans": [{"job": plan["job"], "file": plan["file"]} for plan in body["plans"]]}


def _files(folder: _Folder, body: Mapping[str, Any]) -> dict[str, str]:
    return {
        job.get("job") or str(Subject.either(checkpoint=job["checkpoint"], group=job["group"])): job["file"]
        for job in body[folder.jobs]
        if job["file"] is not None
    }


def _below(path: Path, name: str, folder: _Folder) -> Path:
    """Return the path of a file that an index names, in the same folder.

    Raises:
        FileError: It names a file elsewhere.
    """
    if "/" in name or not stays_below(name):
        raise FileError(
            f"{path / folder.index}: expected files beside it, found {name[:80]!r}. Nothing was compared.",
            fix=f"Write a new folder, and compare that: `{folder.again}`.",
        )
    return Path(below(str(path), name))
