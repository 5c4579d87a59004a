from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from offsetwise.client_properties import GivenCluster
from offsetwise.client_properties.connectors import ConnectorAddress
from offsetwise.errors import ConfigError
from offsetwise.model import Cluster, Snapshot
from offsetwise.progress import Progress
from offsetwise.registry import SURVEYS
from offsetwise.survey.results import SurveyedConnector, Trouble


class SurveysWorkers(Protocol):
    def __call__(
        self,
        addresses: Sequence[ConnectorAddress],
        given: Mapping[Cluster, GivenCluster],
        snapshots: Mapping[Cluster, Snapshot | None],
        problems: list[Trouble],
        progress: Progress,
    ) -> tuple[SurveyedConnector, ...]:
        """Return the connectors of the workers at some addresses; add failures to `problems`."""


def parse_connect(text: str) -> ConnectorAddress:
    """Parse the value of `--connect`.

    Raises:
        ConfigError: It is no address of workers, or has a plain secret.
    """
    try:
        return ConnectorAddress.parse_workers(text)
    except ValueError as error:
        raise ConfigError(
            f"--connect: {error}, found {text.partition('?')[0][:200]!r}. Nothing was contacted.",
            fix="Give http://HOST:PORT of a worker, several with a comma between them; where they ask for a user, "
            "?user=NAME&password=${VARIABLE} behind it, and ca=FILE for a certificate of your own.",
        ) from error


def surveyed_connectors(
    addresses: Sequence[ConnectorAddress],
    given: Mapping[Cluster, GivenCluster],
    snapshots: Mapping[Cluster, Snapshot | None],
    problems: list[Trouble],
    progress: Progress,
) -> tuple[SurveyedConnector, ...]:
    """Read the connectors of workers, and the offsets of each stopped sink.

    Failures are added to `problems`; the other addresses are still read.
    """
    if not addresses:
        return ()
    survey: SurveysWorkers = SURVEYS.load("connect")
    return survey(addresses, given, snapshots, problems, progress)
