"""The lease table of an application: created, deleted, and written only if it is as it was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from offsetwise.errors import ApplyError, LostReplyError, OffsetwiseError, StalePlanError
from offsetwise.plugins.kinesis.kcl.kinesis import KEY
from offsetwise.plugins.kinesis.stream.tables import RIGHTS, DynamoTable, TableState, answer_of
from offsetwise.plugins.kinesis.targets.kcl.images import HELD
from offsetwise.plugins.kinesis.targets.kcl.spec import KCL_3
from offsetwise.storage.dynamodb import REFUSED, Item

AT_ONCE: Final = 100
"""Rows of one transaction, which DynamoDB writes all or none."""
POLL_S: Final = 1.0
LOOKS: Final = 300
"""How often the state of a table being created or deleted is read, `POLL_S` apart: AWS takes some 10 seconds."""
_UNSURE: Final = frozenset({"InternalServerError", "InternalFailure", "ServiceUnavailable"})
_OWNER: Final = "leaseOwner"
_INDEX: Final = "LeaseOwnerToLeaseKeyIndex"
"""The index by which KCL 3 finds a worker's leases (`DynamoDBLeaseSerializer` of amazon-kinesis-client 3.5.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseChange:
    """One row, before and after; None if there is none."""

    key: str
    before: Item | None
    after: Item | None


