"""One admin client of one cluster: creation, first contact, and diagnosis of failures.

librdkafka retries in the background and reports errors through a callback; the first contact uses them, so that a wrong
password is reported within a second instead of after a time-out.
"""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from offsetwise.client_properties import AddressedCluster, client_properties, masked
from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError, ConfigError
from offsetwise.model import MAX_PARTITIONS
from offsetwise.streams.client_process import wrong_answer

LOGGER: Final = logging.getLogger("offsetwise.kafka")
LOGGER.addHandler(logging.NullHandler())

_POLL_S: Final = 0.05
_FIRST_WAIT_S: Final = 0.25
_GRACE_S: Final = 1.0
_BEYOND_S: Final = 30.0
_HANG_UPS: Final = 3
_ALL_DOWN_GRACE_S: Final = 3.0
"""How long refusing brokers are retried: a name may have several addresses, of which one is right."""
_AUTHENTICATION: Final = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED)
_AUTHORISATION: Final = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)


@dataclass(slots=True)
class RequestCounter:
    """Counts the requests that the client sent, by librdkafka's own statistics.

    Pass one to `read_whole`; afterwards `by_type` has the counts by Kafka's request names. It costs a little time.
    """

    by_type: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.by_type.values())

    def take(self, statistics: str) -> None:
        """Replace the counts with those of a statistics message, which are cumulative."""
        results: dict[str, int] = {}
        for broker in json.loads(statistics)["brokers"].values():
            for name, count in broker["req"].items():
                if count:
                    results[name] = results.get(name, 0) + count
        self.by_type = results


class Deadline:
    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._end = time.monotonic() + timeout_s

    def left_s(self) -> float:
        """Remaining seconds, at least 0.1, the minimum that clients accept as a time-out."""
        return max(self._end - time.monotonic(), 0.1)

    def grace_s(self) -> float:
        """Seconds until a second after the end, at least 0: for requests that librdkafka itself times out."""
        return max(self._end + _GRACE_S - time.monotonic(), 0.0)

    def beyond_s(self) -> float:
        """Return a time-out for librdkafka that is later than anybody waits.

        For requests to a group's coordinator. An answer that arrives just as such a request times out in librdkafka
        aborts the whole process (its assertion `eonce->refcnt > 0`, librdkafka issue 4605; seen with 2.16.0 in every
        second run of ten such requests), so the caller stops waiting first, and closing the client ends the request.
        """
        return self.left_s() + _BEYOND_S

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._end


class _ClientLog(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=100)
        self.logger = logging.Logger(LOGGER.name, logging.DEBUG)
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        line = masked(record.getMessage())
        self.lines.append(line)
        if LOGGER.isEnabledFor(record.levelno):
            record.msg, record.args = line, ()
            LOGGER.handle(record)


class Admin(AdminClient):
    """confluent-kafka's admin client, with a cheaper way to list offsets.

    `AdminClient.list_offsets` creates a future per partition, which takes most of the time of a large answer. The
    method that it calls internally takes the partitions and one future for all, which is set from librdkafka's thread.
    Tests compare the results of both.
    """

    def list_offsets_together(
        self, partitions: list[TopicPartition], *, committed: bool, timeout_s: float
    ) -> Future[dict[TopicPartition, Any]]:
        """List the offsets of partitions.

        Args:
            partitions: Each once; `offset` is a timestamp, or Kafka's number for an end.
            committed: Whether the latest offset is the last stable one.
            timeout_s: Time-out of librdkafka.

        Returns:
            A future with a `ListOffsetsResultInfo` or a `KafkaError` by partition; `OFFSET_INVALID` if a leader is
                silent while others answer. It fails with `KafkaException` if the whole request does.
        """
        future: Future[dict[TopicPartition, Any]] = Future()
        future.set_running_or_notify_cancel()
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        super(AdminClient, self).list_offsets(
            partitions, future, isolation_level_value=isolation.value, request_timeout=timeout_s
        )
        return future


