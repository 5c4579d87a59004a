from __future__ import annotations

from collections.abc import Sequence

from offsetwise.translation.identify import Header, Identified, Records, identify
from offsetwise.translation.identity import KAFKA_BACKUP, REDPANDA
from tests.with_cases import with_cases

Schema = int | None


def hashed(text: str) -> bytes:
    return text.encode().ljust(16, b"\0")


def records(
    *contents: str,
    times: Sequence[int | None] | None = None,
    log_append: bool = False,
    headers: Sequence[tuple[Header, ...]] | None = None,
) -> Records:
    count = len(contents)
    return Records(
        offsets=range(count),
        timestamps=list(range(1, count + 1)) if times is None else times,
        log_append=[log_append] * count,
        content=[hashed(content) for content in contents],
        masked=[None] * count,
        key_schema=[None] * count,
        value_schema=[None] * count,
        headers=[()] * count if headers is None else headers,
    )


def with_schema(*pairs: tuple[str, int]) -> Records:
    """Make records whose value begins with a schema registry id."""
    count = len(pairs)
    return Records(
        offsets=range(count),
        timestamps=list(range(1, count + 1)),
        log_append=[False] * count,
        content=[hashed(f"{content} {schema}") for content, schema in pairs],
        masked=[hashed(content) for content, _ in pairs],
        key_schema=[None] * count,
        value_schema=[schema for _, schema in pairs],
        headers=[()] * count,
    )


def same(made: Identified) -> list[bool]:
    return [ours == theirs for ours, theirs in zip(made.old, made.new, strict=True)]


def test_records_are_the_same_by_timestamp_key_value_and_headers() -> None:
    made = identify(records("a", "b"), records("a", "c"))

    assert same(made) == [True, False]
    assert made.made_of == "timestamp, key, value and headers"


def test_a_different_timestamp_makes_another_record() -> None:
    assert same(identify(records("a", times=[1]), records("a", times=[2]))) == [False]


@with_cases("side", ["old", "new"])
def test_timestamps_that_a_broker_set_on_either_side_do_not_count(side: str) -> None:
    stamped, plain = records("a", times=[1], log_append=True), records("a", times=[2])
    made = identify(stamped, plain) if side == "old" else identify(plain, stamped)

    assert same(made) == [True]
    assert made.made_of == "key, value and headers"


def test_a_record_without_a_timestamp_rules_timestamps_out() -> None:
    made = identify(records("a", "b", times=[None, 2]), records("a", "b", times=[1, 2]))

    assert same(made) == [True, True]
    assert not made.timed


def test_headers_count_in_their_order() -> None:
    one, other = ("x", hashed("1")), ("y", hashed("2"))

    assert same(identify(records("a", headers=[(one, other)]), records("a", headers=[(one, other)]))) == [True]
    assert same(identify(records("a", headers=[(one, other)]), records("a", headers=[(other, one)]))) == [False]


def test_a_header_that_the_old_log_lost_makes_another_record() -> None:
    made = identify(records("a", headers=[(("x", hashed("1")),)]), records("a"))

    assert (same(made), made.ignored_headers) == ([False], ())


def test_header_names_found_only_on_the_new_cluster_are_left_out_and_named() -> None:
    traced = (("x", hashed("1")), ("traceparent", hashed("t")))

    made = identify(records("a", headers=[(("x", hashed("1")),)]), records("a", headers=[traced]))

    assert (same(made), made.ignored_headers) == ([True], ("traceparent",))


@with_cases("name", [REDPANDA, KAFKA_BACKUP])
def test_provenance_headers_are_left_out_even_where_both_sides_have_them(name: str) -> None:
    made = identify(records("a", headers=[((name, hashed("1")),)]), records("a", headers=[((name, hashed("2")),)]))

    assert (same(made), made.ignored_headers) == ([True], (name,))


def test_aborted_records_are_identified_as_the_old_logs() -> None:
    made = identify(records("a"), records("a", "b"), records("b", times=[2]))

    assert made.aborted == (made.new[1],)


class TestSchemaIds:
    def test_are_masked_where_one_mapping_explains_all(self) -> None:
        made = identify(with_schema(("a", 1), ("b", 1), ("c", 2)), with_schema(("a", 101), ("b", 101), ("c", 102)))

        assert same(made) == [True, True, True]
        assert made.schema_ids == ((1, 101), (2, 102))

    def test_are_left_alone_where_nothing_stays_unmatched(self) -> None:
        made = identify(with_schema(("a", 1), ("b", 2)), with_schema(("a", 1), ("b", 2)))

        assert (same(made), made.schema_ids) == ([True, True], ())

    def test_are_not_masked_where_one_id_would_become_two(self) -> None:
        made = identify(with_schema(("a", 1), ("b", 1)), with_schema(("a", 101), ("b", 102)))

        assert (same(made), made.schema_ids) == ([False, False], ())

    def test_are_not_masked_where_two_ids_would_become_one(self) -> None:
        made = identify(with_schema(("a", 1), ("b", 2)), with_schema(("a", 101), ("b", 101)))

        assert (same(made), made.schema_ids) == ([False, False], ())

    def test_are_not_masked_where_only_one_side_has_them(self) -> None:
        made = identify(with_schema(("a", 1)), records("a"))

        assert (same(made), made.schema_ids) == ([False], ())

    def test_that_no_pair_maps_keep_a_record_apart(self) -> None:
        made = identify(with_schema(("a", 1), ("b", 7)), with_schema(("a", 101), ("c", 107)))

        assert same(made) == [True, False]
        assert made.schema_ids == ((1, 101),)

    def test_of_other_records_are_never_made_equal(self) -> None:
        made = identify(with_schema(("a", 1), ("b", 1)), with_schema(("a", 101), ("x", 101)))

        assert same(made) == [True, False]


def test_no_records_are_no_identities() -> None:
    assert identify(Records(), Records()) == Identified(old=(), new=())


@with_cases("known", [0, 1, 3, 5])
@with_cases("agent_on", ["old", "new"])
def test_a_header_that_an_agent_adds_on_one_side_is_left_out_where_both_know_its_name(
    known: int, agent_on: str
) -> None:
    contents = "abcdef"
    kind = ("kind", hashed("k"))
    trace = ("trace", hashed("t"))
    plain = [(kind, trace) if index == known else (kind,) for index in range(len(contents))]
    added = [(kind, trace)] * len(contents)
    old, new = (plain, added) if agent_on == "new" else (added, plain)
    made = identify(records(*contents, headers=old), records(*contents, headers=new))

    assert all(same(made))
    assert made.ignored_headers == ("trace",)


def test_a_header_that_some_records_have_on_both_sides_alike_counts() -> None:
    trace = (("trace", hashed("t")),)
    headers: list[tuple[Header, ...]] = [(), trace, (), trace]

    assert not identify(records(*"abcd", headers=headers), records(*"abcd", headers=headers)).ignored_headers
    other: list[tuple[Header, ...]] = [(), (("trace", hashed("u")),), (), trace]
    assert same(identify(records(*"abcd", headers=headers), records(*"abcd", headers=other))) == [
        True,
        False,
        True,
        True,
    ]
