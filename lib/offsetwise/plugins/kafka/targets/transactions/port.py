from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from offsetwise.model import PlannedTransaction
from offsetwise.transactions.ended import ShownTransaction, TransactionPlace
from offsetwise.transactions.observed import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    code: int | None
    """Kafka's error code, 0 for none; None if there was no answer, so that it may have arrived."""
    message: str
    """The error's name, or why there is no answer: a clause."""
    again: bool = False
    """Whether a retry may succeed: the coordinator was not ready until the deadline."""
    elsewhere: str | None = None
    """The id of the cluster that the connection led to, if it is another one: nothing was sent."""


class SinkPort(Protocol):
    @property
    def cluster_id(self) -> str | None:
        """The cluster's id."""

    def describe(self, ids: Iterable[str]) -> Mapping[str, Answer]:
        """Ask coordinators about transactional ids, with a deadline of its own."""

    def end(self, planned: PlannedTransaction) -> Reply:
        """Send the request that ends a transaction, until a coordinator that is ready has answered it."""

    def logs(self, transactions: Sequence[PlannedTransaction]) -> Mapping[TransactionPlace, ShownTransaction]:
        """Read the state of transactions in the logs."""

    def may_write(self, prefix: str) -> bool | None:
        """Ask by a request without effect whether the user may end transactions of a prefix; None if unanswered."""

    def knows(self, producer_id: int) -> bool:
        """Return whether a coordinator has, or may have, a transaction of this producer open."""

    def wait(self) -> bool:
        """Wait a moment before a retry; return False after the maximum waiting time."""


class Connect(Protocol):
    def __call__(self, name: str) -> AbstractContextManager[SinkPort]:
        """Connect.

        Raises:
            ClusterError: The cluster did not answer.
            ConfigError: The file names no such cluster.
        """
