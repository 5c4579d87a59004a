"""The signed logarithmic scale of the charts: ten records and ten million on one axis, zero in its place."""

from __future__ import annotations

import math


def scaled(records: int) -> float:
    """Place a signed number of records on the axis.

    >>> scaled(0), scaled(9), scaled(-99)
    (0.0, 1.0, -2.0)
    """
    return math.copysign(math.log10(1 + abs(records)), records) if records else 0.0


def ticks_between(low: float, high: float, *, at_most: int = 12) -> list[int]:
    """Give powers of ten, and 0, between two places of the axis; fewer of them where there would be too many.

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
    """Give up to six round numbers of records from 0 to `high`.

    >>> round_ticks(1119), round_ticks(3), round_ticks(1900)
    ([0, 200, 400, 600, 800, 1000], [0, 1, 2, 3], [0, 500, 1000, 1500])
    """
    power = 10 ** max(0, len(str(high // 5)) - 1)
    step = next(each * power for each in (1, 2, 5, 10) if high < 6 * each * power)
    return list(range(0, high + 1, step))


def shortened(records: int, *, sign: bool = True) -> str:
    """Print a tick: short, with a true minus sign.

    >>> shortened(-1000), shortened(20_000_000), shortened(10, sign=False)
    ('−1,000', '+20 M', '10')
    """
    size, unit = next(((s, u) for s, u in ((10**12, " T"), (10**9, " G"), (10**6, " M")) if abs(records) >= s), (1, ""))
    digits = f"{abs(records) // size:,}{unit}"
    return ("−" if records < 0 else "+" if sign and records > 0 else "") + digits
