from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from offsetwise.lag.amounts import Furthest, Totals, furthest, in_time, totals
from offsetwise.lag.moments import Key
from offsetwise.lag.series import Tick, thin
from offsetwise.lag.subject import LagSubject
from offsetwise.model import Cluster, LagSample


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSample:
    id: int
    sample: LagSample
    after_gap: bool = False
    """Whether samples are missing between this one and the previous one in the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTotals:
    id: int
    head: LagSample
    """The sample without its partitions."""
    totals: Totals
    furthest: Mapping[Cluster, Furthest | None] = field(default_factory=dict)
    """How far behind each cluster's worst partition is, if lag is a time; else empty."""
    after_gap: bool = False


class Archive(Protocol):
    @property
    def name(self) -> str:
        """The name for people."""

    def newest_ms(self, subject: LagSubject) -> int | None:
        """Return when the newest sample was taken; None if there is none."""

    def newest(self, subject: LagSubject, *, before_ms: int | None = None) -> StoredSample | None:
        """Return the newest sample, or the newest one before a time; None if there is none."""

    def window(self, subject: LagSubject, since_ms: int, *, most: int) -> tuple[StoredTotals, ...]:
        """Return the totals of samples since a time, thinned to at most `most` moments, ascending."""

    def history(
        self, subject: LagSubject, keys: Sequence[Key], since_ms: int, *, most: int
    ) -> tuple[StoredSample, ...]:
        """Return samples since a time with only the named partitions, thinned as in `window`, ascending."""


class Recording:
    """Samples in memory.

    Args:
        samples: Of any subjects, each subject's ascending in time.
    """

    def __init__(self, samples: Sequence[LagSample]) -> None:
        self._samples = tuple(samples)

    @property
    def name(self) -> str:
        return "the recording"

    def newest_ms(self, subject: LagSubject) -> int | None:
        sample = self.newest(subject)
        return None if sample is None else sample.sample.taken_at_ms

    def newest(self, subject: LagSubject, *, before_ms: int | None = None) -> StoredSample | None:
        samples = [sample for sample in self._of(subject) if before_ms is None or sample.sample.taken_at_ms < before_ms]
        return samples[-1] if samples else None

    def window(self, subject: LagSubject, since_ms: int, *, most: int) -> tuple[StoredTotals, ...]:
        return tuple(
            StoredTotals(
                id=sample.id,
                head=replace(sample.sample, partitions=()),
                totals=totals(sample.sample),
                furthest=furthest_of(sample.sample),
                after_gap=sample.after_gap,
            )
            for sample in self._thinned(subject, since_ms, most)
        )

    def history(
        self, subject: LagSubject, keys: Sequence[Key], since_ms: int, *, most: int
    ) -> tuple[StoredSample, ...]:
        requested = set(keys)
        return tuple(
            replace(
                sample,
                sample=replace(
                    sample.sample, partitions=tuple(row for row in sample.sample.partitions if row.key in requested)
                ),
            )
            for sample in self._thinned(subject, since_ms, most)
        )

    def _of(self, subject: LagSubject) -> list[StoredSample]:
        return [
            StoredSample(id=number, sample=sample)
            for number, sample in enumerate(self._samples)
            if LagSubject.of(sample) == subject
        ]

    def _thinned(self, subject: LagSubject, since_ms: int, most: int) -> list[StoredSample]:
        samples = [sample for sample in self._of(subject) if sample.sample.taken_at_ms >= since_ms]
        ticks = [tick(sample.sample) for sample in samples]
        return [replace(samples[sample.index], after_gap=sample.after_gap) for sample in thin(ticks, most)]


def furthest_of(sample: LagSample) -> Mapping[Cluster, Furthest | None]:
    return {side: furthest(sample, side) for side in Cluster} if in_time(sample) else {}


def tick(sample: LagSample) -> Tick:
    return Tick(taken_at_ms=sample.taken_at_ms, interval_ms=sample.interval_ms, missing=bool(sample.missing))
