"""A plan drafted from files that somebody changed: refused in a sentence, or one that every command reads."""

from __future__ import annotations

import copy
import functools
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import offsetwise as ow
from offsetwise.errors import OffsetwiseError
from offsetwise.plan.options import target
from offsetwise.plan.reading import read_plan
from tests.plan.scene import SAMPLE
from tests.with_cases import with_cases

SAMPLES: Final = {
    "spark-checkpoint": (SAMPLE, "payments"),
    "flink-savepoint": (SAMPLE.parent / "sample_flink", "order-counts"),
    "kcl-leases:x": (SAMPLE.parent / "sample_kinesis", "orders-app"),
}
NUMBERS: Final = (-1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 10**18, 100_000, 100_001)


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every number, written as one or as a text."""
    as_text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if as_text.removeprefix("-").isdecimal():
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from numbers(inner, (*path, key))


@with_cases("kind", SAMPLES)
def test_what_is_drafted_from_changed_numbers_can_be_read_or_is_refused(kind: str, tmp_path: Path) -> None:
    folder, name = SAMPLES[kind]
    job = ow.Migration.load(folder / "migration.yaml").checkpoint(name)
    whole = json.loads((folder / f"comparison-{name}.json").read_text(encoding="utf-8"))
    places = defaultdict(list)
    for path in numbers(whole):
        places[tuple("*" if isinstance(key, int) else key for key in path)].append(path)
    random, file = Random(kind), tmp_path / "comparison.json"
    changes = [(place, number) for place in places for number in NUMBERS]
    restart = [(place, -1) for place in places if place[-3:] == ("restart", "*", "old")]
    for place, number in [*random.sample(changes, 30), *restart]:
        path = random.choice(places[place])
        body = copy.deepcopy(whole)
        holder = functools.reduce(lambda inner, key: inner[key], path[:-1], body)
        holder[path[-1]] = str(number) if isinstance(holder[path[-1]], str) else number
        file.write_text(json.dumps(body), encoding="utf-8")
        try:
            compared = ow.load_comparison(file, folder / "old.json", folder / "new.json")
            plan = job.draft(target(kind), author="ada", comparison=compared)
        except OffsetwiseError:
            continue
        assert read_plan(plan.content, subject="plan"), (path, number)
