from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from offsetwise.config import ClusterConfig
from offsetwise.errors import ClusterAuthError, ClusterError
from offsetwise.plugins.kinesis.stream.client import assumed
from offsetwise.storage.dynamodb import REFUSED, Item, all_items

RIGHTS: Final = (
    "Grant dynamodb:DescribeTable, Scan, UpdateItem, PutItem and DeleteItem on the table, and CreateTable and "
    "DeleteTable to create one."
)
_MISSING: Final = "ResourceNotFoundException"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    status: str
    """`CREATING`, `ACTIVE`, `DELETING` and others."""
    created_ms: int
    """Another table of the same name has another time."""
    keys: tuple[tuple[str, str], ...]
    """(attribute, `HASH` or `RANGE`)."""
    indexes: tuple[tuple[str, str], ...]
    """(name, status) of each secondary index."""

    @property
    def is_active(self) -> bool:
        return self.status == "ACTIVE" and all(status == "ACTIVE" for _, status in self.indexes)


class DynamoTable:
    """One table, read through boto3.

    Args:
        config: The cluster that names region, endpoint, profile and role.
        name: The table's name.

    Raises:
        ClusterError: boto3 is not installed, or region, profile or role cannot be used.
    """

    def __init__(self, config: ClusterConfig, name: str) -> None:
        try:
            import boto3  # noqa: PLC0415 - of an extra, and slow to import
            from botocore import exceptions  # noqa: PLC0415 - as above
            from botocore.config import Config  # noqa: PLC0415 - as above
        except ImportError as error:
            raise ClusterError(
                f"Table {name!r}: expected boto3 to be installed, found {error}. Nothing was written.",
                fix="Install it: pip install 'offsetwise[kinesis]'.",
            ) from error
        self.name = name
        self._of: Any = exceptions
        given = config.properties
        self.region = given.get("region")
        self.endpoint = given.get("dynamodb_endpoint")
        try:
            session = boto3.Session(region_name=self.region, profile_name=given.get("profile"))
            # A write is sent once: its result is read again, and not left to a second request.
            settings = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 1})
            keys = assumed(session.client("sts"), given["role_arn"]) if "role_arn" in given else {}
            self._client: Any = session.client("dynamodb", endpoint_url=self.endpoint, config=settings, **keys)
        except (exceptions.BotoCoreError, exceptions.ClientError, ValueError) as error:
            raise ClusterError(
                f"Table {name!r}: expected a region, a profile and a role that can be used, but {error}. Nothing was "
                "written.",
                fix="Correct `region`, `profile` or `role_arn` of the cluster in the migration file.",
            ) from error

    @property
    def uri(self) -> str:
        options = (("region", self.region), ("endpoint", self.endpoint))
        query = "&".join(f"{key}={value}" for key, value in options if value is not None)
        return f"dynamodb://{self.name}" + (f"?{query}" if query else "")

    def rows_of(self, name: str) -> tuple[Item, ...] | None:
        """Return the rows of a table, read consistently; None if there is no table of this name.

        Raises:
            ClusterError: They cannot be read whole.
        """
        results: tuple[Item, ...] | None = self._read(
            name, lambda: tuple(all_items(self._client, self.uri, {"TableName": name, "ConsistentRead": True}))
        )
        return results

    def state(self) -> TableState | None:
        """Return the description of the table; None if there is none.

        Raises:
            ClusterError: DynamoDB does not answer.
        """
        body = self._read(self.name, lambda: self._client.describe_table(TableName=self.name)["Table"])
        if body is None:
            return None
        return TableState(
            status=body["TableStatus"],
            created_ms=round(body["CreationDateTime"].timestamp() * 1000),
            keys=tuple((key["AttributeName"], key["KeyType"]) for key in body["KeySchema"]),
            indexes=tuple(
                (index["IndexName"], index.get("IndexStatus", "ACTIVE"))
                for index in body.get("GlobalSecondaryIndexes", ())
            ),
        )

    def _read(self, name: str, call: Any) -> Any:
        try:
            return call()
        except self._of.ClientError as error:
            code, message = answer_of(error)
            if code == _MISSING:
                return None
            kind = ClusterAuthError if code in REFUSED else ClusterError
            raise kind(
                f"{self.uri}: expected to read the table {name!r}, but DynamoDB says {code}: {message}. Nothing was "
                "written.",
                fix=RIGHTS if code in REFUSED else "Try again.",
            ) from error
        except self._of.BotoCoreError as error:
            raise ClusterError(
                f"{self.uri}: expected to read the table {name!r}, but {error}. Nothing was written.",
                fix="Check region, endpoint, network and the credentials in the environment.",
            ) from error


def answer_of(error: Any) -> tuple[str, str]:
    body = error.response.get("Error", {})
    return str(body.get("Code", "")), str(body.get("Message", ""))[:200]
