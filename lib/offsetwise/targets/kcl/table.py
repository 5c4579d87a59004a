"""The lease table of an application, as it is there now: read whole, and written only where it is as it was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from offsetwise.config import ClusterConfig
from offsetwise.errors import (
    ApplyError,
    ClusterAuthError,
    ClusterError,
    LostReplyError,
    OffsetwiseError,
    StalePlanError,
)
from offsetwise.storage.dynamodb import REFUSED, Item
from offsetwise.streams.kinesis.client import assumed
from offsetwise.targets.kcl.images import HELD, KEY

AT_ONCE: Final = 100
"""Rows of one transaction, which DynamoDB writes all or none."""
_UNSURE: Final = frozenset({"InternalServerError", "InternalFailure", "ServiceUnavailable"})
_RIGHTS: Final = "Grant dynamodb:Scan, UpdateItem, PutItem and DeleteItem on the table."


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One row, before and after; None where there is none."""

    key: str
    before: Item | None
    after: Item | None


class LeaseTable:
    """One table, asked through boto3.

    Args:
        config: The cluster that names region and endpoint.
        name: The table's, which is the application's.

    Raises:
        ClusterError: boto3 is not installed, or region or profile are none.
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
            # A write is sent once: whether it was done is read again, and not left to a second request.
            settings = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 1})
            keys = assumed(session.client("sts"), given["role_arn"]) if "role_arn" in given else {}
            self._client: Any = session.client("dynamodb", endpoint_url=self.endpoint, config=settings, **keys)
        except (exceptions.BotoCoreError, exceptions.ClientError, ValueError) as error:
            raise ClusterError(
                f"Table {name!r}: expected a region, a profile and a role that can be used, but {error}. Nothing was "
                "written.",
                fix="Correct them in the migration file.",
            ) from error

    @property
    def uri(self) -> str:
        """What `offsetwise inspect` calls it."""
        options = (("region", self.region), ("endpoint", self.endpoint))
        told = "&".join(f"{key}={value}" for key, value in options if value is not None)
        return f"dynamodb://{self.name}" + (f"?{told}" if told else "")

    def rows(self) -> tuple[Item, ...]:
        """Give all rows, read consistently.

        Raises:
            ClusterError: They cannot be read whole.
        """
        found = self.rows_of(self.name)
        if found is None:
            raise ClusterError(
                f"{self.uri}: expected a table of this name, found none in this region and account. Nothing was "
                "written.",
                fix="Let the application make it: start it once, and stop it.",
            )
        return found

    def rows_of(self, name: str) -> tuple[Item, ...] | None:
        """Give the rows of a table; None where there is none of this name."""
        made: list[Item] = []
        try:
            for page in self._client.get_paginator("scan").paginate(TableName=name, ConsistentRead=True):
                made += page["Items"]
        except self._of.ClientError as error:
            code, message = _said(error)
            if code == "ResourceNotFoundException":
                return None
            kind = ClusterAuthError if code in REFUSED else ClusterError
            raise kind(
                f"{self.uri}: expected to read the table {name!r}, but DynamoDB says {code}: {message}. Nothing was "
                "written.",
                fix=_RIGHTS if code in REFUSED else "Try again.",
            ) from error
        except self._of.BotoCoreError as error:
            raise ClusterError(
                f"{self.uri}: expected to read the table {name!r}, but {error}. Nothing was written.",
                fix="Check region, endpoint, network and the credentials in the environment.",
            ) from error
        return tuple(made)

    def write(self, changes: Sequence[Change]) -> None:
        """Write up to `AT_ONCE` rows, all or none, where each is as it was read.

        Raises:
            StalePlanError: One is not; none was written.
            LostReplyError: Whether they were written cannot be told.
            ApplyError: It was refused; none was written.
        """
        try:
            self._client.transact_write_items(TransactItems=[self._item(each) for each in changes])
        except self._of.ClientError as error:
            raise self._refused(error, changes) from error
        except (self._of.EndpointConnectionError, self._of.NoCredentialsError) as error:
            raise ApplyError(
                f"{self.uri}: expected DynamoDB to take {len(changes)} rows, but {error}. None was written.",
                fix="Check network, endpoint and credentials, then give the same command again.",
            ) from error
        except self._of.BotoCoreError as error:
            raise self._lost(changes, str(error)) from error

    def _refused(self, error: Any, changes: Sequence[Change]) -> OffsetwiseError:
        code, message = _said(error)
        if code in _UNSURE:
            return self._lost(changes, f"DynamoDB says {code}")
        reasons = error.response.get("CancellationReasons", [])
        failed = [
            each.key for each, why in zip(changes, reasons, strict=False) if why.get("Code") == "ConditionalCheckFailed"
        ]
        if failed:
            return StalePlanError(
                f"{self.uri}: expected {failed[0]} as it was read, found that somebody has written to it since. None "
                f"of {len(changes)} leases was written.",
                fix="Stop every worker of the application, then give the same command again.",
            )
        return ApplyError(
            f"{self.uri}: expected DynamoDB to take {len(changes)} leases, but it says {code}: {message}. None was "
            "written.",
            fix=_RIGHTS if code in REFUSED else "Try again: the same command goes on from here.",
        )

    def _lost(self, changes: Sequence[Change], why: str) -> LostReplyError:
        return LostReplyError(
            f"{self.uri}: the reply to a write of {len(changes)} leases was lost, because {why}. Whether it was done "
            "is not known.",
            fix="Give the same command again: it reads the table first, and goes on from there.",
        )

    def _item(self, change: Change) -> Mapping[str, Any]:
        key = {KEY: {"S": change.key}}
        if change.before is None:
            return {
                "Put": {
                    "TableName": self.name,
                    "Item": change.after,
                    "ConditionExpression": "attribute_not_exists(#k)",
                    "ExpressionAttributeNames": {"#k": KEY},
                }
            }
        names = {f"#h{number}": name for number, name in enumerate(HELD)}
        values = {f":h{number}": change.before[name] for number, name in enumerate(HELD) if name in change.before}
        held = " AND ".join(
            f"#h{number} = :h{number}" if name in change.before else f"attribute_not_exists(#h{number})"
            for number, name in enumerate(HELD)
        )
        common = {"TableName": self.name, "Key": key, "ConditionExpression": held}
        if change.after is None:
            return {"Delete": common | {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}}
        new = [name for name, value in change.after.items() if change.before.get(name) != value]
        gone = [name for name in change.before if name not in change.after]
        names |= {f"#n{number}": name for number, name in enumerate((*new, *gone))}
        values |= {f":n{number}": change.after[name] for number, name in enumerate(new)}
        update = "SET " + ", ".join(f"#n{number} = :n{number}" for number in range(len(new)))
        if gone:
            update += " REMOVE " + ", ".join(f"#n{number}" for number in range(len(new), len(new) + len(gone)))
        return {
            "Update": common
            | {
                "UpdateExpression": update,
                "ExpressionAttributeNames": names,
                "ExpressionAttributeValues": values,
            }
        }


def _said(error: Any) -> tuple[str, str]:
    body = error.response.get("Error", {})
    return str(body.get("Code", "")), str(body.get("Message", ""))[:200]
