"""Which tests run in one process when there are several.

All that use the lab, in two halves; all on servers of Kinesis; those of one file, so that what they share is made once;
of the browser each on its own, because what these share is made once for each process, and some files of theirs are
long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pytest

LAB: Final = "lab"
"""The group of tests that use the lab."""
SECOND_LAB: Final = "second-lab"
"""The other half of them, with a lab of its own: all in one process would end long after everything else."""
_ON_SECOND_LAB: Final = frozenset(
    {
        "test_approval_live",
        "test_end_to_end",
        "test_flink_live",
        "test_leading_away_live",
        "test_lying_brokers",
        "test_lying_to_writers",
        "test_other_tools",
        "test_plugin",
        "test_spark_repairs_live",
        "test_windows_live",
    }
)
"""Files that take about half of the time of all."""
KINESIS: Final = "kinesis"
"""The group of all tests on servers of Kinesis and DynamoDB, which start slowly and are shared."""
_FORTY_JOBS: Final = "tests/integration/test_forty_jobs.py"
_REMEDIES: Final = "tests/remedies/test_remedies.py"
_LONG: Final = {LAB: 0, SECOND_LAB: 1, KINESIS: 2, _FORTY_JOBS: 3, _REMEDIES: 4}
"""The groups that take longest, in the order in which they begin: what begins last would end alone."""
_SERVERS: Final = frozenset({"kinesis_mock", "kinesalite", "dynamodb_local"})
REAL: Final = frozenset({LAB, "own_lab", "secured", "browser", *_SERVERS})
"""The fixtures that stand for real clusters, servers and a real browser."""


def mark(items: list[pytest.Item]) -> None:
    """Give each test the group that xdist keeps in one process, mark what is proof, and begin with the longest."""
    for item in items:
        if (group := group_of(item)) is not None:
            item.add_marker(pytest.mark.xdist_group(group))
        if not REAL.isdisjoint(fixtures(item)):
            item.add_marker(pytest.mark.proof)
    items.sort(key=lambda item: _LONG.get(group_of(item) or "", len(_LONG)))


def group_of(item: pytest.Item) -> str | None:
    """Return the group of a test; None for one that may run anywhere."""
    if LAB in fixtures(item):
        return SECOND_LAB if item.path.stem in _ON_SECOND_LAB else LAB
    if not _SERVERS.isdisjoint(fixtures(item)):
        return KINESIS
    if "browser" in fixtures(item) and not _shares(item):
        return None
    return without_group(item.nodeid).partition("::")[0]


def _shares(item: pytest.Item) -> bool:
    """Return whether a test asks for something that is made once for its file."""
    found: dict[str, Sequence[pytest.FixtureDef[object]]] = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009
    return any(made[-1].scope in ("module", "class", "package") for made in found.values())


def fixtures(item: pytest.Item) -> Iterable[str]:
    """Return the names of all fixtures that a test asks for, and of those that these ask for."""
    names: Iterable[str] = getattr(item, "fixturenames", ())
    return names


def without_group(nodeid: str) -> str:
    """Return a test's id as pytest has it: with `--dist loadgroup`, xdist adds the group."""
    name, at, group = nodeid.rpartition("@")
    return name if at and (group in _LONG or name.startswith(f"{group}::")) else nodeid
