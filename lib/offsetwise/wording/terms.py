"""Sentences and labels in the words of a stream: shard and sequence number, where Kafka has partition and offset."""

from __future__ import annotations

import re
from collections.abc import Mapping


def in_words(label: str, terms: Mapping[str, str]) -> str:
    """Return a label with these words in the place of Kafka's: in the plural, with a capital, with its article.

    Args:
        label: As of Kafka. Names do not belong in it: a topic may be called `offsets`.
        terms: What stands in the place of each of Kafka's words, in the singular.

    >>> in_words("Partitions by topic", {"partition": "shard", "topic": "stream"})
    'Shards by stream'
    >>> in_words("Every partition has an offset", {"offset": "sequence number"})
    'Every partition has a sequence number'
    >>> in_words("Every partition", {})
    'Every partition'
    """
    if not terms:
        return label
    words = re.compile(rf"\b(?:(an?) )?({'|'.join(map(re.escape, terms))})(s?)\b", re.IGNORECASE)
    return words.sub(lambda found: _other(found, terms[found[2].lower()]), label)


def _other(found: re.Match[str], term: str) -> str:
    article, word, plural = found.groups()
    if article is not None:
        article = f"{article[0]}{'n' if term[0].lower() in 'aeiou' else ''} "
    return (article or "") + (term[0].upper() + term[1:] if word[0].isupper() else term) + plural
