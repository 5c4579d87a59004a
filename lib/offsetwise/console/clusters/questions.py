"""What the Clusters screen wants to know: one question per cluster, so that neither waits for the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from offsetwise.clusters.reading import MinimumAcls, ReadCluster
from offsetwise.clusters.retention import Standing
from offsetwise.console.desk import Reader
from offsetwise.model import Cluster
from offsetwise.progress import Progress
from offsetwise.sources.connection import Step
from offsetwise.sources.permissions import Permissions


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOf:
    """What stands on this cluster?"""

    in_sample: ClassVar[bool] = True
    migration: str
    cluster: Cluster

    def ask(self, reader: Reader, progress: Progress) -> ReadCluster:
        """Read it."""
        return reader.cluster(self.migration, self.cluster, progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOf:
    """Can this cluster be reached, and if not, why?"""

    in_sample: ClassVar[bool] = False
    migration: str
    cluster: Cluster

    def ask(self, reader: Reader, progress: Progress) -> tuple[Step, ...]:
        """Try it."""
        return reader.connection(self.migration, self.cluster, progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionsOf:
    """What may the user of this cluster do?"""

    in_sample: ClassVar[bool] = False
    migration: str
    cluster: Cluster

    def ask(self, reader: Reader, progress: Progress) -> Permissions:
        """Ask the broker."""
        return reader.permissions(self.migration, self.cluster, progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumAclsOf:
    """How is granted what reading this cluster needs?"""

    in_sample: ClassVar[bool] = True
    migration: str
    cluster: Cluster

    def ask(self, reader: Reader, progress: Progress) -> MinimumAcls:
        """Work it out from the migration file and the checkpoints."""
        progress("read the checkpoints", 0, 1)
        return reader.minimum_acls(self.migration, self.cluster)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingsOf:
    """Which positions stand in the logs of this cluster, and of what time are the records there?"""

    in_sample: ClassVar[bool] = False
    migration: str
    cluster: Cluster

    def ask(self, reader: Reader, progress: Progress) -> tuple[Standing, ...]:
        """Read them."""
        return reader.standings(self.migration, self.cluster, progress)
