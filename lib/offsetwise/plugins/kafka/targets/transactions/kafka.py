"""The requests that end transactions, sent to a real cluster with kafka-python: librdkafka has none of them.

librdkafka only makes the first contact, in a separate process: some answers end the process that it is in.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from kafka import errors
from kafka.protocol.producer.transaction import EndTxnRequest, WriteTxnMarkersRequest

from offsetwise.config import Migration, client_properties
from offsetwise.model import PlannedTransaction, Settlement, TopicPartition
from offsetwise.plugins.kafka.stream.client import Deadline
from offsetwise.plugins.kafka.stream.transaction_ends import Contacted, contact, read_logs
from offsetwise.plugins.kafka.stream.wire import AGAIN, DENIED, Wire
from offsetwise.plugins.kafka.targets.reviewed_cluster import OtherClusterError, UnsentError, send
from offsetwise.plugins.kafka.targets.transactions.port import Connect, Reply, SinkPort
from offsetwise.streams.client_process import in_a_process
from offsetwise.transactions.ended import ShownTransaction, TransactionPlace
from offsetwise.transactions.observed import OPEN, PROBE, Answer

TIMEOUT_S: Final = 20.0
"""For each operation."""
_PAUSE_S: Final = 0.05
_UNREACHED: Final = 15
"""COORDINATOR_NOT_AVAILABLE: nothing was sent."""

_contact = in_a_process(contact)


class KafkaSink:
    def __init__(self, contacted: Contacted, wire: Wire) -> None:
        self._contacted = contacted
        self._wire = wire
        self._nodes: dict[str, int] = {}
        self._patience: Deadline | None = None

    @property
    def cluster_id(self) -> str | None:
        return self._contacted.cluster_id

    def describe(self, ids: Iterable[str]) -> Mapping[str, Answer]:
        self._begin_anew()
        return self._wire.describe(ids)

    def end(self, planned: PlannedTransaction) -> Reply:
        self._begin_anew()
        if planned.transactional_id is None:
            return self._write_markers(planned)
        request = EndTxnRequest(
            transactional_id=planned.transactional_id,
            producer_id=planned.producer_id,
            producer_epoch=planned.epoch,
            committed=planned.decision is Settlement.COMMIT,
            min_version=planned.version,
            max_version=planned.version,
        )
        while True:
            reply = self._sent(planned.transactional_id, request)
            if not reply.again or not self._wire.may_go_on():
                return reply

    def logs(self, transactions: Sequence[PlannedTransaction]) -> Mapping[TransactionPlace, ShownTransaction]:
        self._begin_anew()
        return read_logs(self._wire, self._contacted.leaders, transactions)

    def may_write(self, prefix: str) -> bool | None:
        """Ask with an unused id, whose transaction cannot be ended; see `SinkPort`."""
        self._begin_anew()
        name = f"{prefix}{PROBE}"
        request = EndTxnRequest(transactional_id=name, producer_id=0, producer_epoch=0, committed=False, max_version=4)
        while True:
            reply = self._sent(name, request)
            if not reply.again or not self._wire.may_go_on():
                return None if reply.code is None or reply.again else reply.code not in DENIED

    def knows(self, producer_id: int) -> bool:
        self._begin_anew()
        listed, whole = self._wire.list_transactions()
        return not whole or any(
            transaction.producer_id == producer_id and transaction.state in OPEN for transaction in listed.values()
        )

    def wait(self) -> bool:
        self._patience = self._patience or Deadline(TIMEOUT_S)
        if self._patience.passed:
            return False
        time.sleep(_PAUSE_S)
        return True

    def _begin_anew(self) -> None:
        self._wire.deadline = Deadline(TIMEOUT_S)

    def _sent(self, transactional_id: str, request: EndTxnRequest) -> Reply:
        node = self._nodes.get(transactional_id)
        if node is None:
            node = self._wire.coordinator(transactional_id)
        if node is None:
            return Reply(code=_UNREACHED, message="its coordinator was not found", again=True)
        response = self._changed(node, request)
        reply = response if isinstance(response, Reply) else _reply(response.error_code)
        if reply.code == 0:
            self._nodes[transactional_id] = node
        else:
            self._nodes.pop(transactional_id, None)
        return reply

    def _changed(self, node: int, request: Any) -> Any | Reply:
        try:
            answers = send(self._wire, node, (request,), self.cluster_id)
        except UnsentError:
            return Reply(code=_UNREACHED, message="the broker cannot be reached", again=True)
        except OtherClusterError as error:
            return Reply(code=_UNREACHED, message="nothing was sent", elsewhere=f"cluster {error.cluster_id}")
        led_away = answers.after is not None and answers.after != self.cluster_id
        return _reply(None) if led_away or answers.responses[0] is None else answers.responses[0]

    def _write_markers(self, planned: PlannedTransaction) -> Reply:
        (at,) = planned.partitions
        leader = self._contacted.leaders.get(TopicPartition(at.topic, at.partition))
        if leader is None:
            return Reply(code=_UNREACHED, message="its partition has no leader", again=True)
        marker = WriteTxnMarkersRequest.WritableTxnMarker
        request = WriteTxnMarkersRequest(
            markers=[
                marker(
                    producer_id=planned.producer_id,
                    producer_epoch=planned.epoch,
                    transaction_result=False,
                    topics=[marker.WritableTxnMarkerTopic(name=at.topic, partition_indexes=[at.partition])],
                    coordinator_epoch=planned.coordinator_epoch,
                )
            ]
        )
        response = self._changed(leader, request)
        if isinstance(response, Reply):
            return response
        codes = {
            partition.error_code
            for marker in response.markers
            for topic in marker.topics
            for partition in topic.partitions
        }
        return _reply(max(codes, key=abs))


def connecting(migration: Migration) -> Connect:
    @contextmanager
    def connect(name: str) -> Iterator[SinkPort]:
        config = migration.named(name)
        contacted = _contact(config, timeout_s=TIMEOUT_S)
        with Wire(config, client_properties(config), Deadline(TIMEOUT_S)) as wire:
            yield KafkaSink(contacted, wire)

    return connect


def _reply(code: int | None) -> Reply:
    if code is None:
        return Reply(code=None, message="no answer came")
    return Reply(code=code, message=errors.for_code(code).__name__, again=code in AGAIN)
