from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.translation.identity import content_hash, header_hash, masked_hash, schema_id

PARTS = st.none() | st.binary(max_size=40) | st.binary(max_size=8).map(lambda rest: b"\0" + rest)
SALT = b"a salt"


def test_the_hash_is_the_first_sixteen_bytes_of_sha256_over_salt_and_length_prefixed_parts() -> None:
    framed = SALT + b"\0\0\0\x01k" + b"\xff\xff\xff\xff"

    assert content_hash(SALT, b"k", None) == sha256(framed).digest()[:16]


def test_null_and_empty_are_two_identities() -> None:
    hashes = {content_hash(SALT, key, value) for key in (None, b"") for value in (None, b"")}

    assert len(hashes) == 4


@given(PARTS, PARTS, PARTS, PARTS)
def test_two_records_share_an_identity_only_if_key_and_value_are_equal(
    key: bytes | None, value: bytes | None, other_key: bytes | None, other_value: bytes | None
) -> None:
    same = content_hash(SALT, key, value) == content_hash(SALT, other_key, other_value)

    assert same == ((key, value) == (other_key, other_value))


def test_bytes_that_move_from_key_to_value_change_the_identity() -> None:
    assert content_hash(SALT, b"ab", b"c") != content_hash(SALT, b"a", b"bc")


def test_another_salt_gives_another_identity() -> None:
    assert content_hash(SALT, b"k", b"v") != content_hash(b"another", b"k", b"v")


def test_a_masked_identity_looks_past_schema_registry_ids() -> None:
    old, new = b"\0\0\0\0\x07payload", b"\0\0\0\0\x2apayload"

    assert masked_hash(SALT, b"k", old) == masked_hash(SALT, b"k", new)
    assert masked_hash(SALT, b"k", old) != masked_hash(SALT, b"k", b"\0\0\0\0\x07other")


@given(PARTS, PARTS)
def test_a_masked_identity_exists_only_where_a_schema_id_can_be_inside(key: bytes | None, value: bytes | None) -> None:
    may_hold = any(part is not None and part[:1] == b"\0" and len(part) >= 5 for part in (key, value))

    assert (masked_hash(SALT, key, value) is not None) == may_hold


def test_schema_ids_are_signed_big_endian_and_none_without_the_zero_byte() -> None:
    assert schema_id(b"\0\0\0\x01\x02rest") == 258
    assert schema_id(b"\0\xff\xff\xff\xff") == -1
    assert [schema_id(part) for part in (None, b"", b"\0\0\0\0", b"\x01\0\0\0\x07")] == [None] * 4


def test_a_header_is_identified_by_name_and_value() -> None:
    hashes = {header_hash(SALT, name, value) for name in ("a", "ü") for value in (None, b"", b"1")}

    assert len(hashes) == 6
