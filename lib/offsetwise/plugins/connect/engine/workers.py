"""The workers of one Connect cluster: which of them answer, and the check that they are of one cluster.

Format of the answers: `RootResource`, `ConnectorsResource` and `ConnectExceptionMapper` of Kafka Connect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from offsetwise.client_properties.connectors import ConnectorAddress
from offsetwise.engines.exchange import HttpAccess, HttpReply, UnansweredError, ask
from offsetwise.errors import MissingError, StorageError
from offsetwise.strict_json import parse
from offsetwise.wording import many

OK: Final = 200
_REDIRECTS: Final = range(300, 400)
_REFUSED: Final = (401, 403)
MISSING: Final = 404
_CONFLICT: Final = 409
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """The answering workers of a connector, all of one Connect cluster."""

    address: ConnectorAddress
    access: HttpAccess
    answering: tuple[str, ...]
    away: tuple[str, ...]
    """The workers that do not answer, each with the reason."""
    version: str
    cluster_id: str | None
    """Id of the Kafka cluster of the workers themselves; None if they do not report it."""

    @classmethod
    def of(cls, address: ConnectorAddress) -> Workers:
        """Identify every worker.

        Raises:
            StorageError: None answers, an address is not a worker, or they are of several clusters.
            SecretError: A reference to a secret cannot be resolved.
        """
        try:
            access = HttpAccess.of(address.sign_on, tls=address.workers[0].startswith("https:"))
        except OSError as error:
            raise unusable(
                address.uri, f"certificates that can be used, found {error.strerror or str(error)[:_SHOWN]}"
            ) from error
        identities: dict[str, tuple[str, str | None]] = {}
        away: list[str] = []
        for worker in address.workers:
            try:
                answer = ask(worker, "GET", "/", access)
            except UnansweredError as error:
                away.append(f"{worker}: {error.reason}")
                continue
            identities[worker] = _who(address.uri, worker, answer)
        if not identities:
            raise unusable(address.uri, f"a worker that answers, found none: {'; '.join(away)[:600]}")
        clusters = {cluster for _, cluster in identities.values()}
        if len(clusters) > 1:
            reason = "; ".join(f"{worker} is on Kafka cluster {cluster}" for worker, (_, cluster) in identities.items())
            raise unusable(address.uri, f"workers of one Connect cluster, found several: {reason}")
        version, cluster_id = next(iter(identities.values()))
        return cls(
            address=address,
            access=access,
            answering=tuple(identities),
            away=tuple(away),
            version=version,
            cluster_id=cluster_id,
        )

    @property
    def path(self) -> str:
        return f"/connectors/{quote(self.address.connector, safe='')}"

    def get(self, below: str = "") -> Any:
        """Read a resource of the connector, from the first worker that answers.

        Args:
            below: Path of the resource below the connector's.

        Raises:
            MissingError: There is no such connector.
            StorageError: No worker answers, or the answer cannot be used.
        """
        return read_json(self.address.uri, below, self._first(f"{self.path}{below}"))

    def listed(self) -> Any:
        """Read the listing of all connectors, by name.

        Raises:
            StorageError: No worker answers, or the answer cannot be used.
        """
        path = "/connectors?expand=info&expand=status"
        return read_json(self.address.uri, "", self._first(path))

    def require_connector(self) -> None:
        """Require that every answering worker has the connector.

        Raises:
            MissingError: None has it.
            StorageError: One has it and another one has not: they are of two Connect clusters on one Kafka cluster.
        """
        statuses = {}
        for worker in self.answering:
            try:
                statuses[worker] = ask(worker, "GET", self.path, self.access).status
            except UnansweredError:
                continue
        has = [worker for worker, status in statuses.items() if status == OK]
        lacks = [worker for worker, status in statuses.items() if status == MISSING]
        if has and lacks:
            reason = f"{has[0]} has the connector, and {lacks[0]} has not"
            raise unusable(self.address.uri, f"workers of one Connect cluster, found several: {reason}")

    def _first(self, path: str) -> HttpReply:
        reasons = []
        for worker in self.answering:
            try:
                return ask(worker, "GET", path, self.access)
            except UnansweredError as error:
                reasons.append(f"{worker}: {error.reason}")
        raise unusable(self.address.uri, f"an answer to GET {path}, found none: {'; '.join(reasons)[:600]}")


def read_json(uri: str, what: str, answer: HttpReply) -> Any:
    """Parse the answer of a worker.

    Args:
        uri: The connector.
        what: Path of the resource below the connector's.
        answer: The answer.

    Raises:
        MissingError: There is no such connector, or the workers are too old for the request.
        StorageError: It is not an answer of Kafka Connect, or an error.
    """
    if answer.status == OK:
        try:
            return parse(answer.body)
        except (ValueError, RecursionError) as error:
            raise unusable(uri, f"JSON of Kafka Connect, found another answer: {str(error)[:_SHOWN]}") from error
    reason = message(answer)
    if answer.status in _REDIRECTS:
        raise unusable(uri, f"a worker, found a redirect (HTTP {answer.status}), which is not followed")
    if answer.status in _REFUSED:
        raise StorageError(
            f"{uri}: expected that the worker lets us in, found HTTP {answer.status}{reason}. Nothing was read.",
            fix="Correct user and password of the connector under `connect` in the migration file; at the command "
            "line, write ?user=NAME&password=${VARIABLE} behind the URI.",
        )
    if answer.status == MISSING:
        raise MissingError(
            f"{uri}: expected a connector{f' and its {what[1:]}' if what else ''}, found HTTP 404{reason}. "
            "Nothing was read.",
            fix="Correct `connector` under `connect` in the migration file; the workers list theirs at /connectors. "
            "Offsets are told from Kafka Connect 3.5 on, and changed from 3.6 on.",
        )
    why = "the workers are rebalancing" if answer.status == _CONFLICT else "the worker cannot tell"
    raise StorageError(
        f"{uri}: expected an answer about the connector{f', its {what[1:]}' if what else ''}, found HTTP "
        f"{answer.status}: {why}{reason}. Nothing was read.",
        fix="Run the same command again in a minute; if it stays, see the log of the worker.",
    )


def message(answer: HttpReply) -> str:
    """Return a worker's error message, after a comma; empty if it is not in Connect's form."""
    try:
        body = parse(answer.body)
    except (ValueError, RecursionError):
        return ""
    text = body.get("message") if isinstance(body, dict) else None
    return f", {text[:_SHOWN]!r}" if isinstance(text, str) and text else ""


def unusable(uri: str, expected: str) -> StorageError:
    return StorageError(
        f"{uri}: expected {expected}. Nothing was read.",
        fix="Check the addresses under `connect` in the migration file: each is http://HOST:PORT or https://HOST:PORT "
        "of a worker of one Connect cluster.",
    )


def _who(uri: str, worker: str, answer: HttpReply) -> tuple[str, str | None]:
    """Return version and Kafka cluster of a worker.

    Raises:
        StorageError: It is another service.
    """
    body = read_json(uri, "", answer) if answer.status != MISSING else None
    version = body.get("version") if isinstance(body, dict) else None
    cluster = body.get("kafka_cluster_id") if isinstance(body, dict) else None
    if not isinstance(body, dict) or "kafka_cluster_id" not in body or not isinstance(version, str):
        raise unusable(uri, f"Kafka Connect at {worker}, found another service")
    return version[:60], cluster if isinstance(cluster, str) else None


def away_sentence(workers: Workers) -> str:
    """Describe which workers did not answer, as a sentence; empty if all did."""
    count = len(workers.away)
    return f" {many(count, 'worker')} did not answer: {'; '.join(workers.away)[:300]}." if count else ""
