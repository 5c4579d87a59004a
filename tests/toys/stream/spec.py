"""Tapes as a stream: labels such as `s-0007`, in the order that a tape has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from offsetwise.errors import ConfigError
from offsetwise.model import Exactness, Method, RawReuse, RawVerdict, Snapshot, TopicPartition, Translation
from offsetwise.ports.stream import Spec
from offsetwise.position import OpaquePosition, Position

NAME: Final = "tape"
RELABELLED: Final = "relabelled"
"""Of a tape that was copied: how far its labels lie below those of the original."""
_LABEL: Final = re.compile(r"s-[0-9]{4}")


@dataclass(frozen=True, slots=True, order=True)
class Label(OpaquePosition):
    """A place on a tape."""

    text: str

    def __str__(self) -> str:
        return self.text


def parse(text: str, /) -> Label | None:
    """Read a label."""
    return Label(text) if _LABEL.fullmatch(text) else None


def check(properties: Mapping[str, str], *, where: str) -> None:
    """Go on only with a shelf."""
    if set(properties) != {"shelf"}:
        raise ConfigError(f"{where}: expected `shelf`, found {', '.join(properties)}.", fix="Name the shelf.")


def translate(
    position: Position,
    at: TopicPartition,  # noqa: ARG001 - of streams whose partitions are copied in several ways
    there: TopicPartition,
    *,
    old: Snapshot,  # noqa: ARG001 - as above
    new: Snapshot,
) -> Translation:
    """Find the same place on the copy, by what the copy says of its labels."""
    (tape,) = (topic for topic in new.topics if topic.name == there.topic)
    place = Label(f"s-{int(str(position)[2:]) - int(dict(tape.config)[RELABELLED]):04}")
    end = new.partitions()[there].hw
    beyond = end is not None and position > end
    return Translation(
        place=place,
        exactness=Exactness.EXACT,
        method=Method.CONTENT,
        reason=f"The copy says that {position} is {place}.",
        raw=RawReuse(verdict=RawVerdict.OUT_OF_RANGE if beyond else RawVerdict.LOSS),
        replay=0,
        skip=0,
    )


SPEC: Final = Spec(
    name=NAME,
    label="Tape",
    kinds={"tape": "Tape"},
    compared=frozenset({"tape"}),
    check=check,
    addresses=lambda properties: frozenset(properties.values()),
    parse=parse,
    translate=translate,
)
