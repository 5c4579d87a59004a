"""Translate sentences and labels to the terms of a stream, such as shard and sequence number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache


def in_words(text: str, terms: Mapping[str, str], *, names: Iterable[str] = ()) -> str:
    """Return a text with Kafka's terms replaced, including plurals, capitals and articles.

    Parts of a path, a key, an option or a quotation are names, and stay unchanged; so do terms after the word Kafka.

    Args:
        text: In Kafka's terms.
        terms: The replacement of each of Kafka's terms, in the singular. Longer terms are replaced first.
        names: Names that may be in the text without quotes: a topic may be named `offsets`.

    >>> kinesis = {"topic": "stream", "partition": "shard", "offset": "sequence number"}
    >>> in_words("Partitions by topic: every partition has an offset", kinesis)
    'Shards by stream: every shard has a sequence number'
    >>> in_words("offsets has 2 partitions, `topics` names it, and offsets/7 does not", kinesis, names=["offsets"])
    'offsets has 2 shards, `topics` names it, and offsets/7 does not'
    >>> in_words("It holds Kafka offsets, and no offset of this kind", kinesis)
    'It holds Kafka offsets, and no sequence number of this kind'
    >>> in_words("Every partition", {})
    'Every partition'
    """
    if not terms:
        return text
    words = _words(tuple(terms))
    protected = sorted((name for name in names if words.search(name)), key=len, reverse=True)
    if protected:
        words = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, protected))})(?!\w)|{words.pattern}", re.IGNORECASE)
    return words.sub(lambda match: match[0] if match[2] is None else _other(match, terms[match[2].lower()]), text)


@cache
def _words(terms: tuple[str, ...]) -> re.Pattern[str]:
    own = "|".join(map(re.escape, sorted(terms, key=len, reverse=True)))
    before, after = r"(?<![\w./:=@#'\"`{-])(?<!\bKafka )", r"(?!'(?!s\b)|[\w/=@\"`}-]|[.:]\w)"
    return re.compile(rf"(?:\b(an?) )?{before}({own})(s?){after}", re.IGNORECASE)


def _other(match: re.Match[str], term: str) -> str:
    article, word, plural = match.groups()
    if article is not None:
        article = f"{article[0]}{'n' if term[0].lower() in 'aeiou' else ''} "
    return (article or "") + (term[0].upper() + term[1:] if word[0].isupper() else term) + plural
