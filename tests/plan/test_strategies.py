"""Every way to move, what it costs, and why it does not fit where it does not."""

from __future__ import annotations

import shlex
from dataclasses import replace

from offsetwise import cli, workflow
from offsetwise.config import JobTraits, Migration
from offsetwise.model import BelongsTo, Cluster, Comparison, Exactness
from offsetwise.plan.strategies import Strategy, judge_strategies
from offsetwise.plan.target import OFFSETS, TargetRole, target_types
from tests.plan.scene import HARMLESS, checkpoint, comparison, grouped, migration, observed, pending, rows
from tests.with_cases import with_cases

TRANSLATING = {"checkpoint-copy", "checkpoint-in-place", "consumer-group", "fresh-seeded", "fresh-starting-offsets"}
NAMES = TRANSLATING | {"rewind", "topic-rename", "producers-first", "failback"}
"""The ways that these tests are of. What others bring is judged beside them, by the same promises."""


def judged(
    made: Comparison | None = None, job: JobTraits = HARMLESS, *, sink_rewound: bool = False
) -> dict[str, Strategy]:
    return {
        each.kind.name: each
        for each in judge_strategies(made or comparison(), migration(job), sink_rewound=sink_rewound)
    }


def applying(made: Comparison | None = None, job: JobTraits = HARMLESS, *, sink_rewound: bool = False) -> set[str]:
    """Return which of the ways of these tests apply."""
    return {name for name, each in judged(made, job, sink_rewound=sink_rewound).items() if each.applies} & NAMES


def test_every_strategy_says_what_it_keeps_gives_up_and_needs() -> None:
    made = judged()

    assert set(made) >= NAMES
    assert {each.kind.target for each in made.values()} == {
        kind.name
        for kind in target_types()
        if "flink" not in kind.name
        and kind.role is not TargetRole.TRANSACTIONS
        and (not kind.streams or OFFSETS in kind.streams)
        and all(way.engine in (None, "spark") for way in kind.ways)
    }
    for each in made.values():
        assert each.kind.keeps
        assert each.kind.gives_up
        assert each.kind.needs
        assert each.applies == (not each.why_not)


def test_a_proven_comparison_of_a_harmless_job_can_go_every_translating_way() -> None:
    assert applying() == TRANSLATING


def test_a_job_that_tolerates_replay_may_also_go_back() -> None:
    assert applying(job=JobTraits(sink="kafka", tolerates_replay=True)) == TRANSLATING | {"rewind"}


@with_cases("sink", ["delta", "file", None])
def test_fresh_checkpoints_and_rewind_do_not_fit_a_sink_that_knows_batch_ids(sink: str | None) -> None:
    job = JobTraits(sink=sink, tolerates_replay=True)

    assert applying(job=job) == TRANSLATING - {"fresh-seeded", "fresh-starting-offsets"}
    assert applying(job=job, sink_rewound=True) == TRANSLATING | {"rewind"}


@with_cases("exactness", [Exactness.CLAIMED, Exactness.UNKNOWN])
def test_nothing_that_translates_fits_where_a_place_is_not_proven(exactness: Exactness) -> None:
    assert applying(comparison(*rows({"exactness": exactness}))) == set()


def test_nothing_that_repeats_fits_a_job_that_does_not_tolerate_it() -> None:
    bounded = comparison(*rows({"exactness": Exactness.BOUNDED, "replay": 3}))

    assert applying(bounded) == set()
    assert "checkpoint-copy" in applying(bounded, JobTraits(sink="kafka", tolerates_replay=True))


@with_cases("equal", [None, False])
def test_a_pending_batch_that_is_not_the_same_speaks_against_edits_only(equal: bool | None) -> None:
    made = comparison(*rows(pending(1000, equal=equal)))

    assert applying(made) == TRANSLATING - {"checkpoint-copy", "checkpoint-in-place"}
    assert "checkpoint-copy" in applying(comparison(*rows(pending(1000, equal=True))))


def test_a_group_can_only_become_a_group() -> None:
    assert applying(grouped()) == {"consumer-group"}


def test_a_rename_fits_where_a_topic_has_another_name() -> None:
    assert "topic-rename" in applying(comparison(*rows({"new_topic": "old.orders"})))


def test_earliest_fits_only_after_the_old_topics_were_read_to_their_end_and_without_copies() -> None:
    drained = {"lag_old": 0, "exactness": Exactness.UNKNOWN, "new_offset": None}

    assert applying(comparison(*rows(drained))) == {"producers-first"}
    assert "producers-first" not in applying(comparison(*rows({**drained, "lag_old": 1})))
    assert "producers-first" not in applying(comparison(*rows({"lag_old": 0})))


def test_failback_fits_the_new_clusters_own_checkpoint() -> None:
    moved = replace(comparison(), belongs_to=BelongsTo(cluster=Cluster.NEW, reason="It fits."))

    assert "failback" in applying(moved)


def test_several_sources_speak_against_a_fresh_checkpoint() -> None:
    two = comparison(*rows({}, {"source": "1"}))

    assert applying(two) == {"checkpoint-copy", "checkpoint-in-place", "consumer-group"}


def test_rewind_needs_an_earlier_batch() -> None:
    made = judged(comparison(checkpoint=checkpoint(batches=())), JobTraits(sink="kafka", tolerates_replay=True))

    assert made["rewind"].why_not == ("No earlier committed batch is retained.",)


def test_commands_are_ones_that_exist_with_names_quoted() -> None:
    known = {command.__name__ for command in cli.COMMANDS}
    judged_of_group = {
        each.kind.name: each for each in judge_strategies(replace(grouped(), group="a b; rm"), migration())
    }
    for each in judged_of_group.values():
        for command in each.commands:
            words = shlex.split(command)
            assert words[0] == "offsetwise"
            assert words[1] in known
    assert "'consumer-group:a b; rm'" in judged_of_group["consumer-group"].commands[0]


def test_the_samples_are_judged_by_what_their_jobs_state() -> None:
    read = observed("payments")
    made = {each.kind.name: each for each in judge_strategies(read, workflow.sample(), checkpoint="payments")}

    assert made["checkpoint-copy"].applies
    assert "the file sink ignores batch ids" in made["fresh-seeded"].why_not[0]
    assert "--checkpoint payments" in made["checkpoint-copy"].commands[0]


def test_what_only_one_stream_has_room_for_is_a_way_of_its_migrations_alone() -> None:
    of = migration()
    both = {side: getattr(of, side).model_copy(update={"stream": "kinesis"}) for side in ("source", "target")}
    kinesis, to_kafka = of.model_copy(update=both), of.model_copy(update={"source": both["source"]})

    def commands(migrated: Migration) -> dict[str, str]:
        return {each.kind.name: each.commands[0] for each in judge_strategies(comparison(), migrated)}

    shown = commands(kinesis)
    assert commands(of).keys() == shown.keys() - {
        "at-timestamp",
        "kcl-leases",
        "savepoint-from-positions",
        "starting-position",
    }
    assert commands(to_kafka).keys() == commands(of).keys()
    assert " --target kcl-leases:APPLICATION " in shown["kcl-leases"]
    assert " --set uid=UID --set stream_arn=ARN " in shown["savepoint-from-positions"]
