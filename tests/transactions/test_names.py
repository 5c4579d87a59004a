"""The parts of a KafkaSink's transactional ids."""

from __future__ import annotations

from offsetwise.transactions.names import SinkName, parse
from tests.with_cases import with_cases


@with_cases(
    ("transactional_id", "parts"),
    [
        ("orders-0-12", ("orders", 0, 12)),
        ("orders-eu-1-2-3-4", ("orders-eu-1-2", 3, 4)),
        ("-0-0", ("", 0, 0)),
        ("a\nb-2147483647-9223372036854775807", ("a\nb", 2147483647, 9223372036854775807)),
        ("<b>\x1b[1m-0-1", ("<b>\x1b[1m", 0, 1)),
        ("p" * 240 + "-10-200", ("p" * 240, 10, 200)),
    ],
)
def test_a_name_is_read_from_the_right(transactional_id: str, parts: tuple[str, int, int]) -> None:
    assert parse(transactional_id) == SinkName(*parts)


@with_cases(
    "transactional_id",
    [
        *(
            "",
            "orders",
            "orders-1",
            "0-1",
            "orders-0-",
            "orders--0-x",
            "orders-00-1",
            "orders-0-+1",
            "orders-0-1 ",
            "o-0-²",
        ),
        *("orders-2147483648-0", "orders-0-9223372036854775808", "orders-٠-1", "orders-0-1\n"),
    ],
)
def test_what_a_sink_cannot_have_named_is_none(transactional_id: str) -> None:
    assert parse(transactional_id) is None
