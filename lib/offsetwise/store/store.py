from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from offsetwise.lag.archive import StoredSample, StoredTotals
from offsetwise.lag.moments import Key
from offsetwise.lag.subject import LagSubject
from offsetwise.model import LagSample
from offsetwise.store import samples
from offsetwise.store.address import address
from offsetwise.store.database import Database
from offsetwise.store.reviews import Reviews

WAIT_S: Final = 5.0
FINE_MS: Final = 24 * 3_600_000
"""How long every sample is kept; older ones are thinned to one in each half hour."""
KEPT_MS: Final = 30 * FINE_MS
_PRUNED_AT_ONCE: Final = 2_000


def open_store(url: str | None = None, *, wait_s: float = WAIT_S) -> Store:
    """Open the store, after creating or migrating its tables if needed.

    Args:
        url: `sqlite:///PATH` or `postgresql+psycopg://USER:${NAME}@HOST/DATABASE`; by default `$OFFSETWISE_STORE`, or
            else a file in the state folder.
        wait_s: How long to wait for another process's lock, and for the server, in seconds.

    Raises:
        ConfigError: The URL cannot be used.
        StoreError: The store cannot be opened, is something else, or was changed by a later release.
    """
    return Store(Database(address(url), wait_s=wait_s))


class Store:
    """Samples of lag and plans under review, kept between runs. Thread-safe.

    Every method may raise a `StoreError`.

    Args:
        database: An open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The name for people: its URL without a password."""
        return self._database.address.shown

    @property
    def reviews(self) -> Reviews:
        return Reviews(self._database)

    def add(self, sample: LagSample) -> int:
        """Write a sample, and return its id. An existing one of the same subject and time is kept."""
        with self._database.writing("Writing a sample") as connection:
            return samples.add(connection, sample)

    def subjects(self) -> tuple[LagSubject, ...]:
        with self._database.reading("Reading its subjects") as connection:
            return samples.subjects(connection)

    def newest_ms(self, subject: LagSubject) -> int | None:
        """Return when the newest sample was taken; None if there is none."""
        with self._database.reading("Reading the newest sample") as connection:
            return samples.newest_ms(connection, subject)

    def newest(self, subject: LagSubject, *, before_ms: int | None = None) -> StoredSample | None:
        """Return the newest sample, or the newest one before a time; None if there is none."""
        with self._database.reading("Reading the newest sample") as connection:
            return samples.newest(connection, subject, before_ms=before_ms)

    def window(self, subject: LagSubject, since_ms: int, *, most: int) -> tuple[StoredTotals, ...]:
        """Return the totals of samples since a time, thinned to at most `most` moments, ascending."""
        with self._database.reading("Reading the samples") as connection:
            return samples.window(connection, subject, since_ms, most)

    def history(
        self, subject: LagSubject, keys: Sequence[Key], since_ms: int, *, most: int
    ) -> tuple[StoredSample, ...]:
        """Return samples since a time with only the named partitions, thinned as in `window`, ascending."""
        with self._database.reading("Reading the samples") as connection:
            return samples.history(connection, subject, keys, since_ms, most)

    def prune(self, now_ms: int, *, fine_ms: int = FINE_MS, kept_ms: int = KEPT_MS) -> int:
        """Remove old samples: those older than `fine_ms` are thinned to one in each half hour, until `kept_ms`."""
        removed = 0
        while True:
            with self._database.writing("Removing old samples") as connection:
                some = samples.prune(
                    connection,
                    fine_before_ms=now_ms - fine_ms,
                    all_before_ms=now_ms - kept_ms,
                    most=_PRUNED_AT_ONCE,
                )
            removed += some
            if some < _PRUNED_AT_ONCE:
                return removed

    def close(self) -> None:
        self._database.close()
