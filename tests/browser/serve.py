"""Serves the console over values, in a process of its own: `python -m tests.browser.serve PORT [SCENARIO]`."""

from __future__ import annotations

import sys

from offsetwise.console.server.launch import launch
from tests.browser import reviews, scenarios

if __name__ == "__main__":
    if sys.argv[2:] == ["lost"]:
        reviews.waiting()
    if sys.argv[2:] == ["topics"]:
        reviews.waiting(scenarios.PARTITIONS)
    if sys.argv[2:] == ["jobs"]:
        reviews.set_waiting(scenarios.JOBS)
    launch(port=int(sys.argv[1]), reader=scenarios.reader(sys.argv[2]) if len(sys.argv) > 2 else None)
