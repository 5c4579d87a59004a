from __future__ import annotations

from offsetwise.translation.identity import KAFKA_BACKUP, REDPANDA, origin
from tests.with_cases import with_cases

BIG = (1050).to_bytes(8, "big")
LITTLE = (1050).to_bytes(8, "little")


@with_cases(
    ("name", "value", "expected"),
    [
        (REDPANDA, BIG, 1050),
        (KAFKA_BACKUP, LITTLE, 1050),
        (KAFKA_BACKUP, b"1050", 1050),
        (KAFKA_BACKUP, b"0", 0),
        (KAFKA_BACKUP, b"12345678", 12_345_678),
        (KAFKA_BACKUP, b"9223372036854775807", 2**63 - 1),
    ],
    ids=["redpanda", "backup bytes", "backup text", "zero", "eight digits are text", "largest"],
)
def test_a_header_gives_the_old_offset(name: str, value: bytes, expected: int) -> None:
    assert origin([(name, value)]) == expected


@with_cases(
    ("name", "value"),
    [
        (REDPANDA, None),
        (REDPANDA, b""),
        (REDPANDA, b"1050"),
        (REDPANDA, BIG[1:]),
        (REDPANDA, BIG + b"\0"),
        (REDPANDA, b"\xff" * 8),
        (KAFKA_BACKUP, b"-1050"),
        (KAFKA_BACKUP, b"10.5"),
        (KAFKA_BACKUP, "１０５０".encode()),
        (KAFKA_BACKUP, b"9223372036854775808"),
        (KAFKA_BACKUP, b"1" * 20),
        ("x-other-offset", b"1050"),
        ("X-Original-Offset", b"1050"),
    ],
    ids=[
        "null",
        "empty",
        "text",
        "short",
        "long",
        "negative",
        "minus",
        "fraction",
        "wide digits",
        "above int64",
        "too many digits",
        "another name",
        "another case",
    ],
)
def test_anything_else_is_no_offset(name: str, value: bytes | None) -> None:
    assert origin([(name, value)]) is None


def test_the_first_provenance_header_wins_even_if_it_says_nothing() -> None:
    assert origin([("trace", b"x"), (KAFKA_BACKUP, b"1050"), (KAFKA_BACKUP, b"7")]) == 1050
    assert origin([(REDPANDA, b"?"), (KAFKA_BACKUP, b"7")]) is None


def test_a_record_without_headers_claims_nothing() -> None:
    assert origin([]) is None
