from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.findings import Case, judge
from offsetwise.model import (
    Ahead,
    BelongsTo,
    Cluster,
    Exactness,
    GroupOffset,
    IsolationLevel,
    LogRange,
    PartitionComparison,
    RawReuse,
    RawVerdict,
    RestartPoint,
    TopicState,
)
from tests.findings.cases import case, row, syncs, topic

offset = st.integers(min_value=0, max_value=2_000)
known_or_not = st.none() | offset
count = st.none() | st.integers(min_value=0, max_value=3)
log = st.builds(LogRange, log_start=known_or_not, lso=known_or_not, hw=known_or_not)
commits = st.none() | st.builds(
    GroupOffset, topic=st.just("orders"), partition=st.just(0), offset=offset, leader_epoch=known_or_not
)
rows: st.SearchStrategy[PartitionComparison] = st.builds(
    row,
    partition=st.integers(min_value=0, max_value=3),
    old_offset=known_or_not,
    new_offset=known_or_not,
    exactness=st.sampled_from(Exactness),
    restart=st.lists(
        st.builds(RestartPoint, batch=st.none() | st.just(7), old=offset, new=known_or_not), max_size=2
    ).map(tuple),
    replay=count,
    skip=count,
    foreign_below=count,
    ahead=st.builds(Ahead, examined=st.booleans(), missing=count, duplicated=count, foreign=count),
    old=log,
    new=log,
    raw=st.builds(RawReuse, verdict=st.sampled_from(RawVerdict), skip=count, replay=count),
)
topics = st.sampled_from([None, topic(), topic(partitions=4), TopicState(name="orders", error="no answer")])
cases: st.SearchStrategy[Case] = st.builds(
    case,
    rows,
    old_topic=topics,
    new_topic=topics,
    belongs_to=st.sampled_from([*Cluster, None]).map(lambda cluster: BelongsTo(cluster=cluster, reason="ranges")),
    missing=count,
    aborted_visible=count,
    pending_equal=st.none() | st.booleans(),
    reasons=st.sampled_from([frozenset[str](), frozenset({"NOT_YET_MIRRORED"})]),
    syncs=st.lists(st.tuples(offset, offset), max_size=4).map(lambda pairs: syncs(*pairs)),
    syncs_read_first=st.booleans(),
    old_commit=commits,
    new_commit=commits,
)


@given(cases)
def test_any_case_is_judged_in_sentences_with_no_code_twice(given_case: Case) -> None:
    found = judge(given_case)

    assert len({finding.code for finding in found}) == len(found)
    for finding in found:
        assert finding.message.endswith(".")
        assert "None" not in finding.message


@given(cases)
def test_no_finding_rests_on_a_count_that_nobody_made(given_case: Case) -> None:
    uncounted = replace(
        given_case,
        row=replace(
            given_case.row,
            replay=None,
            foreign_below=None,
            ahead=Ahead(examined=False),
            exactness=Exactness.EXACT,
            raw=RawReuse(verdict=RawVerdict.UNKNOWN),
        ),
        missing=None,
        aborted_visible=None,
        pending_equal=None,
    )

    counted = {
        "LOSS_INSIDE_LOG",
        "CONFUSION",
        "NATIVE_BELOW",
        "ABORTED_VISIBLE",
        "PENDING_BATCH_DIFFERS",
        "REPLAY",
        "REPLAY_NOT_TOLERATED",
        "MISSING_AHEAD",
        "FOREIGN_AHEAD",
        "DUPLICATES_AHEAD",
        "RECORDS_FILTERED",
    }
    committed = replace(uncounted, isolation=IsolationLevel.READ_COMMITTED)
    assert {finding.code for finding in judge(committed)}.isdisjoint(counted)


@given(cases)
def test_nothing_that_is_not_proven_goes_without_a_blocking_finding(given_case: Case) -> None:
    unproven = given_case.row.exactness in (Exactness.UNKNOWN, Exactness.CLAIMED)

    if unproven and given_case.row.old_offset is not None:
        assert "UNTRANSLATED" in {finding.code for finding in judge(given_case)}
