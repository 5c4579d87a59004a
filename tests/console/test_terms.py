"""The pages of a stream with words of its own: labels name shards, streams and sequence numbers, over every sample."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

import pytest
from streamlit.testing.v1 import AppTest

from offsetwise.console.reader import Offered
from offsetwise.console.widgets.terms import in_words
from offsetwise.model import Subject
from tests.console.test_every_sample import JOBS, _board, page_of
from tests.with_cases import with_cases

__all__ = ["_board"]

PAGES: Final = ("explore/checkpoint", "explore/clusters", "explore/compare", "explore/lag", "plan/draft")
KAFKAS: Final = re.compile(r"\b(topic|partition|offset)s?\b", re.IGNORECASE)


def labels(page: AppTest) -> Iterator[str]:
    """Yield what heads, labels and offers the parts of a page; no name stands in it."""
    for heading in (*page.header, *page.subheader):
        yield re.sub(r":gray\[.*\]", "", heading.value)
    choices = (*page.selectbox, *page.multiselect, *page.button, *page.text_input)
    for part in (*page.metric, *choices, *page.tabs, *page.expander):
        yield part.label
    for shown in page.dataframe:
        columns = json.loads(shown.proto.columns)
        yield from (columns.get(name, {}).get("label") or name for name in map(str, shown.value.columns))


@with_cases(("offered", "subject"), JOBS, ids=[f"{each.name} {of.name}" for each, of in JOBS])
def test_labels_are_in_the_words_of_the_stream(offered: Offered, subject: Subject) -> None:
    found = [
        (path, label) for path in PAGES for label in labels(page_of(path, offered, subject)) if KAFKAS.search(label)
    ]
    assert bool(found) != bool(offered.terms), found


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("Topics CSV", "Streams CSV"),
        ("old offset", "old sequence number"),
        ("3 partitions, each partition on its own", "3 shards, each shard on its own"),
        ("Offsets", "Sequence numbers"),
        ("repartition, topical, offsetting", "repartition, topical, offsetting"),
    ],
)
def test_words_are_replaced_whole_with_plural_and_capital(label: str, said: str) -> None:
    assert in_words(label, {"topic": "stream", "partition": "shard", "offset": "sequence number"}) == said
