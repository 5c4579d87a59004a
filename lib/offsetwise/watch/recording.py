from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from offsetwise import files
from offsetwise.bundled import Bundled, damaged
from offsetwise.lag.archive import Recording
from offsetwise.model import Cutover
from offsetwise.watch.status_history import StatusHistory

_LAG = "lag.jsonl.gz"
CUTOVER = "cutover.jsonl.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLook:
    at_ms: int
    """Milliseconds since the first observation."""
    history: StatusHistory
    logs: Cutover | None
    """The observations of the old logs until then."""


def recorded_lag(which: Bundled = Bundled.SPARK) -> Recording:
    """Return the recorded samples of a sample migration, from two real clusters.

    Raises:
        FileError: The recording is missing, or damaged.
    """
    lines = _lines(which, _LAG, "recorded samples of lag", "There is no lag to show for the sample.")
    return Recording([files.load(line, "lag-sample", subject=_LAG) for line in lines])


def recorded_cutover(which: Bundled) -> tuple[RecordedLook, ...]:
    """Return the recorded observations of a cutover on two real clusters, in their order; empty without a recording.

    Raises:
        FileError: The recording is damaged.
    """
    if not which.file(CUTOVER).is_file():
        return ()
    lines = _lines(which, CUTOVER, "a recorded cutover", "There is no cutover to play for the sample.")
    return tuple(looks_of(lines))


def looks_of(lines: Sequence[str]) -> Iterator[RecordedLook]:
    """Yield the observations in the output of `status --watch --json --logs`.

    Raises:
        FileError: A line is neither an `offsetwise/status` nor an `offsetwise/cutover`.
    """
    history, logs, began_ms = StatusHistory(), None, None
    for line in lines:
        if json.loads(line).get("format") == "offsetwise/cutover":
            logs = files.load(line, "cutover", subject=CUTOVER)
            continue
        history = history.with_look(files.load(line, "status", subject=CUTOVER))
        at_ms = history.moments[-1].at_ms
        began_ms = at_ms if began_ms is None else began_ms
        yield RecordedLook(at_ms=at_ms - began_ms, history=history, logs=logs)


def _lines(which: Bundled, file: str, expected: str, effect: str) -> list[str]:
    try:
        return gzip.decompress(which.file(file).read_bytes()).decode().splitlines()
    except (OSError, EOFError, ValueError) as error:
        raise damaged(
            f"{file} of the sample migration: expected {expected}, but it cannot be read ({type(error).__name__}). "
            f"{effect}"
        ) from error
