"""Requests to Kinesis through boto3: the properties of a stream, its shards, and the records at a position.

Every call counts against the quota of the stream, which jobs share: 5 reads a second and shard. This process makes at
most one read a second and shard in total.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, TypeAlias, TypeVar

from offsetwise.config import ClusterConfig
from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError, ConfigError
from offsetwise.plugins.kinesis.stream.spec import Place, ShardPlace

_DENIED: Final = frozenset(
    {
        "AccessDeniedException",
        "AccessDenied",
        "UnrecognizedClientException",
        "InvalidClientTokenId",
        "IncompleteSignatureException",
        "InvalidSignatureException",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "ExpiredTokenException",
        "MissingAuthenticationTokenException",
    }
)
_THROTTLED: Final = frozenset(
    {"ProvisionedThroughputExceededException", "LimitExceededException", "ThrottlingException", "RequestLimitExceeded"}
)
_MISSING: Final = "ResourceNotFoundException"
_REFUSED: Final = "InvalidArgumentException"
READS_PER_SECOND: Final = 1
"""Reads of one shard, by this process."""
ALLOWED_READS_PER_SECOND: Final = 5
"""Reads of one shard, by all its readers, like the next limit: "Quotas and limits" of the service's developer guide."""
ALLOWED_BYTES_PER_SECOND: Final = 2 * 1024 * 1024

T = TypeVar("T")


class NoAnswerError(ClusterUnreachableError):
    """There is no answer: no network, no credentials, or an address that nothing listens on."""


class NotThereError(ClusterError):
    """There is no such stream or shard."""


class BusyError(ClusterError):
    """Other readers use up the quota."""


class NotOfThisStreamError(ClusterError):
    """Kinesis refuses a position, because its number is of another stream or shard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPage:
    records: tuple[Mapping[str, Any], ...]
    following: str | None
    """The iterator after them; None at the end of a closed shard."""
    behind_ms: int


class Pace:
    def __init__(self, apart_s: float) -> None:
        self.apart_s = apart_s
        self._due: dict[tuple[str, ...], float] = {}
        self._lock = Lock()

    def wait(self, *shard: str) -> None:
        with self._lock:
            now = time.monotonic()
            due = max(now, self._due.get(shard, now))
            self._due[shard] = due + self.apart_s
        if due > now:
            time.sleep(due - now)


PACE: Final = Pace(1 / READS_PER_SECOND)


@dataclass(slots=True, kw_only=True)
class Asking:
    name: str
    """Name in the migration file."""
    where: str
    """Identifier of account and region; see `spec.cluster_id`."""
    client: Any
    errors: tuple[type[Exception], type[Exception], tuple[type[Exception], ...]]
    """botocore's errors: with an answer, any, and those without one."""
    calls: int = 0

    def stream(self, name: str) -> Mapping[str, Any]:
        response = self.ask(f"stream {name!r}", lambda: self.client.describe_stream_summary(StreamName=name))
        return dict(response["StreamDescriptionSummary"])

    def shards(self, name: str) -> Sequence[Mapping[str, Any]]:
        """List all shards of a stream, closed ones too, page by page; if a page fails, all fails."""
        results: list[Mapping[str, Any]] = []
        request: dict[str, str] = {"StreamName": name}
        while True:
            given = dict(request)
            page = self.ask(f"the shards of stream {name!r}", lambda given=given: self.client.list_shards(**given))  # type: ignore[misc]
            results += page["Shards"]
            if page.get("NextToken") is None:
                return results
            request = {"NextToken": page["NextToken"]}

    def iterator(self, stream: str, shard: str, position: ShardPlace) -> str:
        response = self.ask(
            f"{position} of {shard} of stream {stream!r}",
            lambda: self.client.get_shard_iterator(StreamName=stream, ShardId=shard, **_starting(position)),
        )
        return str(response["ShardIterator"])

    def records(self, stream: str, shard: str, iterator: str, *, most: int) -> RecordPage:
        """Read once, at least one second after the previous read of the shard."""
        PACE.wait(self.where, stream, shard)
        response = self.ask(
            f"{shard} of stream {stream!r}", lambda: self.client.get_records(ShardIterator=iterator, Limit=most)
        )
        return RecordPage(
            records=tuple(response["Records"]),
            following=response.get("NextShardIterator"),
            behind_ms=int(response.get("MillisBehindLatest") or 0),
        )

    def ask(self, what: str, call: Callable[[], T]) -> T:
        """Make one call, and convert its errors to sentences.

        Raises:
            NoAnswerError: There is no answer.
            ClusterError: The answer is a refusal.
        """
        answered, failed, silent = self.errors
        self.calls += 1
        try:
            return call()
        except silent as error:
            raise NoAnswerError(
                f"{self.name!r}: expected an answer about {what}, found none: {error}. Nothing was read.",
                fix="Check the network, the endpoint, and that the environment has credentials of AWS.",
            ) from error
        except answered as error:
            raise self._refused(what, error) from error
        except failed as error:
            raise ClusterError(
                f"{self.name!r}: expected an answer about {what}, but {error}. Nothing was read.",
                fix="Check region and endpoint in the migration file.",
            ) from error

    def _refused(self, what: str, error: Any) -> ClusterError:
        body = error.response.get("Error", {})
        code, message = str(body.get("Code")), str(body.get("Message"))[:300]
        text = f"{self.name!r}: expected to read {what}, but Kinesis says {code}: {message}. Nothing was read."
        if code in _DENIED:
            fix = "Grant kinesis:DescribeStreamSummary, ListShards, GetShardIterator and GetRecords on the stream."
            return ClusterAuthError(text, fix=fix)
        if code == _MISSING:
            fix = "Check the stream's name, the region and the account: a stream is found in its own region only."
            return NotThereError(text, fix=fix)
        if code == _REFUSED:
            return NotOfThisStreamError(text, fix="Find out which stream the position was read from.")
        if code in _THROTTLED:
            return BusyError(text, fix="Other readers use up the quota of the stream: try again when they do not.")
        return ClusterError(
            text, fix="Try again; where it stays so, look the answer up in the Kinesis API's reference."
        )


