"""Write a survey as a migration file: each line with its evidence, and unknown values as comments."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Final
from urllib.parse import quote

import yaml

from offsetwise.config import is_uri
from offsetwise.engines.registry import engine_of
from offsetwise.lookalikes import invisible
from offsetwise.model import Cluster, Link
from offsetwise.strict_yaml import MAX_BYTES
from offsetwise.survey.missing_values import OF_A_JOB, OF_THE_MIGRATION
from offsetwise.survey.results import (
    Survey,
    SurveyedCheckpoint,
    SurveyedCluster,
    SurveyedConnector,
    SurveyedGroup,
    SurveyedLink,
)
from offsetwise.wording import many, sentence

WIDTH: Final = 118
SHOWN: Final = 10
"""How many names a comment lists."""
FILES: Final = ("ca", "certificate", "key")
"""The keys of credentials whose values are paths."""
LEFT_OUT: Final = 100
"""How many comments about omitted elements a list has."""
Item = tuple[str, ...]
"""The lines of one element of a list or map, with its comments first, without indentation."""

_HEAD: Final = """\
Written by `offsetwise init` at {at}, from both clusters and the checkpoints as they were then.
A comment gives the evidence for its line. A key behind a # could not be determined: remove the # and set it.
docs/formats.md explains every key; `offsetwise init --out FILE --update` adds what has appeared since."""


def migration_text(survey: Survey, folder: Path, name: str, *, schema: str | None = None) -> tuple[str, int]:
    """Return the text of a migration file, and the number of checkpoints and groups that did not fit.

    Args:
        survey: The survey.
        folder: The folder of the file: paths below it are written relative.
        name: The migration's name.
        schema: The JSON Schema next to it, for completion in editors.
    """
    head = _head(survey, name, schema)
    room = MAX_BYTES - 10_000 - sum(len(line.encode()) + 1 for line in head)
    checkpoints = [
        checkpoint_item(checkpoint, folder) for checkpoint in survey.checkpoints if checkpoint.left_out is None
    ]
    groups = [group_item(group) for group in survey.groups if group.left_out is None]
    fitting_groups, room = _fitting(groups, room)
    fitting, _ = _fitting(checkpoints, room)
    lines = [
        *head,
        *(_section("checkpoint_roots", [root_item(root, folder) for root in survey.roots]) if survey.roots else ()),
        *_explained(survey),
        *_section("checkpoints", fitting),
        *_left_out((f"{checkpoint.name} ({checkpoint.uri})", checkpoint.left_out) for checkpoint in survey.checkpoints),
        "",
        *_connect(survey, folder),
        *_comment(_of_groups(survey)),
        *_section("groups", fitting_groups),
        *_left_out((group.name, group.left_out) for group in survey.groups),
        "",
        *_comment("Where records are compared; `remote: sc://HOST:PORT` for Spark Connect."),
        'spark: {master: "local[*]"}',
    ]
    return "\n".join(lines) + "\n", len(checkpoints) + len(groups) - len(fitting) - len(fitting_groups)


def _head(survey: Survey, name: str, schema: str | None) -> list[str]:
    return [
        *((f"# yaml-language-server: $schema={quote(schema)}",) if schema is not None else ()),
        *_comment(_HEAD.format(at=survey.taken_at)),
        "",
        f"name: {scalar(name)}",
        "",
        *_cluster("source", "old", survey.old, survey.link),
        *_cluster("target", "new", survey.new, survey.link),
        *_comment(sentence([survey.link.evidence])),
        f"link: {survey.link.link}"
        if survey.link.link is not None
        else "# link: mirrormaker  # or preserving, or other",
        "",
        *_topics(survey),
        *(line for key, (example, write) in OF_THE_MIGRATION.items() for line in _to_fill_in(key, example, write)),
    ]


def checkpoint_item(checkpoint: SurveyedCheckpoint, folder: Path) -> Item:
    engine = engine_of(checkpoint.engine or "")
    reads = f"{_names(checkpoint.topics)} ({many(checkpoint.partitions, 'partition')})"
    message = " ".join(
        (f"{engine.label}, {many(checkpoint.sources, 'source')}: {reads}. {checkpoint.reason}", *checkpoint.problems)
    )
    known = {
        "stateful": None if checkpoint.stateful is None else str(checkpoint.stateful).lower(),
        "sink": "kafka" if checkpoint.transactional_id_prefixes else None,
        "commits_to": None if checkpoint.commits_to is None else scalar(checkpoint.commits_to),
    }
    job = [f"{key}: {value}" for key, value in known.items() if value is not None]
    if checkpoint.transactional_id_prefixes:
        job[-1 if checkpoint.commits_to is None else -2] += (
            f"  # transactional ids begin with {_names(checkpoint.transactional_id_prefixes)}"
        )
    placeholders = [
        f"# {key}: {_plain(' or '.join(checkpoint.may_commit_to)) if key == 'commits_to' else example}"
        for key, (example, _, applies) in OF_A_JOB.items()
        if applies(checkpoint) and key not in (line.partition(":")[0] for line in job)
    ]
    return (
        *_comment(message, WIDTH - 2),
        f"- name: {scalar(checkpoint.name)}",
        f"  uri: {scalar(located(checkpoint.uri, folder))}",
        *(["  # belongs_to: old"] if checkpoint.belongs_to is None else []),
        "  job:" if job else "  # job:",
        *(f"    {line}" if job else f"  #   {line.removeprefix('# ')}" for line in (*job, *placeholders)),
    )


def connector_item(connector: SurveyedConnector, folder: Path) -> Item:
    offsets = f", {many(connector.partitions, 'offset')}" if connector.partitions else ""
    reads = f" It reads {_plain(connector.topics)[:200]}." if connector.topics else ""
    message = f"{connector.kind.capitalize()} connector, {connector.state}{offsets}: {connector.evidence}.{reads}"
    return (
        *_comment(" ".join((message, *connector.problems)), WIDTH - 2),
        f"- name: {scalar(connector.name)}",
        f"  connector: {scalar(connector.connector)}",
        f"  urls: [{', '.join(connector.urls)}]",
        *(["  cluster: new"] if connector.cluster is Cluster.NEW else []),
        *(
            f"  {name}: {scalar(located(value, folder) if name in FILES else value)}"
            for name, value in connector.sign_on
        ),
    )


def group_item(group: SurveyedGroup) -> Item:
    state = f", {_plain(group.state)}" if group.state else ""
    return (
        f"- {scalar(group.name)}  # committed in {_names(group.topics)} ({many(group.partitions, 'partition')}){state}",
    )


def root_item(root: str, folder: Path) -> Item:
    return (f"- {scalar(located(root, folder))}",)


def map_item(old: str, new: str) -> Item:
    return (f"{scalar(old)}: {scalar(new)}",)


def located(uri: str, folder: Path) -> str:
    """Return a path as written in the file: relative if it is in the file's folder. URIs are unchanged."""
    if is_uri(uri):
        return uri
    path = os.path.abspath(uri.removeprefix("file:"))
    relative = os.path.relpath(path, folder)
    return path if relative.startswith("..") else f"./{relative}" if relative != "." else "."


