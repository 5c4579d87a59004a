from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote

WIDTH: Final = 132
HEIGHT: Final = 26
_EDGE: Final = 2
Points = Sequence[tuple[int, int | None, int | None]]
"""When, and what was left to read on the old cluster and on the new one; None where it is not known."""


def picture(points: Points, *, old: str, new: str) -> str | None:
    """Return an address of a picture with both lags, for `src`; None where fewer than two are known.

    Both have one scale, from 0 to the largest lag. Where a lag is not known, its line breaks.

    Args:
        points: The lags over time.
        old: The colour of the old cluster's.
        new: That of the new one's.
    """
    lags = [[(at_ms, values[side]) for at_ms, *values in points] for side in range(2)]
    known = [lag for line in lags for _, lag in line if lag is not None]
    if len(known) < 2:
        return None
    begin_ms, length_ms, most = points[0][0], max(1, points[-1][0] - points[0][0]), max(1, *known)
    paths = []
    for line, colour in zip(lags, (old, new), strict=True):
        for piece in _pieces(line):
            at = " ".join(
                f"{_EDGE + (WIDTH - 2 * _EDGE) * (at_ms - begin_ms) / length_ms:.0f},"
                f"{HEIGHT - _EDGE - (HEIGHT - 2 * _EDGE) * lag / most:.0f}"
                for at_ms, lag in piece
            )
            # Of a single point, a line of no length with round ends is a dot.
            paths.append(f'<polyline points="{at}{f" {at}" if len(piece) == 1 else ""}" stroke="{colour}"/>')
    body = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" fill="none" stroke-width="2" '
        f'stroke-linecap="round" stroke-linejoin="round">{"".join(paths)}</svg>'
    )
    return f"data:image/svg+xml,{quote(body)}"


def _pieces(line: Sequence[tuple[int, int | None]]) -> Iterator[list[tuple[int, int]]]:
    piece: list[tuple[int, int]] = []
    for at_ms, lag in line:
        if lag is not None:
            piece.append((at_ms, lag))
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece
