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
    """Kafka's error code, 0 for none; None where no answer came, so that it may have arrived."""
    message: str
    """The error's name, or why there is no answer: a clause."""
    again: bool = False
    """Whether another moment may answer otherwise: the coordinator was not ready until the deadline."""
    elsewhere: str | None = None
    """The cluster that the connection led to, where it is another one: nothing was sent."""


class SinkPort(Protocol):
    @property
    def cluster_id(self) -> str | None:
        """What the cluster calls itself."""

    def describe(self, ids: Iterable[str]) -> Mapping[str, Answer]:
        """Ask coordinators about transactional ids, with a deadline of its own."""

    def end(self, planned: PlannedTransaction) -> Reply:
        """Send the one request that ends a transaction, until a coordinator that is ready has answered it."""

    def logs(self, transactions: Sequence[PlannedTransaction]) -> Mapping[TransactionPlace, ShownTransaction]:
        """Read what the logs show of transactions."""

    def may_write(self, prefix: str) -> bool | None:
        """Ask by a request that cannot write whether the user may end transactions of a prefix; None without answer."""

    def knows(self, producer_id: int) -> bool:
        """Return whether a coordinator has, or may have, a transaction of this producer open."""

    def wait(self) -> bool:
        """Wait a moment before something is asked again; False once it has been waited for long enough."""


class Connect(Protocol):
    def __call__(self, name: str) -> AbstractContextManager[SinkPort]:
        """Connect.

        Raises:
            ClusterError: The cluster gave no answer.
            ConfigError: The file names no such cluster.
        """