def scalar(value: str) -> str:
    style = None if value.isprintable() and not invisible(value) else '"'
    text: str = yaml.safe_dump(value, width=inf, allow_unicode=style is None, default_style=style)
    return text.removesuffix("\n").removesuffix("\n...")


def _cluster(key: str, name: str, cluster: SurveyedCluster, link: SurveyedLink) -> Iterator[str]:
    if cluster.topics is None:
        yield "# It could not be read when this was written."
    else:
        counts = f"{many(cluster.topics, 'topic')}, {many(cluster.partitions or 0, 'partition')}"
        yield from _comment(f"Cluster id {cluster.cluster_id or 'unknown'}: {counts}.")
    by = (
        "as MirrorMaker's topics call it"
        if link.link is Link.MIRRORMAKER
        else "what MirrorMaker calls it, if there is one"
    )
    yield from (
        f"{key}:",
        f"  name: {name}",
        f"  alias: {scalar(cluster.alias)}  # {by}",
        "  properties:",
    )
    for property_name, value in cluster.properties:
        secret = value.startswith("${")
        yield f"    {property_name}: {scalar(value)}" + ("  # set this variable in the environment" if secret else "")
    for property_name, why in cluster.left_out:
        yield from (f"    {line}" for line in _comment(f"left out: {property_name}: {why}", WIDTH - 4))
    yield ""


