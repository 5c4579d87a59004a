from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_SECONDS: Final = 0xF_FFFF_FFFF
_FIRST_ARRIVAL_S: Final = 1_384_300_800
"""When the service began, November 2013."""
_LAST_ARRIVAL_S: Final = 4_102_444_800
"""The end of the year 2099."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberEvidence:
    """The content of a sequence number of layout 2: evidence, never proof of a position.

    The layout of the times is kinesalite's and not documented by AWS; version and shard are the KCL's own
    (`SequenceNumberValidator`).
    """

    shard: int
    """The number in the shard's id."""
    arrived_s: int
    """When the record arrived, in seconds since the epoch."""
    born_s: int
    """When the shard was created, in seconds since the epoch."""


def evidence_of(sequence: int) -> NumberEvidence | None:
    """Parse a sequence number; None for another layout, as before 2014 and of emulators that count.

    >>> evidence_of(49593949378240586316257100628612811999143984124999500050)
    NumberEvidence(shard=17, arrived_s=1554821832, born_s=1552896735)
    >>> evidence_of(49537979178794861780081237450294896636708704732336619521) is None
    True
    """
    if sequence >> 184 != 2 or sequence & 0xF != 2 or sequence >> 72 & 0xFF:
        return None
    born, shard_of_born = sequence >> 148 & _SECONDS, sequence >> 144 & 0xF
    arrived, shard = sequence >> 36 & _SECONDS, sequence >> 4 & 0xFFFF_FFFF
    if shard % 16 != shard_of_born or not _FIRST_ARRIVAL_S <= born <= arrived < _LAST_ARRIVAL_S:
        return None
    return NumberEvidence(shard=shard, arrived_s=arrived, born_s=born)


def moment(at_s: int) -> str:
    """Format a time in seconds since the epoch.

    >>> moment(1554821832)
    '2019-04-09T14:57:12Z'
    """
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
