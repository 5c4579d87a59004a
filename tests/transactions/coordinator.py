"""A sink's cluster in a file: coordinators that answer EndTxn as the recorded rows do, and logs that keep the truth.

It outlives a process, so that applications can be killed over it. `test_settling` holds its answers against the rows,
and the live tests hold the rows against a broker.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from offsetwise.model import PlannedTransaction, Settlement
from offsetwise.plugins.kafka.targets.transactions.port import Reply
from offsetwise.transactions.ended import ShownTransaction, TransactionPlace, places_of
from offsetwise.transactions.observed import Answer, Described, Missing

FENCED, UNKNOWN_ID, WRONG_STATE, DENIED = 90, 49, 48, 53
NAMES = {
    0: "NONE",
    FENCED: "PRODUCER_FENCED",
    UNKNOWN_ID: "INVALID_PRODUCER_ID_MAPPING",
    WRONG_STATE: "INVALID_TXN_STATE",
    DENIED: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
}
CLUSTER_ID = "cluster-of-the-sink"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a coordinator keeps of one id."""

    producer_id: int
    epoch: int
    state: str = "Ongoing"
    visible: bool | None = None
    """What the log shows: the first end that was written; None while it is open."""


def end_txn(held: Held | None, *, producer_id: int, epoch: int, version: int, commit: bool) -> tuple[int, Held | None]:
    """Answer EndTxn: Kafka's error code, and what the coordinator keeps then."""
    if held is None or held.producer_id != producer_id:
        return UNKNOWN_ID, held
    done = "CompleteCommit" if commit else "CompleteAbort"
    over = held.state.startswith("Complete")
    if version == 5 and over and epoch == held.epoch - 1:
        return (0 if held.state == done else WRONG_STATE), held
    if epoch != held.epoch:
        return FENCED, held
    if held.state == "Ongoing":
        return 0, replace(held, state=done, epoch=epoch + (version == 5), visible=commit)
    if version == 5 and not commit:
        return 0, replace(held, state=done, epoch=epoch + 1)  # the trap: what is committed stays visible
    return (0 if held.state == done and version == 4 else WRONG_STATE), held


class FileSink:
    """A port whose cluster stands in a file; it can take its process with it on either side of a request."""

    def __init__(self, path: Path, ids: Mapping[str, Held] | None = None) -> None:
        self._path = path
        self.die = 0
        """Counts both sides of every request to end: 1 is before the first, 2 after it; 0 is never."""
        self.lose: dict[int, str] = {}
        """By number of the request, from 1: `reply` is done and not answered, `request` is not done, `work` is not done
        and answered without an error."""
        self.refuse: dict[str, int] = {}
        """The error code by transactional id."""
        self.denied = False
        self.cluster_id: str | None = CLUSTER_ID
        self.led_to: str | None = None
        """The other cluster that the address leads to, from the next request on."""
        if ids is not None:
            self._store(ids, 0)

    @contextmanager
    def connect(self, name: str) -> Iterator[FileSink]:
        assert name == "old"
        self._waits = 3
        yield self

    def describe(self, ids: Iterable[str]) -> Mapping[str, Answer]:
        held = self.ids
        return {
            each: Missing.ABSENT
            if each not in held
            else Described(
                producer_id=held[each].producer_id,
                epoch=held[each].epoch,
                state=held[each].state,
                timeout_ms=600_000,
                start_ms=1,
            )
            for each in ids
        }

    def end(self, planned: PlannedTransaction) -> Reply:
        if self.led_to is not None:
            return Reply(code=None, message="nothing was sent", elsewhere=self.led_to)
        self._side()
        with open(f"{self._path}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            reply = self._ended(planned)
        self._side()
        return reply

    def _ended(self, planned: PlannedTransaction) -> Reply:
        name, held, count = planned.transactional_id, self.ids, self.count + 1
        assert name is not None
        assert planned.version is not None
        lost = self.lose.get(count)
        code = self.refuse.get(name)
        if code is None and lost == "work":
            code = 0
        elif code is None and lost != "request":
            code, after = end_txn(
                held.get(name),
                producer_id=planned.producer_id,
                epoch=planned.epoch,
                version=planned.version,
                commit=planned.decision is Settlement.COMMIT,
            )
            held = held | {name: after} if after is not None else held
        self._store(held, count)
        if lost in ("reply", "request"):
            return Reply(code=None, message="no answer came")
        return Reply(code=code, message=NAMES.get(code or 0, "error"))

    def logs(self, transactions: Sequence[PlannedTransaction]) -> Mapping[TransactionPlace, ShownTransaction]:
        held, made = self.ids, {}
        for each in transactions:
            of = held.get(each.transactional_id or "")
            for place in places_of(each):
                open_ = of is not None and of.visible is None
                stable = place.start_offset + (0 if open_ else 1)
                visible = None if of is None else bool(of.visible)
                made[place] = ShownTransaction(last_stable_offset=stable, held_open=open_, visible=visible)
        return made

    def may_write(self, prefix: str) -> bool | None:
        return bool(prefix) and not self.denied

    def knows(self, producer_id: int) -> bool:
        return any(each.producer_id == producer_id and each.state == "Ongoing" for each in self.ids.values())

    def wait(self) -> bool:
        self._waits -= 1
        return self._waits > 0

    @property
    def ids(self) -> dict[str, Held]:
        """What coordinators keep now."""
        return {name: Held(**each) for name, each in json.loads(self._path.read_text())["ids"].items()}

    @property
    def count(self) -> int:
        """How many requests to end a transaction arrived."""
        return int(json.loads(self._path.read_text())["count"])

    def change(self, name: str, **facts: object) -> None:
        """Let somebody else change what a coordinator keeps."""
        self._store(self.ids | {name: replace(self.ids[name], **facts)}, self.count)  # type: ignore[arg-type]

    def _side(self) -> None:
        self.die -= 1
        if self.die == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def _store(self, ids: Mapping[str, Held], count: int) -> None:
        made = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        made.write_text(json.dumps({"ids": {name: asdict(each) for name, each in ids.items()}, "count": count}))
        made.rename(self._path)
