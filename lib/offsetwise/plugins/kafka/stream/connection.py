"""Finds out step by step why a cluster cannot be read: from the names of its brokers to the groups.

Each step checks one thing and has its own error and remedy. The first failure ends the test; later steps are reported
as skipped, with the reason. The first steps use plain sockets, because librdkafka distinguishes names, addresses and
handshakes only in its log; authentication and all later steps use librdkafka, as a snapshot does.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from offsetwise.client_properties import AddressedCluster, ClientProperties, client_properties
from offsetwise.errors import ClusterAuthError, ClusterError
from offsetwise.plugins.kafka.stream.client import Client, Deadline, is_authorisation, reason
from offsetwise.plugins.kafka.stream.groups import read_groups
from offsetwise.plugins.kafka.stream.logs import EARLIEST, LATEST, list_offsets, take_logs
from offsetwise.plugins.kafka.stream.sockets import BrokerAddress, connect, handshake, resolve
from offsetwise.progress import Progress, no_progress
from offsetwise.streams.access import Step, StepName, StepResult
from offsetwise.wording import many, number

TIME_LIMIT_S: Final = 30.0
"""For all steps together: longer than a slow broker takes, shorter than a person waits."""

_STEP_LIMIT_S: Final = 10.0
"""For names, connections and handshakes, so that a silent broker leaves time to find other problems."""


@dataclass(frozen=True, slots=True)
class _StepAnswer:
    said: str
    fix: str = ""


class _FailedError(Exception):
    def __init__(self, said: str, fix: str) -> None:
        super().__init__(said)
        self.answer = _StepAnswer(said, fix)


class _SkippedError(Exception):
    """A step does not apply here."""


def try_connection(
    config: AddressedCluster,
    *,
    topic: str | None = None,
    groups: tuple[str, ...] = (),
    timeout_s: float = TIME_LIMIT_S,
    progress: Progress = no_progress,
) -> tuple[Step, ...]:
    """Try to reach a cluster, step by step, and return the result of each step.

    Args:
        config: How to reach it.
        topic: The topic whose offsets are read; by default the first one.
        groups: Groups whose offsets are read.
        timeout_s: For all steps together.
        progress: Called as each step begins and ends.

    Returns:
        Every step, in the order of `StepName`.

    Raises:
        ConfigError: Properties cannot be used, or a secret is missing.
    """
    trial = _Trial(config, topic, groups, timeout_s)
    steps: list[Step] = []
    because = ""
    for name in StepName:
        if because:
            steps.append(Step(name=name, state=StepResult.SKIPPED, said=because))
            continue
        progress(name, 0, 1)
        step = _timed(name, trial)
        progress(name, 1, 1)
        steps.append(step)
        if step.state is StepResult.FAILED:
            because = f"Not tried, because the step “{name}” failed."
    return tuple(steps)


def _timed(name: StepName, trial: _Trial) -> Step:
    began = time.monotonic()
    state = StepResult.OK
    try:
        answer = trial.step(name)
    except _SkippedError as skipped:
        return Step(name=name, state=StepResult.SKIPPED, said=str(skipped))
    except _FailedError as failed:
        state, answer = StepResult.FAILED, failed.answer
    return Step(
        name=name, state=state, said=answer.said, fix=answer.fix, took_ms=round((time.monotonic() - began) * 1000)
    )


class _Trial:
    def __init__(self, config: AddressedCluster, topic: str | None, groups: tuple[str, ...], timeout_s: float) -> None:
        self.config = config
        self.topic = topic
        self.groups = groups
        self.properties: ClientProperties = client_properties(config)
        self.deadline = Deadline(timeout_s)
        self.protocol = self.properties.get("security.protocol", "plaintext").lower()
        self.addresses: tuple[BrokerAddress, ...] = ()
        self.client: Client | None = None
        self.metadata: Any = None

    def step(self, name: StepName) -> _StepAnswer:
        return {
            StepName.RESOLVE: self._resolve,
            StepName.CONNECT: self._connect,
            StepName.TLS: self._tls,
            StepName.AUTHENTICATE: self._authenticate,
            StepName.METADATA: self._metadata,
            StepName.OFFSETS: self._offsets,
            StepName.GROUPS: self._groups,
        }[name]()

    def _limit_s(self) -> float:
        return min(_STEP_LIMIT_S, self.deadline.left_s())

    def _resolve(self) -> _StepAnswer:
        addresses, wrong = resolve(self.properties, self._limit_s())
        fix = "Correct the host in bootstrap.servers, or make the name known to this machine (DNS, /etc/hosts)."
        if not addresses:
            raise _FailedError(_all(wrong), fix)
        self.addresses = addresses
        return _StepAnswer(
            _both([f"{address.server} is {address.ip}" for address in addresses], wrong), fix if wrong else ""
        )

    def _connect(self) -> _StepAnswer:
        opened, wrong, fix = connect(self.addresses, self._limit_s())
        if not opened:
            raise _FailedError(_all(wrong), fix)
        self.addresses = opened
        said = [f"{address} accepts connections" for address in opened]
        return _StepAnswer(_both(said, wrong), fix if wrong else "")

    def _tls(self) -> _StepAnswer:
        if self.protocol not in ("ssl", "sasl_ssl"):
            raise _SkippedError(f"security.protocol is {self.protocol}: the connection is not encrypted.")
        results, wrong, fixes = handshake(self.addresses, self.properties, self._limit_s())
        if not results:
            raise _FailedError(_all(wrong), fixes[0])
        return _StepAnswer(_both(list(results), wrong), fixes[0] if fixes else "")

    def _authenticate(self) -> _StepAnswer:
        if not self.protocol.startswith("sasl_"):
            who = (
                "knows the user by its certificate, if it asks for one"
                if self.protocol == "ssl"
                else "asks for no user"
            )
            raise _SkippedError(f"security.protocol is {self.protocol}: the broker {who}.")
        self._contact()
        names = ("sasl.username", "sasl.oauthbearer.client.id")
        user = next(
            (self.properties[name] for name in names if name in self.properties and not self.properties.hides(name)), ""
        )
        mechanism = self.properties.get("sasl.mechanism") or self.properties.get("sasl.mechanisms", "")
        return _StepAnswer(
            f"{mechanism.upper()} accepted the user {user!r}." if user else f"{mechanism.upper()} succeeded."
        )

    def _metadata(self) -> _StepAnswer:
        if self.client is None:
            self._contact()
        metadata = self.metadata
        topics = [name for name in metadata.topics if not name.startswith("__")]
        brokers = tuple(
            BrokerAddress(server=f"{broker.host}:{broker.port}", ip=broker.host, port=broker.port)
            for broker in metadata.brokers.values()
        )
        _, wrong, _ = connect(brokers, self._limit_s())
        said = f"Cluster id {metadata.cluster_id}, {many(len(brokers), 'broker')}, {many(len(topics), 'topic')}."
        if not metadata.topics:
            return _StepAnswer(
                f"{said} It is empty, or the user may not see any topic.",
                "Grant DESCRIBE on the topics, or check that this is the right cluster.",
            )
        if not wrong:
            return _StepAnswer(said)
        return _StepAnswer(
            f"{said} Brokers under the address that they advertise: {_all(wrong)}",
            "Correct advertised.listeners on these brokers, or open the way to these addresses from here: reading "
            "connects to every broker, not only to those in bootstrap.servers.",
        )

    def _offsets(self) -> _StepAnswer:
        assert self.client is not None  # noqa: S101 - set by the previous step
        topic, partition = self._partition()
        requests = {
            kind: list_offsets(self.client, {(topic, partition): spec})
            for kind, spec in (("start", EARLIEST), ("end", LATEST))
        }
        answers = {kind: logs[topic, partition] for kind, logs in take_logs(self.client, requests).items()}
        error = next((answer.error for answer in answers.values() if answer.error), None)
        if error is not None:
            raise _FailedError(
                f"Where {topic}-{partition} begins and ends was not answered: {error.why}.",
                f"Grant DESCRIBE on topic {topic!r}."
                if error.denied
                else "Check the broker that leads the partition, and that its advertised address can be reached.",
            )
        start, end = answers["start"].offset, answers["end"].offset
        return _StepAnswer(f"{topic}-{partition} begins at {number(start)} and ends at {number(end)}.")

    def _groups(self) -> _StepAnswer:
        assert self.client is not None  # noqa: S101 - set by the previous step
        read, problems = read_groups(self.client, self.groups)
        if problems:
            raise _FailedError(" ".join(problem.message for _, problem in problems), problems[0][1].fix)
        if self.groups:
            message = ", ".join(f"{group.name!r} is {group.state}" for group in read)
            return _StepAnswer(
                f"{message}; {many(sum(len(group.offsets) for group in read), 'committed offset')} read."
            )
        try:
            listed = self.client.admin.list_consumer_groups(request_timeout=self.deadline.left_s()).result(
                timeout=self.deadline.grace_s()
            )
        except (KafkaException, TimeoutError) as error:
            raise _FailedError(
                f"The groups were not listed: {reason(error)}.", "Grant DESCRIBE on the groups."
            ) from error
        return _StepAnswer(f"{many(len(listed.valid), 'group')} can be seen; the migration names none.")

    def _contact(self) -> None:
        self.client = Client(self.config, timeout_s=self.deadline.left_s())
        began = time.monotonic()
        try:
            self.metadata = self.client.contact()
        except ClusterError as error:
            raise self._not_contacted(error, time.monotonic() - began) from error

    def _not_contacted(self, error: ClusterError, waited_s: float) -> _FailedError:
        assert self.client is not None  # noqa: S101 - it failed
        if isinstance(error, ClusterAuthError) or any(
            is_authorisation(kafka_error) for kafka_error in self.client.errors
        ):
            return _FailedError(error.problem, error.fix)
        results = {kafka_error.code() for kafka_error in self.client.errors} - {KafkaError._ALL_BROKERS_DOWN}
        if KafkaError._BAD_MSG in results:
            return _FailedError(
                f"Something answered, but not as a Kafka broker that speaks {self.protocol}.",
                "Check the port in bootstrap.servers, and security.protocol: web servers and TLS listeners answer so.",
            )
        if results:
            return _FailedError(error.problem, error.fix)
        return _FailedError(
            f"The broker accepted the connection and did not answer within {waited_s:.0f} s ({self.protocol}).",
            "Check that a Kafka broker listens there, not a load balancer or firewall that only accepts; that it is "
            "not overloaded; and that security.protocol is the listener's.",
        )

    def _partition(self) -> tuple[str, int]:
        topics = self.metadata.topics
        if not topics:
            raise _SkippedError("The cluster shows no topic to ask about.")
        names = [self.topic] if self.topic in topics else sorted(topics, key=_internal_last)
        for name in names:
            for index, partition in sorted(topics[name].partitions.items()):
                if partition.leader >= 0:
                    return str(name), int(index)
        raise _FailedError(
            "No partition has a leader at the moment.", "Check the brokers that hold the partitions, then try again."
        )


def _internal_last(topic: Any) -> tuple[bool, str]:
    return str(topic).startswith("__"), str(topic)


def _all(wrong: tuple[str, ...]) -> str:
    return "; ".join(wrong) + "."


def _both(said: list[str], wrong: tuple[str, ...]) -> str:
    return "; ".join([*said, *wrong]) + "."
