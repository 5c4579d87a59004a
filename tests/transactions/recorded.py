"""Savepoints of real KafkaSink jobs, what the coordinator said of their transactions, and what EndTxn answers.

Recorded with Kafka 4.1.1 (transaction.version 2) and Flink 1.20.3, 2.0.1 and 2.2.0 (connectors 3.4.0, 4.0.1, 5.0.0).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from offsetwise.model import Transaction
from offsetwise.plugins.flink.engine.checkpoint import read_checkpoint

DATA: Final = Path(__file__).parents[1] / "data" / "transactions"
SAVEPOINTS: Final = tuple(sorted(str(path.parent.relative_to(DATA)) for path in DATA.glob("*/*/_metadata")))


def held(name: str) -> tuple[Transaction, ...]:
    """Return the transactions that a recorded savepoint holds."""
    return read_checkpoint(str(DATA / name)).details.transactions


def recorded(name: str) -> Any:
    """Return a file of records."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
