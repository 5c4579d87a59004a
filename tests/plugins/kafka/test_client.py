import logging
import time
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from offsetwise.config import ClusterConfig
from offsetwise.errors import ClusterAuthError, ClusterUnreachableError, ConfigError
from offsetwise.model import Cluster
from offsetwise.plugins.kafka.stream.client import LOGGER, Deadline, diagnose, reason
from offsetwise.plugins.kafka.stream.snapshot import read_whole
from offsetwise.streams.ranges import consumer_configuration
from tests.with_cases import with_cases

NOWHERE = ClusterConfig(name="old", properties={"bootstrap.servers": "127.0.0.1:1"})


def test_a_broker_that_is_down_is_named_soon_and_nothing_reaches_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    with pytest.raises(ClusterUnreachableError, match=r"'old' at 127\.0\.0\.1:1.*Connection refused"):
        read_whole(Cluster.OLD, NOWHERE, topics=None, groups=())
    assert time.monotonic() - begun < 10
    assert capfd.readouterr().err == ""


@with_cases("content", [None, "no certificate"])
def test_a_file_that_librdkafka_cannot_use_is_named_by_its_property_and_nothing_is_contacted(
    content: str | None, tmp_path: Path
) -> None:
    authorities = tmp_path / "ca.pem"
    if content is not None:
        authorities.write_text(content)
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(authorities)}
    config = ClusterConfig(name="old", properties={"bootstrap.servers": "127.0.0.1:1"} | tls)
    with pytest.raises(ConfigError, match=r"Cluster 'old'.*ssl\.ca\.location failed.*Nothing was contacted") as raised:
        read_whole(Cluster.OLD, config, topics=None, groups=())
    assert "Correct the property" in raised.value.fix


def test_what_librdkafka_logs_can_be_had_through_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER.name), pytest.raises(ClusterUnreachableError):
        read_whole(Cluster.OLD, NOWHERE, topics=None, groups=(), timeout_s=1)
    assert "Connection refused" in caplog.text


@with_cases(
    ("code", "said"),
    [
        (KafkaError._AUTHENTICATION, "refused to authenticate"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "does not authorise"),
        (KafkaError._SSL, "expects TLS or SASL"),
    ],
)
def test_a_refusal_is_told_from_silence(code: int, said: str) -> None:
    errors = [KafkaError(KafkaError._ALL_BROKERS_DOWN), KafkaError(code)]
    error = diagnose(NOWHERE, errors, 20)
    assert isinstance(error, ClusterAuthError)
    assert said in error.problem
    assert error.fix


def test_silence_is_unreachable_and_says_for_how_long() -> None:
    error = diagnose(NOWHERE, [], 20)
    assert isinstance(error, ClusterUnreachableError)
    assert "no answer within 20 s" in error.problem


@with_cases(
    ("error", "said"),
    [
        (TimeoutError(), "did not answer in time"),
        (KafkaException(KafkaError(KafkaError._TIMED_OUT)), "did not answer in time"),
        (KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)), "not authorised"),
        (KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)), "does not exist"),
        (KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE)), "no leader"),
    ],
)
def test_a_missing_part_has_a_reason_in_words(error: Exception, said: str) -> None:
    assert said in reason(error)


def test_reading_leaves_no_trace_whatever_the_properties_say() -> None:
    made = consumer_configuration({"bootstrap.servers": "a:1"})
    assert made["enable.auto.commit"] is False
    assert made["allow.auto.create.topics"] is False
    assert made["auto.offset.reset"] == "error"


def test_a_deadline_never_asks_a_client_for_no_time_at_all() -> None:
    assert Deadline(0).passed
    assert Deadline(0).left_s() > 0
