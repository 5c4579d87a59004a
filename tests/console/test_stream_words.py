"""What is said of the Kinesis sample is said in the words of Kinesis: findings, the start gate, pages and commands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from streamlit.testing.v1 import AppTest

from offsetwise.bundled import Bundled
from offsetwise.console.reader import Offered
from offsetwise.findings import Stage, findings, worded
from offsetwise.model import Subject
from offsetwise.plan.strategies import terms_for
from offsetwise.plugins.kinesis.stream.spec import SPEC
from offsetwise.review.access import Role
from offsetwise.workflow import sample
from tests.commands import call
from tests.console.test_every_sample import JOBS, _board, frozen_of, page_of, ways_of
from tests.screens import EXPLORE, OF_ONE_MIGRATION
from tests.with_cases import with_cases

__all__ = ["_board"]

KAFKAS: Final = re.compile(r"\b(topic|partition|offset|cluster)s?\b", re.IGNORECASE)
ALLOWED: Final = {
    "code, and keys of files": r"`[^`]*`",
    "what options of commands take": r"\b(topic(:partition|:shard)?|TOPIC(:PARTITION)?)=(offset\b)?",
    "what is said of Kafka by name": r"\b(Kafka|MirrorMaker)(’s|'s)? (topic|offset|cluster)s?",
    "the mirror's own": r"\bMirrorMaker's own topics",
    "of Kinesis": r"\bpartition keys?\b",
    "of Spark": r"\b([Oo]ffset log|source offsets|spark\.sql\.shuffle\.partitions)\b|\boffsets/",
    "the end of a path, or of what an option takes": r"[/-](topic|offset)s?\b",
    "where a link leads": r"\(#[a-z-]+\)",
    "the name of a page": rf"^({'|'.join(name.capitalize() for name in EXPLORE)})$",
}
"""Kafka's words that stay, and why."""
KINESIS: Final = [(offered, subject) for offered, subject in JOBS if offered.terms]
ALL: Final = with_cases(("offered", "subject"), KINESIS, ids=[subject.name for _, subject in KINESIS])
PAGES: Final = (
    *(f"explore/{name}" for name in OF_ONE_MIGRATION),
    *("operate/fleet", "operate/audit", "plan/draft"),
)
"""All but Overview, which speaks of every sample, and of Kafka first."""
FOLDER: Final = Bundled.KINESIS.file("")


def kafkas(texts: Iterable[str], also: Iterable[str] = ()) -> list[str]:
    """Return the lines that have a word of Kafka's that is not allowed.

    Args:
        texts: Sentences and labels, which may be Markdown.
        also: Texts in which every word is allowed.
    """
    kept = re.compile("|".join([*map(re.escape, also), *ALLOWED.values()]))
    lines = dict.fromkeys(line.strip() for text in texts for line in re.sub(r"\\(.)", r"\1", text).splitlines())
    return [line for line in lines if KAFKAS.search(kept.sub("", line))]


def texts_of(page: AppTest) -> Iterator[str]:
    """Yield every text of a page but code, which has commands and files."""
    for part in (*page.markdown, *page.error, *page.warning, *page.info, *page.success, *page.caption):
        yield str(part.value)
    for heading in (*page.title, *page.header, *page.subheader):
        yield re.sub(r"<[^>]*>", "", heading.value)
    choices: tuple[Any, ...] = (*page.selectbox, *page.multiselect, *page.button, *page.text_input, *page.checkbox)
    for part in (*choices, *page.metric, *page.tabs, *page.expander):
        yield part.label
        yield getattr(part.proto, "help", "")
        yield from map(str, getattr(part, "options", ()))
    for shown in page.dataframe:
        table = shown.value
        yield from (str(cell) for name in table.columns for cell in table[name])
        columns = json.loads(shown.proto.columns)
        yield from (columns.get(name, {}).get("label") or name for name in map(str, table.columns))
        yield from (column.get("help") or "" for column in columns.values())


