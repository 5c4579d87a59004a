"""Reads a positions file, and refuses the whole file if any line or value cannot be used.

This module needs the standard library and fsspec only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

from offsetwise.errors import CheckpointError, NotACheckpointError
from offsetwise.garbage import collected_seldom
from offsetwise.model import Checkpoint, CheckpointSource, SourcePosition
from offsetwise.plugins.positions.engine.details import PositionsDetails
from offsetwise.plugins.positions.engine.shape import Row, Shape
from offsetwise.plugins.positions.engine.shapes import ANY, SHAPES, fitting, named
from offsetwise.storage.dynamodb_files import plain
from offsetwise.storage.folders import MAX_FILE_BYTES
from offsetwise.storage.single_file import read_file, without_part
from offsetwise.wording import many

_NOTHING: Final = "No position was used."


@collected_seldom()
def read_positions(uri: str, engine: str, *, roots: Sequence[str] | None = None) -> Checkpoint:
    """Read a positions file.

    Args:
        uri: `FILE`, `FILE#positions`, `FILE#SHAPE` or `FILE#SHAPE:WORD`.
        engine: Name of the engine in files.
        roots: The folders and files that may be read; None if a person named the path.

    Raises:
        StorageError: It cannot be read.
        NotACheckpointError: It matches no shape, or several and none is named; or the named shape is unknown.
        CheckpointError: A position in it cannot be used, or it has none.
    """
    file, part = without_part(uri)
    data = read_file(file, roots=roots)
    name, word = named(part)
    try:
        text = plain(data, MAX_FILE_BYTES)
    except ValueError as error:
        raise CheckpointError(
            f"{uri}: expected text of up to {MAX_FILE_BYTES:,} bytes, found that {error}. {_NOTHING}",
            fix="Save it as UTF-8, as it is or in gzip.",
        ) from error
    shape = _shape(uri, file, name, text)
    try:
        sources = _sources(shape, shape.rows(text, word))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{uri}: {_unusable(shape, error)}. {_NOTHING}", fix=shape.take) from error
    return Checkpoint(
        uri=uri,
        engine=engine,
        job_id=_group(sources),
        restart=_restart(shape, sources),
        sources=sources,
        pins=((file.rpartition("/")[2], hashlib.sha256(data).hexdigest()),),
        details=PositionsDetails(),
    )


def _unusable(shape: Shape, error: Exception) -> str:
    why = str(error)
    if isinstance(error, UnicodeDecodeError):
        why = f"expected UTF-8, found other bytes at position {error.start}"
    return f"expected {shape.title} ({shape.name}), of which every position can be used: {why}"


def _shape(uri: str, file: str, name: str, data: bytes) -> Shape:
    if name in SHAPES:
        return SHAPES[name]
    known = ", ".join(SHAPES)
    if name:
        raise NotACheckpointError(
            f"{uri}: expected one of the shapes {known}, found {name[:80]!r}. {_NOTHING}",
            fix=f"Name one of them, such as {file}#{next(iter(SHAPES))}, or none to have it recognised.",
        )
    matches = fitting(data)
    if len(matches) > 1:
        names = [shape.name for shape in matches]
        raise NotACheckpointError(
            f"{uri}: expected a file of one shape, found one that {' and '.join(names)} fit. {_NOTHING}",
            fix=f"Name the one that it is: {file}#{names[0]}, or --shape {names[0]} with compare.",
        )
    if not matches:
        result = "an empty file" if not data.strip() else "a file that looks like none of them"
        raise NotACheckpointError(
            f"{uri}: expected one of the shapes {known}, found {result}. {_NOTHING}",
            fix="Write the positions in one of the shapes; docs/positions.md shows each.",
        )
    return matches[0]


def _sources(shape: Shape, rows: Iterable[Row]) -> tuple[CheckpointSource, ...]:
    """Return a source for each group of the file.

    Raises:
        ValueError: A partition is duplicated, or there is no position.
    """
    positions: dict[str, list[SourcePosition]] = {}
    visited: dict[tuple[str, str], set[int]] = {}
    of_group, known, last = list[SourcePosition](), set[int](), ("", "")
    for group, topic, partition, offset in rows:
        if (group, topic) != last:
            last = group, topic
            of_group, known = positions.setdefault(group, []), visited.setdefault(last, set())
        if partition in known:
            before = next(at.offset for at in of_group if (at.topic, at.partition) == (topic, partition))
            raise ValueError(f"expected each partition once, found {topic}-{partition} at {before} and at {offset}")
        known.add(partition)
        of_group.append(SourcePosition(topic=topic, partition=partition, offset=offset))
    if not positions:
        raise ValueError("expected at least one position, found none")
    return tuple(
        CheckpointSource(index=index, id=source_id(shape, group), kind="kafka", positions=tuple(at))
        for index, (group, at) in enumerate(positions.items())
    )


def source_id(shape: Shape, group: str) -> str:
    return f"{shape.name}:{group}" if group else shape.name


def _group(sources: Sequence[CheckpointSource]) -> str | None:
    groups = {named(source.id)[1] for source in sources}
    return next(iter(groups)) or None if len(groups) == 1 else None


def _restart(shape: Shape, sources: Sequence[CheckpointSource]) -> str:
    count = sum(len(source.positions) for source in sources)
    topics = {at.topic for source in sources for at in source.positions}
    return (
        f"The file has {many(count, 'position')} in {many(len(topics), 'topic')}, in the shape {shape.name}: each is "
        "the next record to read."
    )


def is_positions_file(part: str, data: bytes) -> bool:
    if part:
        return part == ANY or part.startswith(f"{ANY}:") or named(part)[0] in SHAPES
    try:
        return bool(fitting(plain(data, MAX_FILE_BYTES)))
    except ValueError:
        return False
