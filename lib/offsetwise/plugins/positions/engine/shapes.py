"""The known shapes, and the detection of a file's shape.

This module needs the standard library only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

from typing import Final

from offsetwise.plugins.positions.engine.json_shapes import CONNECT, DRUID, OFFSETS, PINOT, SPARK
from offsetwise.plugins.positions.engine.shape import Shape
from offsetwise.plugins.positions.engine.text_shapes import FLINK, GROUPS, HUDI, MIRROR

ANY: Final = "positions"
"""Part of a URI after `#` for a positions file of any shape; a shape may follow: `positions:hudi`."""
_HEAD_BYTES: Final = 65_536
SHAPES: Final = {shape.name: shape for shape in (OFFSETS, GROUPS, CONNECT, DRUID, PINOT, HUDI, SPARK, FLINK, MIRROR)}


def named(part: str) -> tuple[str, str]:
    """Return shape and WORD in the part of a URI after `#`; empty if it names none.

    >>> named("positions:pinot-segments:orders")
    ('pinot-segments', 'orders')
    >>> named("hudi")
    ('hudi', '')
    """
    if part == ANY:
        return "", ""
    shape, _, word = part.removeprefix(f"{ANY}:").partition(":")
    return shape, word


def fitting(data: bytes) -> tuple[Shape, ...]:
    head = data[:_HEAD_BYTES]
    return tuple(shape for shape in SHAPES.values() if shape.fits(head))
