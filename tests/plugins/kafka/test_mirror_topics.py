from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.model import Heartbeat, MirrorCheckpoint, OffsetSync
from offsetwise.streams.mirror_topics import (
    MirrorKind,
    decode,
    decode_checkpoint,
    decode_heartbeat,
    decode_sync,
    recognise,
)
from tests.golden import GOLDEN
from tests.with_cases import with_cases

WIRE: Final[dict[str, Any]] = GOLDEN["wire"]


def raw(name: str, part: str) -> bytes:
    return bytes.fromhex(WIRE[name][f"{part}_hex"])


def test_a_recorded_offset_sync_is_decoded() -> None:
    assert decode_sync(raw("offset_sync", "key"), raw("offset_sync", "value")) == OffsetSync(
        topic="orders", partition=3, upstream=1050, downstream=950
    )


def test_a_topic_name_is_utf8() -> None:
    assert decode_sync(raw("offset_sync_utf8_topic", "key"), raw("offset_sync", "value")).topic == "é"


@with_cases(("name", "metadata"), [("checkpoint", ""), ("checkpoint_with_metadata_m", "m")])
def test_a_recorded_checkpoint_is_decoded(name: str, metadata: str) -> None:
    assert decode_checkpoint(raw("checkpoint", "key"), raw(name, "value")) == MirrorCheckpoint(
        group="etl", topic="old.orders", partition=3, upstream=1050, downstream=950, metadata=metadata
    )


def test_a_recorded_heartbeat_is_decoded() -> None:
    assert decode_heartbeat(raw("heartbeat", "key"), raw("heartbeat", "value")) == Heartbeat(
        source="old", target="new", timestamp_ms=1700000000000
    )


def test_records_without_a_value_are_skipped_and_undecodable_ones_counted() -> None:
    key, value = raw("offset_sync", "key"), raw("offset_sync", "value")
    decoded = decode(
        MirrorKind.OFFSET_SYNCS,
        [
            (key, value),
            (key, None),
            (None, value),
            (key, value[:-1]),
            (key + b"x", value),
            (b"\x00\x02\xff\xfe", value),
        ],
    )
    assert (len(decoded.records), decoded.undecodable) == (1, 4)


def test_another_version_of_a_checkpoint_is_not_guessed_at() -> None:
    decoded = decode(MirrorKind.CHECKPOINTS, [(raw("checkpoint", "key"), b"\x00\x01" + raw("checkpoint", "value")[2:])])
    assert (decoded.records, decoded.undecodable) == ((), 1)


@given(st.sampled_from(MirrorKind), st.binary(max_size=40), st.binary(max_size=40))
def test_no_bytes_break_the_decoder(kind: MirrorKind, key: bytes, value: bytes) -> None:
    decoded = decode(kind, [(key, value)])
    assert len(decoded.records) + decoded.undecodable == 1


@given(
    st.sampled_from(["offset_sync", "checkpoint", "heartbeat"]), st.sampled_from(["key", "value"]), st.integers(1, 30)
)
def test_a_truncated_record_is_never_half_read(name: str, part: str, cut: int) -> None:
    kinds = {
        "offset_sync": MirrorKind.OFFSET_SYNCS,
        "checkpoint": MirrorKind.CHECKPOINTS,
        "heartbeat": MirrorKind.HEARTBEATS,
    }
    parts = {"key": raw(name, "key"), "value": raw(name, "value")}
    parts[part] = parts[part][:-cut]
    assert decode(kinds[name], [(parts["key"], parts["value"])]).records == ()


@with_cases(
    ("topic", "kind", "alias"),
    [
        ("mm2-offset-syncs.new.internal", MirrorKind.OFFSET_SYNCS, "new"),
        ("mm2-offset-syncs-new-internal", MirrorKind.OFFSET_SYNCS, "new"),
        ("mm2-offset-syncs__new__internal", MirrorKind.OFFSET_SYNCS, "new"),
        ("mm2-offset-syncs.dc-2.internal", MirrorKind.OFFSET_SYNCS, "dc-2"),
        ("old.checkpoints.internal", MirrorKind.CHECKPOINTS, "old"),
        ("dc-2_checkpoints_internal", MirrorKind.CHECKPOINTS, "dc-2"),
        ("heartbeats", MirrorKind.HEARTBEATS, ""),
        ("old.heartbeats", MirrorKind.HEARTBEATS, "old"),
        ("a.b.heartbeats", MirrorKind.HEARTBEATS, "a.b"),
    ],
)
def test_mirrormakers_topics_are_recognised_by_name(topic: str, kind: MirrorKind, alias: str) -> None:
    found = recognise(topic)
    assert found is not None
    assert (found.kind, found.alias) == (kind, alias)


@with_cases("topic", ["orders", "mm2-offsets.new.internal", "mm2-configs.new.internal", "myheartbeats"])
def test_other_topics_are_not(topic: str) -> None:
    assert recognise(topic) is None
