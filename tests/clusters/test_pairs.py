"""Two clusters as pairs of topics: what differs, and what nobody can tell."""

from __future__ import annotations

from offsetwise.clusters.pairs import differences, pair_topics
from offsetwise.model import MirrorState, MirrorTopic
from tests.clusters.values import log, new, old, topic
from tests.with_cases import with_cases


def test_topics_are_paired_by_the_names_of_the_migration() -> None:
    pairs = pair_topics(
        old(topic("clicks"), topic("orders"), counterparts={"clicks": "old.clicks", "orders": "orders"}),
        new(topic("old.clicks"), topic("orders"), counterparts={"old.clicks": "clicks", "orders": "orders"}),
    )
    assert [(pair.old_name, pair.new_name) for pair in pairs] == [("clicks", "old.clicks"), ("orders", "orders")]
    assert all(pair.described for pair in pairs)
    assert all(differences(pair) == () for pair in pairs)


def test_a_topic_without_counterpart_is_missing_only_if_both_clusters_were_read() -> None:
    (pair,) = pair_topics(old(topic("orders")), new())
    (found,) = differences(pair)
    assert (found.what, found.old, found.new) == ("topic", "orders", None)
    assert "The new cluster has none of its records" in found.meaning
    (alone,) = pair_topics(old(topic("orders")), None)
    assert differences(alone) == ()
    assert not alone.both_read


def test_a_topic_that_only_the_new_cluster_has_is_shown_too() -> None:
    (pair,) = pair_topics(old(), new(topic("extra"), counterparts={}))
    assert (pair.old_name, pair.new_name, pair.name) == (None, "extra", "extra")
    assert differences(pair)[0].meaning == "Only the new cluster has it: no position leads there."


def test_topics_of_the_mirror_itself_are_left_out() -> None:
    mirror = MirrorState(topics=(MirrorTopic(name="heartbeats", kind="heartbeats", alias="", records=1),))
    pairs = pair_topics(None, new(topic("heartbeats"), topic("orders"), mirror=mirror, counterparts={}))
    assert [pair.name for pair in pairs] == ["orders"]


@with_cases(
    ("key", "values", "meaning"),
    [
        ("cleanup.policy", ("delete", "compact"), "on the new cluster only"),
        ("message.timestamp.type", ("CreateTime", "LogAppendTime"), "The new cluster replaces the record's time"),
        ("retention.ms", ("604800000", "86400000"), "The new cluster lets records go earlier"),
        ("retention.ms", ("604800000", "-1"), "The old cluster lets records go earlier"),
        ("max.message.bytes", ("1048588", "1000"), "MirrorMaker fails on larger ones"),
        ("segment.ms", ("1", "2"), "how the log is stored"),
    ],
)
def test_a_difference_in_configuration_says_what_it_means(key: str, values: tuple[str, str], meaning: str) -> None:
    one, other = ({key.replace(".", "_"): value} for value in values)
    (pair,) = pair_topics(old(topic(**one)), new(topic(**other)))  # type: ignore[arg-type] # configurations by name
    (found,) = differences(pair)
    assert (found.what, found.old, found.new) == (key, *values)
    assert meaning in found.meaning


@with_cases(("counts", "word"), [((3, 2), "Fewer"), ((2, 3), "More")])
def test_other_numbers_of_partitions_are_a_difference(counts: tuple[int, int], word: str) -> None:
    one, other = (topic("orders", [log(number) for number in range(count)]) for count in counts)
    (pair,) = pair_topics(old(one), new(other))
    (found,) = differences(pair)
    assert found.what == "partitions"
    assert found.meaning.startswith(word)


def test_a_topic_that_was_not_described_has_no_differences_and_says_so() -> None:
    (pair,) = pair_topics(old(topic(error="the user is not authorised")), new(topic()))
    assert not pair.described
    assert differences(pair) == ()
