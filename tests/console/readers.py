"""A reader of the console's protocol that answers from values, and counts what it was asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from offsetwise.console.desk import Offered, Progress, Subject, SubjectKind
from offsetwise.model import Checkpoint, Comparison
from tests.console import builders

ORDERS = Subject(kind=SubjectKind.CHECKPOINT, name="orders")
ETL = Subject(kind=SubjectKind.GROUP, name="orders-etl")


class ValueReader:
    """Offers a recorded sample and, when `live` is given, one live migration that answers or fails with it."""

    def __init__(
        self,
        recorded: Mapping[str, Comparison] | None = None,
        *,
        live: Comparison | Exception | None = None,
        gate: threading.Event | None = None,
    ) -> None:
        self._recorded = {"orders": builders.comparison()} if recorded is None else dict(recorded)
        self._live = live
        self._gate = gate
        self.calls: Counter[str] = Counter()

    def answer_with(self, live: Comparison | Exception) -> None:
        self._live = live

    def offered(self) -> tuple[Offered, ...]:
        self.calls["offered"] += 1
        names = tuple(Subject(kind=SubjectKind.CHECKPOINT, name=name) for name in self._recorded)
        sample = Offered(name="sample", old="prod-a", new="prod-b", subjects=names, recorded=True)
        live = Offered(name="orders-to-new", old="old", new="new", subjects=(ORDERS, ETL), recorded=False)
        return (sample,) if self._live is None else (sample, live)

    def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:
        if migration == "sample":
            self.calls["recorded"] += 1
            return self._recorded[subject.name]
        self.calls["compare"] += 1
        progress("checkpoint", 1, 1)
        progress("old cluster", 0, 40)
        if self._gate is not None:
            assert self._gate.wait(timeout=60)
        progress("old cluster", 40, 40)
        if isinstance(self._live, Exception):
            raise self._live
        assert self._live is not None
        return self._live

    def checkpoint(self, migration: str, name: str) -> Checkpoint:  # noqa: ARG002 - the protocol's
        self.calls["checkpoint"] += 1
        made = builders.comparison().checkpoint
        assert made is not None
        return made