def of_kafka(offered: Offered, subject: Subject) -> list[str]:
    """Return what the ways say that have room for Kafka's offsets alone."""
    migration = sample(Bundled.KINESIS)
    ways = [each.kind for each in ways_of(frozen_of(offered, subject)) if not terms_for(each.kind, migration)]
    told = [text for way in ways for text in (way.title, *way.keeps, *way.gives_up, *way.needs)]
    assert kafkas(told)
    return told


@ALL
def test_every_page_is_in_the_words_of_the_stream(offered: Offered, subject: Subject) -> None:
    pages = {path: [*texts_of(page_of(path, offered, subject))] for path in PAGES}
    also = of_kafka(offered, subject)
    assert not {(path, line) for path, texts in pages.items() for line in kafkas(texts, also)}


@ALL
def test_every_way_is_judged_in_the_words_of_the_stream(offered: Offered, subject: Subject) -> None:
    page_of("explore/compare", offered, subject)
    also = of_kafka(offered, subject)
    for way in ways_of(frozen_of(offered, subject)):
        page = page_of("plan/draft", offered, subject, play=Role.AUTHOR.value, way=way.kind.title)
        assert not kafkas(texts_of(page), also), way.kind.title


@ALL
def test_a_plan_is_reviewed_and_exported_in_the_words_of_the_stream(offered: Offered, subject: Subject) -> None:
    page = page_of("plan/draft", offered, subject, play=Role.AUTHOR.value)
    page.button(key="submit").click().run()
    assert not kafkas(texts_of(page), of_kafka(offered, subject))
    reviewed = page_of("plan/review", offered, subject, play=Role.REVIEWER.value, plan="1")
    assert not kafkas(texts_of(reviewed))
    for field in reviewed.text_input:
        if field.label.startswith(("Type ", "Approve in spite of")):
            field.set_value(subject.name if field.label.startswith("Type ") else "It was looked at by both of us.")
    reviewed.run().button(key="approve-1").click().run()
    assert not kafkas(texts_of(reviewed))
    assert not kafkas(texts_of(page_of("plan/export", offered, subject, play=Role.REVIEWER.value, plan="1")))


@ALL
def test_commands_answer_in_the_words_of_the_stream(offered: Offered, subject: Subject, tmp_path: Path) -> None:
    of = ("--migration", FOLDER / "migration.yaml", "--checkpoint", subject.name)
    snapshots = ("--snapshots", FOLDER / "old.json", FOLDER / "new.json")
    said = [call("compare", *of, *snapshots, "--no-content", width=200)]
    assert "UNTRANSLATED" in said[0].out
    uri = next(uri for name, uri in offered.destination.checkpoints if name == subject.name)
    said += [call("inspect", uri, width=200)]
    assert "shardId-000000000001" in said[1].out
    for target in ("starting-position", "kcl-leases:orders-app", "spark-checkpoint", "starting-offsets"):
        given = (*snapshots, "--comparison", FOLDER / f"comparison-{subject.name}.json", "--author", "ann")
        out = ("--out", tmp_path / f"{target.partition(':')[0]}.json")
        said += [call("draft", *of, *given, "--target", target, *out, width=200)]
    assert {each.code for each in said} == {0, 1}, "there are plans, and refusals"
    assert not kafkas(text for each in said for text in (each.out, each.err))


def test_every_finding_is_in_the_words_of_the_stream() -> None:
    # Share groups and applications of Kafka Streams are Kafka's own: no stream of Kinesis has them.
    kinds = [kind for kind in findings().values() if not kind.of_sink and kind.stage is not Stage.GROUP]
    told = [worded(kind.problem(f"{kind.title}."), SPEC.terms) for kind in kinds]
    assert len(told) > 80
    assert not {(each.code, line) for each in told for line in kafkas((each.message, each.fix))}
