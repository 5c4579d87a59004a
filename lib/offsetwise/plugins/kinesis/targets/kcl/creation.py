"""Creates the table of an application, continues after an interruption, and deletes a table that this plan created.

DynamoDB neither creates nor deletes a table conditionally. The plan's own table is distinguished from somebody else's
of the same name by DynamoDB's creation time, which is recorded as soon as it is known. A call that ended between the
request and its answer leaves no time: the table then counts as the plan's own if it has the lease table's key and not
one row, so nobody's data can be in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from offsetwise.errors import LostReplyError, StalePlanError
from offsetwise.plugins.kinesis.kcl.kinesis import KEY
from offsetwise.plugins.kinesis.stream.tables import TableState
from offsetwise.plugins.kinesis.targets.kcl.table import LeaseTable
from offsetwise.wording import many, utc

DELETING: Final = "DELETING"
_DRAFT: Final = "Find out whose table it is. To write to it, draft the plan again without --set create_table=true."


def require_none(table: LeaseTable) -> None:
    """Require that there is no such table.

    Raises:
        StalePlanError: There is one.
        ClusterError: DynamoDB does not answer.
    """
    state = table.state()
    if state is not None:
        raise StalePlanError(
            f"{table.uri}: expected no table of this name, because the plan creates it, found one that was created at "
            f"{utc(state.created_ms)}. Nothing was written.",
            fix=_DRAFT,
        )


def require_own(table: LeaseTable, state: TableState, created_ms: int | None) -> None:
    """Require that the table is the one that this plan created.

    Args:
        table: The table.
        state: Its description by DynamoDB.
        created_ms: When this plan created it, epoch ms; None if an earlier call did not get the answer.

    Raises:
        StalePlanError: It is another one.
        ClusterError: It cannot be read.
    """
    if created_ms is None:
        own = state.keys == ((KEY, "HASH"),) and not table.rows_of(table.name)
        expected = "an empty lease table, which an earlier call may have created"
    else:
        own = state.created_ms == created_ms
        expected = f"the table that this plan created at {utc(created_ms)}"
    if not own:
        raise StalePlanError(
            f"{table.uri}: expected {expected}, found one that was created at {utc(state.created_ms)}. Nothing was "
            "written to it.",
            fix=_DRAFT,
        )


def require_only(table: LeaseTable, keys: set[str]) -> None:
    """Require that the table has no other rows, of any entity, than those with these keys.

    Raises:
        StalePlanError: It has another row.
        ClusterError: DynamoDB does not answer.
    """
    others = [key for row in table.rows_of(table.name) or () if (key := row[KEY]["S"]) not in keys]
    if others:
        raise StalePlanError(
            f"{table.uri}: expected nothing but the {many(len(keys), 'lease')} that this plan wrote, found the row "
            f"{min(others)}: an application has begun on the table. It was not deleted.",
            fix="Leave the table to the application. To delete it all the same: aws dynamodb delete-table "
            f"--table-name {table.name}",
        )


def create(table: LeaseTable, kcl: str, created_ms: int | None, wait: Callable[[float], None]) -> int:
    """Create the table, or continue with the one that an earlier call created, until leases can be written to it.

    Args:
        table: The table.
        kcl: The version of the KCL whose layout it gets.
        created_ms: When an earlier call created it, epoch ms; None if none did, or it did not get the answer.
        wait: Waits the given number of seconds.

    Returns:
        When it was created, epoch ms.

    Raises:
        StalePlanError: There is one that is not this plan's.
        LostReplyError: It is not known yet whether it was created.
        ApplyError: It was refused, or is not ready.
        ClusterError: DynamoDB does not answer.
    """
    if table.state() is None:
        try:
            table.create(kcl)
        except LostReplyError:
            if table.state() is None:
                raise
    state = table.until_active(wait)
    require_own(table, state, created_ms)
    return state.created_ms


def delete(table: LeaseTable, wait: Callable[[float], None]) -> None:
    """Delete the table with all its rows, and wait until it is gone.

    Raises:
        StalePlanError: It is just being created or changed.
        LostReplyError: It is not known yet whether it is being deleted.
        ApplyError: It was refused, or takes longer than usual.
        ClusterError: DynamoDB does not answer.
    """
    try:
        table.delete()
    except LostReplyError:
        state = table.state()
        if state is not None and state.status != DELETING:
            raise
    table.until_gone(wait)
