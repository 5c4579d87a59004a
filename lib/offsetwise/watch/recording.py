"""The lag recorded with a bundled sample migration."""

from __future__ import annotations

import gzip

from offsetwise import files
from offsetwise.bundled import Bundled, damaged
from offsetwise.lag.archive import Recording

_FILE = "lag.jsonl.gz"


def recorded_lag(which: Bundled = Bundled.SPARK) -> Recording:
    """Return the samples that were taken of a sample migration, on two real clusters.

    Raises:
        FileError: The recording is not there, or damaged.
    """
    try:
        lines = gzip.decompress(which.file(_FILE).read_bytes()).decode().splitlines()
    except (OSError, EOFError, ValueError) as error:
        raise damaged(
            f"{_FILE} of the sample migration: expected recorded samples of lag, but it cannot be read "
            f"({type(error).__name__}). There is no lag to show for the sample."
        ) from error
    return Recording([files.load(line, "lag-sample", subject=_FILE) for line in lines])