def _starting(position: ShardPlace) -> dict[str, Any]:
    match position.place:
        case Place.AFTER if position.sub is None:
            return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": str(position.sequence)}
        case Place.AFTER | Place.AT:
            return {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": str(position.sequence)}
        case Place.AT_TIMESTAMP if position.at_ms is not None:
            return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": position.at_ms / 1000}
        case Place.TRIM_HORIZON | Place.LATEST:
            return {"ShardIteratorType": position.place.value}
    raise ValueError(f"nothing is read at {position}")


def asking(config: ClusterConfig) -> Asking:
    """Return a client for one account and region; no request is sent except to assume a role.

    Raises:
        ConfigError: boto3 is not installed, or region or profile are invalid.
        ClusterError: The role was refused.
        NoAnswerError: There are no credentials to assume the role with.
    """
    session, errors, settings = _session(config)
    with _named(config):
        keys = _role(config, session, errors, settings)
        given = config.properties
        client = session.client("kinesis", endpoint_url=given.get("endpoint"), config=settings, **keys)
    return Asking(name=config.name, where=cluster_id(given), client=client, errors=errors)


def access_of(config: ClusterConfig) -> dict[str, str | None]:
    """Return what a client needs elsewhere: region, address and credentials; with a role, its temporary ones.

    Raises:
        ConfigError: boto3 is not installed, or region or profile are invalid.
        ClusterError: The role was refused.
        NoAnswerError: There are no credentials.
    """
    session, errors, settings = _session(config)
    with _named(config):
        keys = _role(config, session, errors, settings)
        credentials = None if keys else session.get_credentials()
    if credentials is not None:
        frozen = credentials.get_frozen_credentials()
        keys = {"aws_access_key_id": frozen.access_key, "aws_secret_access_key": frozen.secret_key}
        keys |= {} if frozen.token is None else {"aws_session_token": frozen.token}
    if not keys:
        raise NoAnswerError(
            f"{config.name!r}: expected credentials of AWS, found none. Nothing was read.",
            fix="Give the environment credentials, or name a profile in the migration file.",
        )
    given = config.properties
    return {"region_name": given["region"], "endpoint_url": given.get("endpoint"), **keys}


_Errors: TypeAlias = tuple[type[Exception], type[Exception], tuple[type[Exception], ...]]


def _session(config: ClusterConfig) -> tuple[Any, _Errors, Any]:
    try:
        import boto3  # noqa: PLC0415 - of an extra, and slow to import
        from botocore import exceptions as of  # noqa: PLC0415 - as above
        from botocore.config import Config  # noqa: PLC0415 - as above
    except ImportError as error:
        raise ConfigError(
            f"cluster {config.name!r}: expected boto3 to be installed, found {error}. Nothing was read.",
            fix="Install it: pip install 'offsetwise[kinesis]'.",
        ) from error
    silent = (of.ConnectionError, of.HTTPClientError, of.NoCredentialsError, of.PartialCredentialsError)
    errors = (of.ClientError, of.BotoCoreError, (*silent, of.CredentialRetrievalError))
    settings = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "max_attempts": 3})
    given = config.properties
    with _named(config):
        return boto3.Session(region_name=given["region"], profile_name=given.get("profile")), errors, settings


@contextmanager
def _named(config: ClusterConfig) -> Iterator[None]:
    from botocore import exceptions as of  # noqa: PLC0415 - as above

    try:
        yield
    except (of.BotoCoreError, ValueError) as error:
        raise ConfigError(
            f"cluster {config.name!r}: expected a region and a profile that boto3 knows, but {error}. Nothing "
            "was read.",
            fix="Correct them in the migration file.",
        ) from error


def _role(config: ClusterConfig, session: Any, errors: _Errors, settings: Any) -> dict[str, str]:
    arn = config.properties.get("role_arn")
    if arn is None:
        return {}
    where = cluster_id(config.properties)
    client = Asking(name=config.name, where=where, client=session.client("sts", config=settings), errors=errors)
    return client.ask(f"role {arn}", lambda: assumed(client.client, arn))


def assumed(sts: Any, arn: str) -> dict[str, str]:
    given = sts.assume_role(RoleArn=arn, RoleSessionName="offsetwise")["Credentials"]
    return {
        "aws_access_key_id": given["AccessKeyId"],
        "aws_secret_access_key": given["SecretAccessKey"],
        "aws_session_token": given["SessionToken"],
    }


def cluster_id(properties: Mapping[str, str]) -> str:
    """Return an identifier of account and region, without contacting them.

    >>> cluster_id({"region": "us-east-1", "endpoint": "http://127.0.0.1:4567"})
    'us-east-1 at http://127.0.0.1:4567'
    """
    at, role, profile = (properties.get(name) for name in ("endpoint", "role_arn", "profile"))
    sentences = (properties["region"], at and f"at {at}", role and f"as {role}", profile and f"by profile {profile}")
    return " ".join(sentence for sentence in sentences if sentence)
