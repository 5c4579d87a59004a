"""Serves the console over values, in a process of its own: `python -m tests.browser.serve PORT [SCENARIO]`."""

from __future__ import annotations

import sys
import threading

from offsetwise.console.desk import Reader
from offsetwise.console.launch import launch
from offsetwise.errors import ClusterAuthError, ClusterUnreachableError
from tests.console import builders
from tests.console.readers import ValueReader

SLOW_S = 6


class Slow(threading.Event):
    """Lets an answer through a while after it was asked for, so that its steps are seen however late that is."""

    def wait(self, timeout: float | None = None) -> bool:
        super().wait(min(timeout or SLOW_S, SLOW_S))
        return True


def reader(scenario: str) -> Reader:
    rows = builders.reference_rows()
    match scenario:
        case "reference":
            return ValueReader(live=builders.comparison(migration="orders-to-new"))
        case "slow":
            return ValueReader(live=builders.comparison(migration="orders-to-new"), gate=Slow())
        case "two":
            return ValueReader({"orders": builders.comparison(rows[:2])})
        case "seven":
            return ValueReader({"orders": builders.comparison(rows[:7])})
        case "many":
            return ValueReader({"orders": builders.comparison(builders.many_rows(10_000))})
        case "topics":
            return ValueReader({"orders": builders.comparison(builders.many_rows(10_000, per_topic=20))})
        case "hostile":
            return ValueReader({"orders": builders.comparison(builders.hostile_rows())})
        case "huge":
            beyond = 9_007_199_254_740_993
            log = (beyond - 50, beyond + 50)
            return ValueReader(
                {"orders": builders.comparison((builders.partition(old=beyond, new=950, old_log=log), rows[1]))}
            )
        case "empty":
            return ValueReader({"orders": builders.comparison(())})
        case "down":
            return ValueReader(
                live=ClusterUnreachableError(
                    "Cluster 'new': expected an answer within 20 s, none came. Nothing was compared.",
                    fix="Check that the broker runs and that this machine may reach it, then try again.",
                )
            )
        case "denied":
            return ValueReader(
                live=ClusterAuthError(
                    "Cluster 'new': expected to be allowed to Describe topic 'orders', the broker refused.",
                    fix="Grant the user Describe and Read on the topic, then try again.",
                )
            )
    raise SystemExit(f"unknown scenario {scenario}")


if __name__ == "__main__":
    launch(port=int(sys.argv[1]), reader=reader(sys.argv[2]) if len(sys.argv) > 2 else None)
