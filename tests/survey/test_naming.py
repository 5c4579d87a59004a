"""What the new topics are called is told from the names on both sides."""

from __future__ import annotations

from offsetwise.config import NamingPolicy, TopicSettings
from offsetwise.model import Cluster, MirrorState, MirrorTopic
from offsetwise.survey.naming import naming
from tests.survey.recorded import cluster, snapshots
from tests.with_cases import with_cases

IDENTITY, DEFAULT = NamingPolicy.IDENTITY, NamingPolicy.DEFAULT


def mirror(*names: str) -> MirrorState:
    kinds = {"checkpoints": "checkpoints", "offset-syncs": "offset-syncs", "heartbeats": "heartbeats"}
    return MirrorState(
        topics=tuple(
            MirrorTopic(name=name, kind=next(kind for kind in kinds if kind in name), alias=alias, records=1)
            for name, alias in (each.split("=") for each in names)
        )
    )


@with_cases(
    ("old", "new", "made"),
    [
        (("a", "b"), ("a", "b"), (IDENTITY, ".", {}, ())),
        (("a", "b"), ("west.a", "west.b"), (DEFAULT, ".", {}, ())),
        (("a", "b"), ("west_a", "west_b"), (DEFAULT, "_", {}, ())),
        (("a.b", "c"), ("eu.west.a.b", "eu.west.c"), (DEFAULT, ".", {}, ())),
        (("a", "b", "c"), ("west.a", "west.b", "c"), (DEFAULT, ".", {"c": "c"}, ())),
        (("a", "b", "c"), ("a", "b", "x.c"), (IDENTITY, ".", {}, ("c",))),
        (("a", "b"), ("a",), (IDENTITY, ".", {}, ("b",))),
        ((), ("a",), (IDENTITY, ".", {}, ())),
        (("a",), (), (IDENTITY, ".", {}, ("a",))),
        (("a", "__consumer_offsets", "heartbeats"), ("a", "mm2-offsets.old.internal"), (IDENTITY, ".", {}, ())),
    ],
)
def test_policy_separator_and_map_come_from_the_names(
    old: tuple[str, ...], new: tuple[str, ...], made: tuple[NamingPolicy, str, dict[str, str], tuple[str, ...]]
) -> None:
    told = naming(cluster(Cluster.OLD, old), cluster(Cluster.NEW, new))

    assert (told.topics.policy, told.topics.separator, dict(told.topics.map), told.topics.unmatched) == made


def test_what_is_told_names_every_pair_as_the_migration_file_will() -> None:
    old, new = ("a", "b", "c", "d"), ("west.a", "west.b", "c")
    told = naming(cluster(Cluster.OLD, old), cluster(Cluster.NEW, new))
    topics = TopicSettings(policy=told.topics.policy, separator=told.topics.separator, map=dict(told.topics.map))

    assert told.pairs == (("a", "west.a"), ("b", "west.b"), ("c", "c"))
    assert tuple((name, topics.rename(name, told.old_alias)) for name, _ in told.pairs) == told.pairs


def test_one_prefixed_topic_is_an_exception_where_mirror_maker_tells_of_the_prefix() -> None:
    told = naming(
        cluster(Cluster.OLD, ("a", "b", "c")),
        cluster(Cluster.NEW, ("a", "b", "west.c"), mirror("west.checkpoints.internal=west")),
    )

    assert (told.topics.policy, told.topics.map, told.old_alias) == (IDENTITY, (("c", "west.c"),), "west")


def test_aliases_and_separator_come_from_mirror_makers_own_topics() -> None:
    told = naming(
        cluster(Cluster.OLD, ("a",), mirror("mm2-offset-syncs_east_internal=east")),
        cluster(Cluster.NEW, ("a",), mirror("west_checkpoints_internal=west", "north_heartbeats=north")),
    )

    assert (told.old_alias, told.new_alias, told.topics.separator) == ("west", "east", "_")


def test_what_was_copied_back_is_no_topic_to_move() -> None:
    told = naming(
        cluster(Cluster.OLD, ("a", "b", "east.a", "east.x"), mirror("mm2-offset-syncs.east.internal=east")),
        cluster(Cluster.NEW, ("west.a", "west.b", "a", "x"), mirror("west.checkpoints.internal=west")),
    )

    assert [old for old, _ in told.pairs] == ["a", "b"]
    assert (told.topics.policy, told.topics.unmatched) == (DEFAULT, ())


def test_the_aliases_of_two_clusters_are_never_the_same() -> None:
    told = naming(
        cluster(Cluster.OLD, ("a",), mirror("mm2-offset-syncs.old.internal=old")), cluster(Cluster.NEW, ("a",))
    )

    assert told.old_alias != told.new_alias == "old"


@with_cases("sample", ["sample", "sample_flink"])
def test_the_recorded_clusters_are_named_as_by_hand(sample: str) -> None:
    taken = snapshots(sample)
    told = naming(taken[Cluster.OLD], taken[Cluster.NEW])

    assert (told.topics.policy, told.topics.map) == (IDENTITY, (("clicks", "old.clicks"),))
    assert (told.old_alias, told.new_alias, told.topics.separator) == ("old", "new", ".")


def test_clusters_that_were_not_read_tell_nothing() -> None:
    told = naming(None, cluster(Cluster.NEW, ("a",)))

    assert (told.pairs, told.old_alias, told.new_alias) == ((), "old", "new")
    assert told.topics.evidence == "no topic of the old cluster was read"
