from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from offsetwise.console.widgets import escaping
from offsetwise.console.widgets.palette import Palette

FONT: Final = '"Source Sans", "Source Sans Pro", sans-serif'
FONT_PX: Final = 14
SMALL_PX: Final = 13


def page_style(colours: Palette) -> dict[str, Any]:
    return {
        "plot_bgcolor": colours.page,
        "paper_bgcolor": colours.page,
        "font": {"family": FONT, "size": FONT_PX, "color": colours.text},
    }


def axis_title(text: str, colours: Palette) -> dict[str, Any]:
    return {"text": text, "font": {"color": colours.muted, "size": SMALL_PX}}


def lane_axis(names: Sequence[str], colours: Palette) -> dict[str, Any]:
    """Return the axis of lanes, the first on top. The names are escaped here."""
    return {
        "range": [max(len(names), 1) - 0.5, -0.5],
        "tickvals": list(range(len(names))),
        "ticktext": [escaping.label(clipped(name)) for name in names],
        "fixedrange": True,
        "zeroline": False,
        **named_rows(colours),
    }


def named_rows(colours: Palette) -> dict[str, Any]:
    return {
        "tickfont": {"color": colours.text, "size": FONT_PX},
        "ticks": "",
        "ticklabelstandoff": 6,
        "showgrid": False,
        "automargin": True,
    }


def dress(colours: Palette) -> dict[str, Any]:
    return {
        **page_style(colours),
        "legend": {
            "orientation": "h",
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "font": {"color": colours.text, "size": SMALL_PX},
            "itemclick": False,
            "itemdoubleclick": False,
        },
        "hoverlabel": {"align": "left", "font": {"family": FONT}},
    }


def clipped(name: str, limit: int = 26) -> str:
    """Shorten a long name in its middle: names of partitions differ at their ends.

    >>> clipped("a-topic-with-a-very-long-name-17")
    'a-topic-with-a…ong-name-17'
    """
    return name if len(name) <= limit else f"{name[: limit - 12]}…{name[-11:]}"


def solid(colours: Palette) -> dict[str, object]:
    return {"color": colours.old, "line": {"width": 0}}


def hatched(colours: Palette) -> dict[str, object]:
    return {
        "color": colours.page,
        "line": {"width": 1, "color": colours.new},
        "pattern": {"shape": "/", "fgcolor": colours.new, "bgcolor": colours.page, "size": 5, "solidity": 0.35},
    }


def note(x: float, y: float, text: str, colour: str, *, anchor: str = "left", away: int = 9) -> dict[str, object]:
    return {
        "x": x,
        "y": y,
        "xref": "x",
        "yref": "y",
        "text": text,
        "showarrow": False,
        "xanchor": anchor,
        "xshift": away if anchor == "left" else -away,
        "font": {"size": SMALL_PX, "color": colour},
    }


def scaled(records: int) -> float:
    """Return the position of a signed number of records on the axis.

    >>> scaled(0), scaled(9), scaled(-99)
    (0.0, 1.0, -2.0)
    """
    return math.copysign(math.log10(1 + abs(records)), records) if records else 0.0


def ticks_between(low: float, high: float, *, at_most: int = 12) -> list[int]:
    """Return powers of ten, and 0, between two positions of the axis; fewer of them if there would be too many.

    >>> ticks_between(-2.1, 3.2)
    [-100, -10, 0, 10, 100, 1000]
    >>> ticks_between(0.0, 6.5, at_most=4)
    [0, 100, 10000, 1000000]
    """
    below = [-(10**power) for power in range(1, int(-low) + 1) if scaled(10**power) <= -low]
    above = [10**power for power in range(1, int(high) + 1) if scaled(10**power) <= high]
    step = math.ceil((len(below) + len(above) + 1) / at_most)
    return [*reversed(below[step - 1 :: step]), 0, *above[step - 1 :: step]]


def round_ticks(high: int) -> list[int]:
    """Return up to six round numbers of records from 0 to `high`.

    >>> round_ticks(1119), round_ticks(3), round_ticks(1900)
    ([0, 200, 400, 600, 800, 1000], [0, 1, 2, 3], [0, 500, 1000, 1500])
    """
    power = 10 ** max(0, len(str(high // 5)) - 1)
    step = next(factor * power for factor in (1, 2, 5, 10) if high < 6 * factor * power)
    return list(range(0, high + 1, step))


def shortened(records: int, *, sign: bool = True) -> str:
    """Format the label of a tick: short, with a true minus sign.

    >>> shortened(-1000), shortened(20_000_000), shortened(10, sign=False)
    ('−1,000', '+20 M', '10')
    """
    size, unit = next(((s, u) for s, u in ((10**12, " T"), (10**9, " G"), (10**6, " M")) if abs(records) >= s), (1, ""))
    digits = f"{abs(records) // size:,}{unit}"
    return ("−" if records < 0 else "+" if sign and records > 0 else "") + digits
