"""MirrorMaker 2's own offset translation, reproduced to show its answer.

Defined by Apache Kafka `connect/mirror`, `OffsetSyncStore`. Per partition MirrorMaker keeps 64 slots. Slot 0 holds the
newest sync; the later the slot, the older its sync may be. For neighbouring slots i and j = i + 1 with different syncs:

* B, recent enough: `slot[i].upstream <= slot[j].upstream + 2**j - 2**i`
* C, far enough apart: `slot[i].upstream >= slot[j].upstream + 2**(i - 2)` (at least 1)

so the syncs kept thin out with their distance from the newest one, and a job far behind gets a coarse answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from offsetwise.model import OffsetSync

SLOTS: Final = 64


class NoAnswer(StrEnum):
    NO_SYNC = "no-sync"
    """It has no sync for the partition, or has not yet read the syncs topic to its end."""
    BEFORE_FIRST_SYNC = "before-first-sync"
    """Every sync that it kept lies after the position. (-1 in MirrorMaker.)"""


class Mm2Store:
    """The syncs that MirrorMaker keeps for one partition.

    Args:
        must_read_to_end: MirrorMaker's `initializationMustReadToEnd`: while loading, keep the last sync only. True
            after a restart that found no checkpoints of its own.
    """

    def __init__(self, *, must_read_to_end: bool = False) -> None:
        self._must_read_to_end = must_read_to_end
        self._loaded = False
        self._slots: list[OffsetSync] = []

    def load(self, syncs: Iterable[OffsetSync]) -> None:
        """Add the syncs that the topic holds when MirrorMaker starts, in log order."""
        for sync in syncs:
            self.add(sync)
        self._loaded = True

    def add(self, sync: OffsetSync) -> None:
        only_last = self._must_read_to_end and not self._loaded
        if not self._slots or only_last or sync.upstream < self._slots[0].upstream:
            self._slots = [sync] * SLOTS
        else:
            self._slots = _with(self._slots, sync)

    def translate(self, upstream: int) -> int | NoAnswer:
        """Return the downstream offset that MirrorMaker would commit for a group at `upstream`."""
        if not self._loaded or not self._slots:
            return NoAnswer.NO_SYNC
        for sync in self._slots:
            if sync.upstream <= upstream:
                # MirrorMaker adds one to the sync's offset and no more, whatever the distance: later records may have
                # been filtered or compacted away, so counting them could step over an unread one.
                return sync.downstream + (1 if upstream > sync.upstream else 0)
        return NoAnswer.BEFORE_FIRST_SYNC


def _with(old: list[OffsetSync], newest: OffsetSync) -> list[OffsetSync]:
    slots = [newest, *old[1:]]
    candidate, source = newest, 0
    for slot in range(1, SLOTS):
        above = slots[slot - 1]
        while True:
            sync = old[source]
            apart = _apart(above, sync, slot - 1)
            room_below = slot + 1 == SLOTS or _apart(sync, slots[slot + 1], slot)
            usable = apart and room_below and _recent(above, sync, slot - 1)
            if usable:
                candidate = sync
            repeated = source + 1 < SLOTS and sync is old[source + 1]
            pass_over = repeated or not apart
            if usable or pass_over:
                source += 1
            if not pass_over or source >= slot:
                break
        if _recent(above, slots[slot], slot - 1):
            break  # this slot is recent enough, so every later one is too
        slots[slot] = candidate
    return slots


def _recent(above: OffsetSync, below: OffsetSync, slot: int) -> bool:
    return above is below or above.upstream <= below.upstream + (1 << slot)


def _apart(above: OffsetSync, below: OffsetSync, slot: int) -> bool:
    return above is below or above.upstream >= below.upstream + (1 << max(slot - 2, 0))
