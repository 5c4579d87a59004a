"""Savepoints that hold the transactions of a real broker: recorded ones, with other producers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.transactions.recorded import DATA

_COMMITTABLE = rb"(?s)(\0\0\0\x01\0\0\0.)(..)(.{8})(\0.%b)"


def savepoint(name: str, folder: Path, producers: Mapping[str, tuple[int, int]]) -> Path:
    """Write a recorded savepoint whose committables name these producer ids and epochs, by transactional id."""
    data = (DATA / name / "_metadata").read_bytes()
    for transactional_id, (producer_id, epoch) in producers.items():
        pattern = _COMMITTABLE % re.escape(transactional_id.encode())
        pair = epoch.to_bytes(2) + producer_id.to_bytes(8)
        data, count = re.subn(pattern, lambda found, pair=pair: found[1] + pair + found[4], data)  # type: ignore[misc]
        assert count == 1
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(data)
    return folder