def _topics(survey: Survey) -> Iterator[str]:
    topics = survey.topics
    yield from _comment(sentence([topics.evidence]))
    yield from ("topics:", f"  policy: {topics.policy}", f"  separator: {scalar(topics.separator)}")
    yield "  map:" if topics.map else "  map: {}"
    yield from (f"    {line}" for old, new in topics.map for line in map_item(old, new))
    if topics.unmatched:
        message = (
            f"On the old cluster only, by their names: {_names(topics.unmatched)}. Of a copied one write OLD: NEW."
        )
        yield from (f"    {line}" for line in _comment(message, WIDTH - 4))
    yield ""


def _to_fill_in(key: str, example: str, write: str) -> Iterator[str]:
    yield from (*_comment(sentence([write])), f"# {key}: {example}", "")


def _explained(survey: Survey) -> Iterator[str]:
    yield ""
    jobs = [checkpoint for checkpoint in survey.checkpoints if checkpoint.left_out is None]
    yield from _comment(f"{many(len(jobs), 'checkpoint')} below the roots.")
    for key, (_, write, applies) in OF_A_JOB.items():
        if any(map(applies, jobs)):
            yield from _comment(f"job.{key}: {write}.")


def _connect(survey: Survey, folder: Path) -> Iterator[str]:
    connectors = survey.connectors
    if not connectors:
        return
    items = [connector_item(connector, folder) for connector in connectors if connector.left_out is None]
    yield from _comment(f"{many(len(items), 'sink connector')} of Kafka Connect; docs/connect.md says how they move.")
    yield from _section("connect", items)
    yield from _left_out((f"{connector.kind} {connector.name}", connector.left_out) for connector in connectors)
    yield ""


def _of_groups(survey: Survey) -> str:
    if survey.old.groups is None:
        return "Consumer groups to move: the old cluster could not be read."
    if not survey.old.groups:
        return "Consumer groups to move. The old cluster lists none: there is none, or the user may not DESCRIBE any."
    others = f"; {many(survey.other_groups, 'other group')} did not" if survey.other_groups else ""
    return f"Consumer groups of the old cluster that committed in topics which are on both clusters{others}."


def _section(key: str, items: Sequence[Item]) -> Iterator[str]:
    yield f"{key}:" if items else f"{key}: []"
    yield from (f"  {line}" for item in items for line in item)


def _left_out(properties: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    results = [(name, why) for name, why in properties if why is not None]
    for name, why in results[:LEFT_OUT]:
        yield from (f"  {line}" for line in _comment(f"left out: {name}: {why}", WIDTH - 2))
    if len(results) > LEFT_OUT:
        yield f"  # and {len(results) - LEFT_OUT:,} more are left out"


def _fitting(items: Sequence[Item], room: int) -> tuple[Sequence[Item], int]:
    for number, item in enumerate(items):
        room -= sum(len(line.encode()) + 3 for line in item)
        if room < 0:
            return items[:number], 0
    return items, room


def _names(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(map(_plain, names[:SHOWN])) + (f" and {more:,} more" if more > 0 else "")


def _plain(text: str) -> str:
    return "".join(character if character.isprintable() and not invisible(character) else "?" for character in text)


def _comment(text: str, width: int = WIDTH) -> Iterator[str]:
    for line in text.splitlines():
        yield from textwrap.wrap(
            _plain(line),
            width,
            initial_indent="# ",
            subsequent_indent="# ",
            break_long_words=False,
            break_on_hyphens=False,
        )
