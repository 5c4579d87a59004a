"""Serves the console over a sink's cluster that always says the same: `python -m tests.browser.settling PORT`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from offsetwise.console.server.launch import launch
from offsetwise.progress import Progress
from offsetwise.transactions.decisions import Decision
from offsetwise.transactions.report import LogEnds, SinkTransactions
from tests.console import clusters_of_tests
from tests.console.test_draft_settling import HOSTILE, SinkReader
from tests.transactions.settling import row
from tests.transactions.test_upgrade import broker, facts, judged

ROWS = (
    row(0, Decision.COMMIT),
    row(1, Decision.ABORT),
    row(2, Decision.NOTHING, partitions=(), broker_state="CompleteCommit", left_ms=None),
    row(5, Decision.UNEXPLAINED, reason="It is open and ends with checkpoint 2, which does not hold it."),
    row(6, Decision.UNEXPLAINED, transactional_id=HOSTILE, reason=f"{HOSTILE} is open."),
)


class Shown(SinkReader):
    """Returns of the partitions and of two-phase commit as well."""

    def sink_transactions(
        self, migration: str, name: str, topics: tuple[str, ...], progress: Progress
    ) -> SinkTransactions:
        return replace(
            super().sink_transactions(migration, name, topics, progress),
            partitions=(
                LogEnds(topic="sink", partition=0, last_stable_offset=10, log_end_offset=77),
                LogEnds(topic="sink", partition=1, last_stable_offset=40, log_end_offset=40),
            ),
            upgrade=judged(facts(broker(version=5)), timeout_ms=3_600_000),
        )


if __name__ == "__main__":
    reader = Shown(*ROWS)
    reader.clusters |= clusters_of_tests.reference()
    launch(port=int(sys.argv[1]), reader=reader, access_file=Path("access.yaml"), store_url="sqlite:///plans.sqlite")
