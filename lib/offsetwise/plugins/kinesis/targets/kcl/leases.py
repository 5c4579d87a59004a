"""Checks with two looks at the leases that the workers of an application are stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from offsetwise.errors import RunningQueryError
from offsetwise.plugins.kinesis.targets.kcl.spec import COUNTER, Leases, read_leases
from offsetwise.plugins.kinesis.targets.kcl.table import LeaseTable

APART_S: Final = 20.0
"""Twice the KCL's default `failoverTimeMillis`: a worker renews its leases every third of it."""


def require_stopped(table: LeaseTable, before: Leases, wait: Callable[[float], None]) -> Leases:
    """Look again after twice the failover time: a running worker has renewed its leases by then.

    Raises:
        RunningQueryError: A worker has.
        ApplyError: See `read_leases`.
        ClusterError: See `read_leases`.
    """
    wait(APART_S)
    now = read_leases(table)
    for key, row in now.rows.items():
        was = before.rows.get(key)
        counters = ("none" if was is None else was[COUNTER]["N"], row[COUNTER]["N"])
        if counters[0] != counters[1]:
            worker = row.get("leaseOwner", row.get("checkpointOwner", {"S": "a worker"}))["S"]
            raise RunningQueryError(
                f"{table.uri}: expected every worker of the application to be stopped, found that {worker!r} renews "
                f"the lease {key}: its counter went from {counters[0]} to {counters[1]} within {APART_S:.0f} seconds. "
                "Nothing was written.",
                fix="Stop every worker, then run the same command again.",
            )
    return now
