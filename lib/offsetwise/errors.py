"""Every error Offsetwise raises on purpose, in one tree.

    OffsetwiseError
    ├── UsageError                  the command line, before anything is read
    ├── PluginError                 an installed plug-in that cannot be loaded
    ├── ConfigError                 the migration file, before anything is contacted
    │   ├── ForbiddenPropertyError  a client property that is not on the allow-list
    │   └── SecretError             a secret reference that leads nowhere
    ├── StorageError                a path that cannot be read
    │   ├── MissingError            nothing stands at the path
    │   ├── OutsideRootsError       a path that leaves the configured roots
    │   └── LibraryMissingError     the file system needs a package that is not installed
    ├── CheckpointError             a folder that is no usable checkpoint
    │   └── NotACheckpointError
    ├── ClusterError                a Kafka cluster that gives no answer we can use
    │   ├── ClusterUnreachableError
    │   ├── ClusterAuthError        TLS, SASL or ACLs say no
    │   └── SameClusterError        old and new turn out to be one cluster
    ├── FileError                   one of our own files that cannot be read
    │   └── VersionError            a format version this release does not know
    ├── PlanError                   a plan that cannot be drafted, read or used
    │   ├── StalePlanError          what the plan was made from has changed since
    │   └── NotApprovedError        nobody trusted has approved exactly this plan
    ├── ApplyError                  a plan that could not be written, or not be undone
    │   ├── OutputError             the place to write to cannot be used
    │   ├── RunningQueryError       a query is running on the checkpoint
    │   ├── GroupActiveError        the group has members
    │   └── LostReplyError          a write whose reply was lost: done or not, nobody knows yet
    ├── VerifyError                 what was written cannot be looked at
    ├── SparkError                  the Spark session or a job on it
    │   ├── ConnectorError          Spark's Kafka connector cannot be resolved
    │   └── WorkerError             the workers lack something the pipeline needs
    ├── AccessError                 a person who may not do this
    ├── StoppedError                a reading that a person stopped
    ├── StoreError                  the database that samples and plans are kept in
    │   ├── StoreLockedError        another process holds it
    │   ├── StoreReadOnlyError      it can be read, and not written
    │   ├── StoreUnreachableError   the server does not answer, or refuses
    │   ├── StoreRefusedError       its own rules forbid the change, whoever asks for it
    │   ├── StoreUnclearError       the reply to a change was lost: made or not, nobody knows yet
    │   ├── StoreVersionError       a later release changed it
    │   └── NotAStoreError          a file or database of something else
    ├── JarError                    jars that cannot be fetched, or are not those of the lock
    └── LabError                    the local lab
        └── JavaError               Java is missing or too old

One unreadable partition is a finding, not an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, Self


class OffsetwiseError(Exception):
    """An error that the person can act on.

    Args:
        problem: The expected and the actual value and the effect, with the subject.
        fix: The next step.
    """

    def __init__(self, problem: str, *, fix: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.problem} {self.fix}"

    def __reduce__(self) -> tuple[partial[Self], tuple[str]]:
        # An error crosses processes (Spark's workers), and pickle forgets keyword arguments.
        return partial(type(self), fix=self.fix), (self.problem,)


class UsageError(OffsetwiseError):
    """The command line cannot be understood."""


class PluginError(OffsetwiseError):
    """An installed plug-in cannot be loaded."""


class ConfigError(OffsetwiseError):
    """The migration file is not valid."""


class ForbiddenPropertyError(ConfigError):
    """A client property is not on the allow-list."""


class SecretError(ConfigError):
    """A secret reference cannot be resolved."""


class StorageError(OffsetwiseError):
    """A path cannot be read."""


class MissingError(StorageError):
    """A path does not exist, or no longer exists."""


class NotAFolderError(MissingError):
    """A path is a file and not a folder."""


class OutsideRootsError(StorageError):
    """A path is outside the roots that the operator configured."""


class LibraryMissingError(StorageError):
    """The path's file system needs a Python package that is not installed."""


class CheckpointError(OffsetwiseError):
    """A folder holds no usable checkpoint."""


class NotACheckpointError(CheckpointError):
    """A folder is not a checkpoint."""


class ClusterError(OffsetwiseError):
    """A cluster returned no usable answer."""


class ClusterUnreachableError(ClusterError):
    """No broker of the cluster answered."""


class ClusterAuthError(ClusterError):
    """A broker refused the client: TLS, SASL or ACLs."""


class SameClusterError(ClusterError):
    """The old and the new cluster are the same."""


class FileError(OffsetwiseError):
    """One of Offsetwise's own files cannot be read."""


class VersionError(FileError):
    """This release does not know the format version of a file."""


class PlanError(OffsetwiseError):
    """A plan cannot be drafted, read or used."""


class StalePlanError(PlanError):
    """The state that a plan was drafted from has changed since. Nothing was written."""


class NotApprovedError(PlanError):
    """No trusted person has approved exactly this plan."""


class ApplyError(OffsetwiseError):
    """A plan could not be written, or what was written could not be undone."""


class OutputError(ApplyError):
    """The output cannot be used."""


class RunningQueryError(ApplyError):
    """A query is running on the checkpoint that is to be copied or edited."""


class GroupActiveError(ApplyError):
    """A consumer group has members, so its offsets cannot be written."""


class LostReplyError(ApplyError):
    """The reply to a write was lost: whether it was done must be read."""


class VerifyError(OffsetwiseError):
    """The written state cannot be read."""


class SparkError(OffsetwiseError):
    """The Spark session, or a job on it, failed."""


class ConnectorError(SparkError):
    """Spark's Kafka connector cannot be resolved."""


class WorkerError(SparkError):
    """The Spark workers lack something that the pipeline needs."""


class AccessError(OffsetwiseError):
    """A person requested something that their roles do not permit."""


class StoppedError(OffsetwiseError):
    """A person stopped a reading before it ended."""


class StoreError(OffsetwiseError):
    """The store cannot be used."""


class StoreLockedError(StoreError):
    """Another process holds the store for too long."""


class StoreReadOnlyError(StoreError):
    """The store can be read, and not written."""


class StoreUnreachableError(StoreError):
    """The store's server does not answer, or refuses."""


class StoreRefusedError(StoreError):
    """The constraints of the store forbid the change."""


class StoreUnclearError(StoreError):
    """The reply to a change was lost, and the store could not be read again: whether it was made must be read."""


class StoreVersionError(StoreError):
    """A later release has changed the store."""


class NotAStoreError(StoreError):
    """The file at the store's path is no store."""


class JarError(OffsetwiseError):
    """Jars cannot be fetched, or are not those of the lock."""


class LabError(OffsetwiseError):
    """The local lab cannot do what was requested."""


class JavaError(LabError):
    """Java is missing or too old."""


EXIT_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {
        0: "done or equal",
        1: "error",
        2: "differences, only with --detailed-exitcode",
        3: "stale: what the plan was made from has changed",
        4: "not approved",
        5: "verification failed",
    }
)
"""The exit codes of the command line with their meanings."""


def exit_code(error: OffsetwiseError) -> int:
    """Return the exit code of an error.

    >>> exit_code(NotApprovedError("Nobody signed.", fix="Sign it."))
    4
    """
    match error:
        case StalePlanError():
            return 3
        case NotApprovedError():
            return 4
        case _:
            return 1
