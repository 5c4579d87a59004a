"""Reads what is compared: two files, or two folders of `offsetwise compare --out`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from offsetwise import files
from offsetwise.differences import content
from offsetwise.differences.changes import Change, Difference
from offsetwise.errors import FileError, UsageError
from offsetwise.model import Comparison, Cutover, FleetComparison, Plan, Snapshot, Status, Subject
from offsetwise.regular_files import below, stays_below

SUMMARY: Final = "summary.json"
"""Of a folder of several jobs."""
_FLEET: Final = "fleet-comparison"
_COMPARISON: Final = "comparison"
_Document = Comparison | Cutover | FleetComparison | Plan | Snapshot | Status


def diff(before: str | Path | _Document, after: str | Path | _Document) -> Difference:
    """Return what differs between two documents of one kind.

    Args:
        before: The file of a comparison, plan, fleet comparison, snapshot, cutover or status; a folder of
            `offsetwise compare --out`; or such a document itself.
        after: Another one of the same kind.

    Raises:
        UsageError: They are of two kinds, or of one that is not compared.
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
    changes = [*content.compare(kind, old, new).changes, *_jobs(Path(str(before)), old, Path(str(after)), new)]
    return content.collected(kind, iter(changes), names=names)


def _is_folder(source: str | Path | _Document) -> bool:
    return isinstance(source, str | Path) and Path(source).is_dir()


def _name(source: str | Path | _Document, otherwise: str) -> str:
    return str(source) if isinstance(source, str | Path) else otherwise


def _body(source: str | Path | _Document) -> tuple[str, Mapping[str, Any]]:
    """Return the kind of a document and its JSON."""
    if isinstance(source, str | Path):
        path = Path(source)
        return _read(path / SUMMARY, _FLEET) if path.is_dir() else _read(path)
    body = json.loads(files.dump(source))
    return _kind(body, "diff"), body


def _read(path: Path, expected: str | None = None) -> tuple[str, Mapping[str, Any]]:
    """Read a file of the kind that is expected, or of any that is compared.

    Raises:
        FileError: It cannot be read, or is not whole.
        UsageError: It is of a kind that is not compared.
    """
    text = files.read_bytes(
        path,
        f"an offsetwise/{expected} file" if expected else "one of Offsetwise's JSON files",
        effect="Nothing was compared.",
        fix="Check the path: name two files, or two folders of `offsetwise compare --all --out`.",
    )
    body = files.read_object(text, subject=str(path))
    kind = expected or _kind(body, str(path))
    files.load(text, kind, subject=str(path))
    return kind, body


def _kind(body: Mapping[str, Any], subject: str) -> str:
    """Return the kind of a document."""
    stated = str(body.get("format"))
    kind = stated.removeprefix("offsetwise/")
    if kind not in content.KINDS or kind == stated:
        known = ", ".join(f"offsetwise/{each}" for each in content.KINDS)
        raise UsageError(
            f"{subject}: expected a file of one of the formats {known}; found {stated[:80]!r}. Nothing was compared.",
            fix="Name two files of one of these formats, as Offsetwise wrote them.",
        )
    return kind


def _jobs(before: Path, old: Mapping[str, Any], after: Path, new: Mapping[str, Any]) -> Iterator[Change]:
    """Yield what differs between the comparisons of each job that both folders have."""
    first, second = _files(old), _files(new)
    for job, name in first.items():
        if job in second:
            bodies = [
                _read(_below(folder, file), _COMPARISON)[1] for folder, file in ((before, name), (after, second[job]))
            ]
            for change in content.compare(_COMPARISON, *bodies).changes:
                yield replace(change, job=job)


def _files(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the file of each job that was compared."""
    return {
        str(Subject.either(checkpoint=job["checkpoint"], group=job["group"])): job["file"]
        for job in summary["jobs"]
        if job["file"] is not None
    }


def _below(folder: Path, name: str) -> Path:
    """Return the path of a file that a summary names, which stands beside it.

    Raises:
        FileError: It names one elsewhere.
    """
    if "/" in name or not stays_below(name):
        raise FileError(
            f"{folder / SUMMARY}: expected files beside it, found {name[:80]!r}. Nothing was compared.",
            fix="Compare again into a new folder: `offsetwise compare --all --out DIR`.",
        )
    return Path(below(str(folder), name))
