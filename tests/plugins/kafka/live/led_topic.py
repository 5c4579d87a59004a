"""The topic of tests that lead what changes a group elsewhere, or lie to it: written once on the lab."""

from __future__ import annotations

from functools import cache
from typing import Final

from tests.integration.groups import commit
from tests.integration.topics import copies, create, produce

TOPIC: Final = "led-away"
RECORDS: Final = 40
GONE: Final = 10
"""How many records the new cluster lacks."""


@cache
def fill(bootstrap: str, first: int) -> None:
    """Write the topic of a cluster, once for all modules whose tests use it.

    Args:
        bootstrap: The cluster's.
        first: The first record that it has.
    """
    create(bootstrap, TOPIC)
    produce(bootstrap, {TOPIC: copies(first, RECORDS)})
    commit(bootstrap, "led-first", {TOPIC: 0})  # a cluster makes the topic of its groups for the first one