class Client:
    """An admin client of one cluster, with the errors that librdkafka reported about its connections.

    Raises:
        ConfigError: librdkafka cannot use its properties, or a file that they name.
        SecretError: A reference to a secret cannot be resolved.
    """

    def __init__(self, config: AddressedCluster, *, timeout_s: float, counter: RequestCounter | None = None) -> None:
        self.config = config
        self.properties = client_properties(config)
        self.deadline = Deadline(timeout_s)
        self.errors: list[KafkaError] = []
        self.coordinators = 0
        """Partitions of `__consumer_offsets` at the first contact; 0 if unknown, or if groups are placed otherwise."""
        self._counter = counter
        self._statistics = 0
        self.log = _ClientLog()
        try:
            self.admin = Admin(self._configuration(), logger=self.log.logger)
        except KafkaException as error:
            raise ConfigError(
                f"Cluster {config.name!r}: expected properties that librdkafka can use, but: "
                f"{masked(error.args[0].str())}. Nothing was contacted.",
                fix="Correct the property in the migration file, or the file that it names.",
            ) from None  # librdkafka's text may repeat a secret

    def begin_anew(self, timeout_s: float) -> None:
        self.deadline = Deadline(timeout_s)
        self.errors.clear()
        self.log.lines.clear()

    def contact(self) -> Any:
        """Reach the cluster and return librdkafka's metadata of all its topics.

        Any broker may answer; the controller need not.

        Raises:
            ClusterUnreachableError: No broker answered in time.
            ClusterAuthError: A broker refused, or uses another security protocol.
            ClusterError: Its partitions are impossible.
        """
        down_since: float | None = None
        wait_s = _FIRST_WAIT_S
        while not self.deadline.passed:
            try:
                # All topics at once: a request for one by name could create it, if brokers create topics.
                contacted = self.admin.list_topics(timeout=min(wait_s, self.deadline.left_s()))
            except KafkaException as error:
                failed = error.args[0]
            else:
                _require_partitions(self.config, contacted.topics)
                self.coordinators = _coordinators(contacted)
                return contacted
            self.admin.poll(_POLL_S)
            if is_authorisation(failed):
                self.errors.append(failed)
            if any(_is_refusal(error) for error in self.errors) or self._hung_up():
                break
            if any(error.code() == KafkaError._ALL_BROKERS_DOWN for error in self.errors):
                down_since = down_since or time.monotonic()
                if time.monotonic() - down_since > _ALL_DOWN_GRACE_S:
                    break
            wait_s *= 2  # a large cluster on a slow line needs longer, a refusal should be reported soon
        raise self.failure()

    def failure(self) -> ClusterError:
        if self._hung_up() and not any(_is_refusal(error) for error in self.errors):
            return _hung_up_on(self.config, self.log.lines[-1])
        return diagnose(self.config, self.errors, self.deadline.timeout_s)

    def count_requests(self) -> None:
        """Wait for statistics that include everything sent so far, if requests are counted."""
        if self._counter is None:
            return
        # Queued statistics are older, and are consumed first.
        while self.admin.poll(0):
            pass
        previous = self._statistics
        end = time.monotonic() + 10
        while self._statistics < previous + 2 and time.monotonic() < end:
            self.admin.poll(_POLL_S)

    def _hung_up(self) -> bool:
        # A broker contacted with the wrong protocol closes the connection silently, again and again. librdkafka reports
        # that in its log only.
        return sum("connection closed by peer" in line for line in self.log.lines) >= _HANG_UPS

    def _configuration(self) -> dict[str, Any]:
        results: dict[str, Any] = {"client.id": "offsetwise", **self.properties, "error_cb": self.errors.append}
        if self._counter is not None:
            results |= {"statistics.interval.ms": 100, "stats_cb": self._take}
        return results

    def _take(self, statistics: str) -> None:
        assert self._counter is not None  # noqa: S101 - set together with the callback
        self._statistics += 1
        self._counter.take(statistics)


def _require_partitions(config: AddressedCluster, topics: Mapping[str, Any]) -> None:
    """Refuse partition numbers that librdkafka would use unchecked as indexes into the list of partitions."""
    for name, topic in topics.items():
        count = len(topic.partitions)
        wrong = sorted(partition for partition in topic.partitions if not 0 <= partition < min(count, MAX_PARTITIONS))
        if wrong:
            expected = f"partitions numbered from 0 on, and at most {MAX_PARTITIONS:,} of a topic"
            raise wrong_answer(config, expected, f"number {wrong[-1]:,} in topic {name[:249]!r}, which lists {count:,}")


def _coordinators(contacted: Any) -> int:
    offsets = contacted.topics.get("__consumer_offsets")
    # Redpanda has the topic too, but another hash.
    return 0 if offsets is None or str(contacted.cluster_id).startswith("redpanda") else len(offsets.partitions)


def is_authorisation(error: KafkaError) -> bool:
    return error.code() in _AUTHORISATION


@dataclass(frozen=True, slots=True)
class Failure:
    why: str
    """One clause."""
    denied: bool = False
    """Whether ACLs refused it."""
    missing: bool = False
    """Whether the topic or partition does not exist, or the user may not see it."""


def reason(error: Exception) -> str:
    return failure(error).why