class LeaseTable(DynamoTable):
    def create(self, kcl: str) -> None:
        """Request the creation of a table in the layout of a KCL version, billed per request.

        It exists some time later.

        Args:
            kcl: `KCL_3`, or an earlier version, whose tables have no more than the lease's key.

        Raises:
            StalePlanError: There is one already; none was created.
            LostReplyError: It is not known whether it was created.
            ApplyError: It was refused; none was created.
        """
        attributes, more = [KEY], {}
        if kcl == KCL_3:
            attributes.append(_OWNER)
            keys = [{"AttributeName": _OWNER, "KeyType": "HASH"}, {"AttributeName": KEY, "KeyType": "RANGE"}]
            index = {"IndexName": _INDEX, "KeySchema": keys, "Projection": {"ProjectionType": "KEYS_ONLY"}}
            more = {"GlobalSecondaryIndexes": [index]}
        self._ask(
            "create",
            lambda: self._client.create_table(
                TableName=self.name,
                KeySchema=[{"AttributeName": KEY, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in attributes],
                BillingMode="PAY_PER_REQUEST",
                **more,
            ),
        )

    def delete(self) -> None:
        """Request the deletion of the table, with all its rows. It is gone some time later.

        Raises:
            StalePlanError: It is being created or deleted.
            LostReplyError: It is not known whether it is being deleted.
            ApplyError: It was refused; the table still exists.
        """
        self._ask("delete", lambda: self._client.delete_table(TableName=self.name))

    def _ask(self, verb: str, call: Callable[[], Any]) -> None:
        try:
            call()
        except self._of.ClientError as error:
            code, message = answer_of(error)
            if code in _UNSURE:
                raise self._unanswered(verb, f"DynamoDB says {code}") from error
            if code == "ResourceInUseException":
                raise StalePlanError(
                    f"{self.uri}: expected to {verb} the table, but DynamoDB says that it is in use: {message}. "
                    f"Nothing was {verb}d.",
                    fix="Find out who creates or deletes it. Once it is at rest, compare again, and draft the plan "
                    "from what is there.",
                ) from error
            raise ApplyError(
                f"{self.uri}: expected DynamoDB to {verb} the table, but it says {code}: {message}. Nothing was "
                f"{verb}d.",
                fix=RIGHTS if code in REFUSED else "Try again: the same command continues from here.",
            ) from error
        except (self._of.EndpointConnectionError, self._of.NoCredentialsError) as error:
            raise ApplyError(
                f"{self.uri}: expected DynamoDB to {verb} the table, but {error}. Nothing was {verb}d.",
                fix="Check network, endpoint and credentials, then run the same command again.",
            ) from error
        except self._of.BotoCoreError as error:
            raise self._unanswered(verb, str(error)) from error

    def _unanswered(self, verb: str, why: str) -> LostReplyError:
        return LostReplyError(
            f"{self.uri}: the reply to a request to {verb} the table was lost, because {why}. Whether it was done is "
            "not known.",
            fix="Run the same command again: it looks at the table first, and continues from there.",
        )

    def until_active(self, wait: Callable[[float], None]) -> TableState:
        """Wait until the table can be written to, and return its state then.

        Raises:
            ApplyError: It cannot after `LOOKS` looks.
            ClusterError: DynamoDB does not answer.
        """
        state = None
        for _ in range(LOOKS):
            state = self.state()
            if state is not None and state.is_active:
                return state
            wait(POLL_S)
        raise self._slow("ACTIVE", state)

    def until_gone(self, wait: Callable[[float], None]) -> None:
        state = None
        for _ in range(LOOKS):
            state = self.state()
            if state is None:
                return
            wait(POLL_S)
        raise self._slow("deleted", state)

    def _slow(self, expected: str, state: TableState | None) -> ApplyError:
        result = "no table" if state is None else f"the status {state.status}"
        return ApplyError(
            f"{self.uri}: expected the table to be {expected} within {LOOKS * POLL_S:,.0f} seconds, found {result}.",
            fix="Run the same command again: it continues from here.",
        )

    def write(self, changes: Sequence[LeaseChange]) -> None:
        """Write up to `AT_ONCE` rows, all or none, if each is as it was read.

        Raises:
            StalePlanError: A row has changed; none was written.
            LostReplyError: It is not known whether they were written.
            ApplyError: It was refused; none was written.
        """
        try:
            self._client.transact_write_items(TransactItems=[self._item(change) for change in changes])
        except self._of.ClientError as error:
            raise self._refused(error, changes) from error
        except (self._of.EndpointConnectionError, self._of.NoCredentialsError) as error:
            raise ApplyError(
                f"{self.uri}: expected DynamoDB to take {len(changes):,} rows, but {error}. None was written.",
                fix="Check network, endpoint and credentials, then run the same command again.",
            ) from error
        except self._of.BotoCoreError as error:
            raise self._lost(changes, str(error)) from error

    def _refused(self, error: Any, changes: Sequence[LeaseChange]) -> OffsetwiseError:
        code, message = answer_of(error)
        if code in _UNSURE:
            return self._lost(changes, f"DynamoDB says {code}")
        reasons = error.response.get("CancellationReasons", [])
        failed = [
            change.key
            for change, why in zip(changes, reasons, strict=False)
            if why.get("Code") == "ConditionalCheckFailed"
        ]
        if failed:
            return StalePlanError(
                f"{self.uri}: expected {failed[0]} as it was read, found that somebody has written to it since. None "
                f"of {len(changes):,} leases was written.",
                fix="Stop every worker of the application, then apply the plan with another --receipt: this one keeps "
                "the leases as they were read before.",
            )
        return ApplyError(
            f"{self.uri}: expected DynamoDB to take {len(changes):,} leases, but it says {code}: {message}. None was "
            "written.",
            fix=RIGHTS if code in REFUSED else "Try again: the same command continues from here.",
        )

    def _lost(self, changes: Sequence[LeaseChange], why: str) -> LostReplyError:
        return LostReplyError(
            f"{self.uri}: the reply to a write of {len(changes):,} leases was lost, because {why}. Whether it was done "
            "is not known.",
            fix="Run the same command again: it reads the table first, and continues from there.",
        )

    def _item(self, change: LeaseChange) -> Mapping[str, Any]:
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
        condition = " AND ".join(
            f"#h{number} = :h{number}" if name in change.before else f"attribute_not_exists(#h{number})"
            for number, name in enumerate(HELD)
        )
        common = {"TableName": self.name, "Key": key, "ConditionExpression": condition}
        if change.after is None:
            return {"Delete": common | {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}}
        new = [name for name, value in change.after.items() if change.before.get(name) != value]
        removed = [name for name in change.before if name not in change.after]
        names |= {f"#n{number}": name for number, name in enumerate((*new, *removed))}
        values |= {f":n{number}": change.after[name] for number, name in enumerate(new)}
        update = "SET " + ", ".join(f"#n{number} = :n{number}" for number in range(len(new)))
        if removed:
            update += " REMOVE " + ", ".join(f"#n{number}" for number in range(len(new), len(new) + len(removed)))
        return {
            "Update": common
            | {
                "UpdateExpression": update,
                "ExpressionAttributeNames": names,
                "ExpressionAttributeValues": values,
            }
        }
