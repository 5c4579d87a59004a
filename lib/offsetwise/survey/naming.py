"""Detect the names of the new topics, from the names on both clusters and MirrorMaker's own topics. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from offsetwise.config import NamingPolicy
from offsetwise.model import MirrorTopic, Snapshot
from offsetwise.streams.mirror_topics import MirrorKind, recognise
from offsetwise.survey.results import SurveyedTopics
from offsetwise.wording import many

SEPARATORS = "._-"
"""The possible ends of a prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    topics: SurveyedTopics
    old_alias: str
    new_alias: str
    pairs: tuple[tuple[str, str], ...]
    """Every old topic that the new cluster has, with its name there."""


def naming(old: Snapshot | None, new: Snapshot | None) -> Naming:
    """Return policy, separator, aliases and exceptions.

    A topic is taken for the copy of an old one if it has its name, or its name after the most common prefix.
    """
    old_names, new_names = user_topics(old), user_topics(new)
    new_alias = _named_by_mirror(old, MirrorKind.OFFSET_SYNCS)[0] or "new"
    sentences = _named_by_mirror(new, MirrorKind.CHECKPOINTS, MirrorKind.HEARTBEATS)
    old_alias, separator = _prefix(old_names, new_names, sentences)
    # Topics that MirrorMaker copied from the new cluster to the old one are not to be moved.
    copied_back = {name for name in old_names if name.removeprefix(f"{new_alias}{separator}") in new_names - {name}}
    candidates = sorted(old_names - copied_back if old_alias is not None else old_names)
    prefixed = {
        name: f"{old_alias}{separator}{name}" for name in candidates if f"{old_alias}{separator}{name}" in new_names
    }
    same = {name: name for name in candidates if name in new_names}
    renames = old_alias is not None and len(prefixed) > len(same)
    pairs = same | prefixed if renames else prefixed | same
    policy = NamingPolicy.DEFAULT if renames else NamingPolicy.IDENTITY
    by_policy = prefixed if renames else same
    exceptions = tuple((name, pairs[name]) for name in candidates if name in pairs and name not in by_policy)
    unmatched = tuple(name for name in candidates if name not in pairs)
    return Naming(
        topics=SurveyedTopics(
            policy=policy,
            separator=separator,
            map=exceptions,
            unmatched=unmatched,
            evidence=_evidence(len(candidates), len(by_policy), f"{old_alias}{separator}" if renames else ""),
        ),
        old_alias=old_alias or ("source" if new_alias == "old" else "old"),
        new_alias=new_alias if new_alias != old_alias else f"{new_alias}-target",
        pairs=tuple(sorted(pairs.items())),
    )


def user_topics(snapshot: Snapshot | None) -> set[str]:
    """Return the topics that are neither Kafka's nor those of MirrorMaker and its Connect workers."""
    return {
        topic.name
        for topic in (snapshot.topics if snapshot is not None else ())
        if recognise(topic.name) is None
        and not topic.name.startswith("__")
        and not (topic.name.startswith("mm2-") and topic.name.endswith("internal"))
    }


def _named_by_mirror(snapshot: Snapshot | None, *kinds: MirrorKind) -> tuple[str | None, str]:
    topics: Iterable[MirrorTopic] = snapshot.mirror.topics if snapshot is not None else ()
    named = [topic for topic in topics if topic.kind in kinds and topic.alias]
    if not named:
        return None, "."
    mirror_topic = max(named, key=lambda topic: (-kinds.index(MirrorKind(topic.kind)), topic.records))
    return mirror_topic.alias, re.split(rf"{re.escape(mirror_topic.alias)}|{mirror_topic.kind}", mirror_topic.name)[1]


def _prefix(old: set[str], new: set[str], stated: tuple[str | None, str]) -> tuple[str | None, str]:
    """Return the alias and the separator that most old names have as prefix on the new cluster."""
    counts: Counter[tuple[str, str]] = Counter()
    for name in new - old:
        for at, character in enumerate(name):
            if character in SEPARATORS and at and name[at + 1 :] in old:
                counts[name[:at], character] += 1
    if not counts:
        return stated
    (alias, separator), count = max(counts.items(), key=lambda entry: (entry[0][0] == stated[0], entry[1], entry[0]))
    # Without MirrorMaker's topics, a single name that ends like another is no evidence of a prefix.
    return (alias, separator) if alias == stated[0] or count > 1 else stated


def _evidence(old: int, matched: int, prefix: str) -> str:
    if not old:
        return "no topic of the old cluster was read"
    how = f"{prefix!r} before their names" if prefix else "the same name"
    verb = "has" if matched == 1 else "have"
    return f"{matched:,} of {many(old, 'topic')} of the old cluster {verb} {how} on the new one"