def failure(error: Exception) -> Failure:
    if isinstance(error, TimeoutError):
        return Failure("the broker did not answer in time")
    if not isinstance(error, KafkaException):
        return Failure(str(error))
    code = error.args[0]
    if is_authorisation(code):
        return Failure(f"the user is not authorised ({code.name()})", denied=True)
    if code.code() in _NOT_THERE:
        return NOT_THERE
    words = {
        KafkaError._TIMED_OUT: "the broker did not answer in time",
        KafkaError._TIMED_OUT_QUEUE: "the broker did not answer in time",
        KafkaError.REQUEST_TIMED_OUT: "the broker did not answer in time",
        KafkaError._TRANSPORT: "the connection to the broker failed",
        KafkaError.LEADER_NOT_AVAILABLE: "it has no leader at the moment",
        KafkaError.NOT_LEADER_FOR_PARTITION: "its leader is changing",
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS: "its coordinator is still loading",
        KafkaError.COORDINATOR_NOT_AVAILABLE: "it has no coordinator yet",
        KafkaError.NOT_COORDINATOR: "its coordinator is changing",
    }
    return Failure(words.get(code.code(), masked(str(code.str()))))


NO_LEADER: Final = Failure("it has no leader at the moment")
NOT_THERE: Final = Failure("it does not exist", missing=True)
_NOT_THERE: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)


def diagnose(config: AddressedCluster, errors: list[KafkaError], timeout_s: float) -> ClusterError:
    subject = f"Cluster {config.name!r} at {config.properties.get('bootstrap.servers')}"
    protocol = config.properties.get("security.protocol", "plaintext").lower()
    refusals = [error for error in errors if _is_refusal(error)]
    if not refusals:
        sentences = [_said(error) for error in errors if error.code() != KafkaError._ALL_BROKERS_DOWN]
        result = sentences[-1] if sentences else f"no answer within {timeout_s:g} s"
        return ClusterUnreachableError(
            f"{subject}: expected a Kafka broker, found none: {result}. Nothing was read from it.",
            fix="Check that the broker runs, the address in bootstrap.servers, and that no firewall is between.",
        )
    error, said = refusals[0], _said(refusals[0])
    if is_authorisation(error):
        return ClusterAuthError(
            f"{subject}: the broker does not authorise this user: {said}. Nothing was read from it.",
            fix="Grant DESCRIBE and DESCRIBE_CONFIGS on the topics, READ on MirrorMaker's own, DESCRIBE on the groups.",
        )
    if error.code() in _AUTHENTICATION:
        return ClusterAuthError(
            f"{subject}: the broker refused to authenticate this user: {said}. Nothing was read from it.",
            fix="Check sasl.mechanism, sasl.username and the secret that sasl.password refers to.",
        )
    if "verif" in said and "certificate" in said:
        return ClusterAuthError(
            f"{subject}: the broker's certificate is not trusted: {said}. Nothing was read from it.",
            fix="Give the CA certificate that signed it in ssl.ca.location, and use a host name it was issued for.",
        )
    if protocol in ("ssl", "sasl_ssl"):
        return ClusterAuthError(
            f"{subject}: expected TLS (security.protocol is {protocol}), but the handshake failed: {said}. "
            "Nothing was read from it.",
            fix="If this is a plain listener, set security.protocol to plaintext or sasl_plaintext or use the TLS "
            "listener's port; if it asks for a client certificate, set ssl.certificate.location and ssl.key.location.",
        )
    return _hung_up_on(config, said)


def _hung_up_on(config: AddressedCluster, said: str) -> ClusterAuthError:
    protocol = config.properties.get("security.protocol", "plaintext").lower()
    detail = said.split(": ", maxsplit=2)[-1]
    return ClusterAuthError(
        f"Cluster {config.name!r} at {config.properties.get('bootstrap.servers')}: the broker closes connections of "
        f"{protocol}, it probably expects TLS or SASL: {detail}. Nothing was read from it.",
        fix="Set security.protocol (ssl, sasl_ssl, sasl_plaintext) and what belongs to it, or use the port of a "
        f"{protocol} listener.",
    )


def _is_refusal(error: KafkaError) -> bool:
    if error.code() in (KafkaError._SSL, *_AUTHENTICATION) or is_authorisation(error):
        return True
    hung_up = ("security.protocol" in error.str(), "SSL handshake failed" in error.str())
    return error.code() == KafkaError._TRANSPORT and any(hung_up)


def _said(error: KafkaError) -> str:
    text = masked(error.str())
    text = text.split(": ", maxsplit=1)[-1] if text.count("://") else text
    return text.rstrip(". ")[:300]
