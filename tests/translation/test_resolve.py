from __future__ import annotations

from dataclasses import replace

from offsetwise.model import (
    Ahead,
    Candidate,
    Exactness,
    IsolationLevel,
    LogRange,
    Method,
    Neighbour,
    PartitionComparison,
    RawReuse,
    RawVerdict,
    RestartPoint,
    Side,
)
from offsetwise.pipeline.content import FoundPosition
from offsetwise.proof import _guesses as guesses
from offsetwise.translation.query import Query, QuerySource
from offsetwise.translation.resolve import Match, resolve
from offsetwise.translation.windows import Cut, Reason
from offsetwise.translation.worker import Answer
from tests.golden import GOLDEN
from tests.with_cases import with_cases

POSITION = Query(
    of=QuerySource(source="0", isolation=IsolationLevel.READ_UNCOMMITTED, batch=6),
    topic="orders",
    partition=0,
    new_topic="orders",
    offset=1050,
    old=LogRange(log_start=100, lso=1190, hw=1200),
    new=LogRange(log_start=0, lso=1090, hw=1100),
)
CUT = Cut(
    exactness=Exactness.EXACT,
    reason=Reason.PROVEN,
    offset=950,
    lo=950,
    hi=950,
    skip=0,
    replay=0,
    foreign_below=0,
    ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=0),
    raw_skip=100,
    raw_replay=0,
    anchors_before=64,
    anchors_after=64,
)
BOUNDED = replace(
    CUT, exactness=Exactness.BOUNDED, reason=Reason.FEW_ANCHORS, hi=960, replay=10, raw_skip=None, raw_replay=None
)
UNKNOWN = Cut(exactness=Exactness.UNKNOWN, reason=Reason.NO_COMMON_RECORD)
SYNC = Candidate(method=Method.MIRROR_SYNC, lo=910, hi=1010, said_by="Two syncs stand around it.")
HERE = LogRange(log_start=0, lso=0, hw=0)
UNREAD = LogRange(log_start=None, lso=None, hw=None)


def by_content(cut: Cut, *candidates: Candidate, position: Query = POSITION) -> PartitionComparison:
    return resolve(Match(query=position, answer=Answer(cut=cut), candidates=candidates, mirror_maker=910))


def claimed(*candidates: Candidate, position: Query = POSITION) -> PartitionComparison:
    return resolve(Match(query=position, candidates=candidates))


class TestByContent:
    def test_the_records_answer_is_the_answer(self) -> None:
        row = by_content(CUT, SYNC)

        assert (row.new_offset, row.exactness, row.method, row.counted) == (950, Exactness.EXACT, Method.CONTENT, True)
        assert (row.bounds, row.skip, row.replay, row.foreign_below) == ((950, 950), 0, 0, 0)
        assert (row.lag_old, row.lag_new, row.mirror_maker) == (150, 150, 910)

    def test_what_lies_ahead_of_an_unknown_place_is_not_examined(self) -> None:
        row = by_content(UNKNOWN)

        assert (row.new_offset, row.lag_new, row.counted, row.method) == (None, None, False, Method.NONE)
        assert row.ahead == Ahead(examined=False)

    def test_records_that_contradict_a_claim_leave_no_claim(self) -> None:
        assert by_content(UNKNOWN, SYNC).new_offset is None
        assert by_content(replace(UNKNOWN, reason=Reason.NOT_YET_MIRRORED), SYNC).exactness is Exactness.UNKNOWN

    def test_too_few_records_let_a_claim_stand_as_a_claim(self) -> None:
        row = by_content(replace(UNKNOWN, reason=Reason.FEW_ANCHORS), SYNC)

        assert (row.new_offset, row.exactness, row.method) == (910, Exactness.CLAIMED, Method.MIRROR_SYNC)
        assert (row.bounds, row.counted) == ((910, 1010), False)

    def test_every_reason_has_a_sentence_of_its_own(self) -> None:
        sentences = {reason: by_content(replace(BOUNDED, reason=reason)).evidence.reason for reason in Reason}

        assert len(set(sentences.values())) == len(Reason)
        assert all(sentence.endswith(".") for sentence in sentences.values())

    def test_bounds_without_an_upper_end_stay_open(self) -> None:
        row = by_content(replace(BOUNDED, hi=None, replay=None))

        assert row.bounds == (950, None), "what is still to come lies above the log's end"
        assert not row.counted


class TestReusingTheOldNumber:
    @with_cases(
        ("skip", "replay", "verdict"),
        [
            (100, 0, RawVerdict.LOSS),
            (100, 5, RawVerdict.LOSS),
            (0, 5, RawVerdict.REPLAY),
            (0, 0, RawVerdict.SAME),
        ],
    )
    def test_is_judged_by_what_was_counted_there(self, skip: int, replay: int, verdict: RawVerdict) -> None:
        row = by_content(replace(CUT, raw_skip=skip, raw_replay=replay))

        assert row.raw == RawReuse(verdict=verdict, skip=skip, replay=replay)

    @with_cases("offset", [1101, 99], ids=["past the end", "below the start"])
    def test_outside_the_new_log_is_out_of_range_whatever_was_counted(self, offset: int) -> None:
        position = replace(POSITION, offset=offset, new=LogRange(log_start=100, lso=1100, hw=1100))

        assert by_content(CUT, position=position).raw == RawReuse(verdict=RawVerdict.OUT_OF_RANGE)
        assert claimed(SYNC, position=position).raw == RawReuse(verdict=RawVerdict.OUT_OF_RANGE)

    def test_at_either_end_of_the_new_log_is_inside_it(self) -> None:
        for offset in (0, 1100):
            assert claimed(SYNC, position=replace(POSITION, offset=offset)).raw.verdict is RawVerdict.UNKNOWN

    def test_past_the_upper_bound_loses_and_below_the_lower_one_repeats(self) -> None:
        assert by_content(BOUNDED).raw == RawReuse(verdict=RawVerdict.LOSS)
        higher = replace(BOUNDED, offset=1060, lo=1060, hi=1070)
        assert by_content(higher).raw == RawReuse(verdict=RawVerdict.REPLAY)

    def test_between_the_bounds_is_unknown(self) -> None:
        assert by_content(replace(BOUNDED, lo=1000, hi=1070)).raw.verdict is RawVerdict.UNKNOWN

    def test_without_a_place_is_confusion_only_where_the_records_were_seen_to_differ(self) -> None:
        assert by_content(replace(UNKNOWN, raw_differs=True)).raw.verdict is RawVerdict.CONFUSION
        assert by_content(UNKNOWN).raw.verdict is RawVerdict.UNKNOWN

    def test_without_reading_records_is_unknown(self) -> None:
        assert claimed(SYNC).raw == RawReuse(verdict=RawVerdict.UNKNOWN)


class TestClaims:
    def test_are_claims_however_narrow(self) -> None:
        row = claimed(replace(SYNC, lo=950, hi=950))

        assert (row.new_offset, row.exactness, row.counted) == (950, Exactness.CLAIMED, False)
        assert (row.skip, row.replay, row.foreign_below) == (None, None, None)
        assert row.evidence.reason == "Two syncs stand around it. No record confirmed it."

    def test_the_highest_that_skips_nothing_is_taken(self) -> None:
        checkpoint = Candidate(method=Method.MIRROR_CHECKPOINT, lo=930, hi=None, said_by="A checkpoint.")

        assert claimed(SYNC, checkpoint).method is Method.MIRROR_CHECKPOINT

    def test_a_guess_is_only_a_place_to_look(self) -> None:
        row = claimed(replace(SYNC, guess=True))

        assert (row.new_offset, row.exactness) == (None, Exactness.UNKNOWN)

    @with_cases(
        "asked", GOLDEN["timestamp_lookup_on_transactional_log"]["for_timestamp_of_record"], ids=lambda a: a["record"]
    )
    def test_what_a_timestamp_points_to_is_no_claim(self, asked: dict[str, int]) -> None:
        found = FoundPosition(answer=Answer(), at_time=asked["returned"])

        row = claimed(*guesses(found, asked["record"]))

        assert (row.new_offset, row.exactness) == (None, Exactness.UNKNOWN)
        assert [(one.method, one.lo) for one in row.evidence.candidates] == [(Method.TIMESTAMP, asked["returned"])]

    def test_without_any_the_row_says_why(self) -> None:
        assert claimed().evidence.reason == "Nobody says where the position lies, and no record was read."

    @with_cases(
        ("change", "reason"),
        [
            ({"new": None}, "The new cluster has no orders-0."),
            ({"new": UNREAD}, "The new cluster did not give the log of orders-0."),
            ({"old": None}, "The old cluster has no orders-0."),
            ({"old": UNREAD}, "The old cluster did not give the log of orders-0."),
            ({"offset": 1201}, "1,201 lies past the end of the old log, 1,200: it was not read from there."),
        ],
        ids=["no new partition", "new unread", "no old partition", "old unread", "past the old log"],
    )
    def test_do_not_stand_where_there_can_be_no_answer(self, change: dict[str, LogRange | int], reason: str) -> None:
        row = claimed(SYNC, position=replace(POSITION, **change))  # type: ignore[arg-type]

        assert (row.new_offset, row.exactness, row.evidence.reason) == (None, Exactness.UNKNOWN, reason)


class TestALinkThatKeepsOffsets:
    def test_is_preserved_where_the_probes_agree(self) -> None:
        row = resolve(Match(query=POSITION, preserved=True, probed="Probed."))

        assert (row.new_offset, row.exactness, row.method) == (1050, Exactness.PRESERVED, Method.PRESERVED)
        assert row.raw == RawReuse(verdict=RawVerdict.SAME, skip=0, replay=0)
        assert (row.lag_new, row.skip, row.replay) == (50, 0, 0)

    def test_keeps_the_records_around_the_place_to_be_read_again(self) -> None:
        near = Neighbour(old_offset=1049, new_offset=1049, timestamp_ms=5, identity="ab", side=Side.READ)
        answer = Answer(kept=(near,), made_of="key, value and headers", ignored_headers=("x",), schema_ids=((7, 107),))

        evidence = resolve(Match(query=POSITION, preserved=True, probed="Probed.", answer=answer, salt="cd")).evidence

        assert (evidence.neighbours, evidence.identity, evidence.salt) == ((near,), "key, value and headers", "cd")
        assert (evidence.ignored_headers, evidence.schema_ids) == (("x",), ((7, 107),))

    def test_is_only_a_claim_where_no_record_was_read(self) -> None:
        row = resolve(Match(query=POSITION, preserved=True))

        assert (row.new_offset, row.exactness) == (1050, Exactness.CLAIMED)
        assert row.raw == RawReuse(verdict=RawVerdict.UNKNOWN)
        assert (row.skip, row.replay) == (None, None)

    def test_does_not_bring_a_number_into_a_log_that_lacks_it(self) -> None:
        position = replace(POSITION, new=LogRange(log_start=0, lso=1000, hw=1000))

        assert resolve(Match(query=position, preserved=True)).raw.verdict is RawVerdict.OUT_OF_RANGE
        assert resolve(Match(query=replace(POSITION, new=UNREAD), preserved=True)).raw.verdict is RawVerdict.UNKNOWN


class TestWithoutAPosition:
    def test_a_partition_starts_at_the_earliest_record_by_default(self) -> None:
        row = resolve(Match(query=replace(POSITION, offset=None)))

        assert (row.old_offset, row.new_offset, row.method) == (None, 0, Method.EARLIEST)
        assert (row.exactness, row.lag_old, row.lag_new, row.restart) == (Exactness.CLAIMED, None, 1100, ())

    def test_an_unread_log_has_no_earliest_record(self) -> None:
        row = resolve(Match(query=replace(POSITION, offset=None, new=UNREAD)))

        assert (row.new_offset, row.exactness, row.method) == (None, Exactness.UNKNOWN, Method.NONE)


class TestLag:
    def test_ends_where_the_job_may_read(self) -> None:
        row = by_content(
            CUT, position=replace(POSITION, of=replace(POSITION.of, isolation=IsolationLevel.READ_COMMITTED))
        )

        assert (row.lag_old, row.lag_new) == (140, 140)

    def test_is_negative_past_the_end_and_never_clamped(self) -> None:
        assert claimed(position=replace(POSITION, offset=1300)).lag_old == -100

    def test_of_an_unread_log_is_unknown(self) -> None:
        row = by_content(CUT, position=replace(POSITION, old=UNREAD, new=UNREAD))

        assert (row.lag_old, row.lag_new) == (None, None)


def ended(position: Query) -> Query:
    """Ask where the end of the pending batch lies."""
    return replace(position, offset=position.planned, planned=None)


class TestTheRestart:
    def test_uses_the_last_committed_position(self) -> None:
        assert by_content(CUT).restart == (RestartPoint(batch=6, old=1050, new=950),)

    def test_of_a_pending_batch_uses_both_its_ends(self) -> None:
        position = replace(POSITION, of=replace(POSITION.of, planned_batch=7), planned=1100)
        seen = Neighbour(old_offset=1099, new_offset=999, timestamp_ms=1, identity="ab", side=Side.READ)
        cut = replace(CUT, offset=1000, lo=1000, hi=1000, neighbours=(seen,))
        ending = Match(query=ended(position), answer=Answer(cut=cut), salt="5a")

        row = resolve(Match(query=position, answer=Answer(cut=CUT), planned=ending))

        assert row.restart == (RestartPoint(batch=6, old=1050, new=950), RestartPoint(batch=7, old=1100, new=1000))
        assert row.evidence.neighbours == ()
        assert row.end_evidence is not None
        assert (row.end_evidence.neighbours, row.end_evidence.salt) == ((seen,), "5a")

    def test_of_a_pending_batch_may_know_one_end_only(self) -> None:
        position = replace(POSITION, of=replace(POSITION.of, planned_batch=7), planned=1100)

        ending = Match(query=ended(position), answer=Answer(cut=UNKNOWN))
        row = resolve(Match(query=position, answer=Answer(cut=CUT), planned=ending))

        assert row.restart[1] == RestartPoint(batch=7, old=1100, new=None)


def test_an_empty_new_log_is_a_log() -> None:
    assert claimed(replace(SYNC, lo=0, hi=0), position=replace(POSITION, new=HERE)).new_offset == 0


@with_cases(
    ("new", "exactness", "verdict"),
    [
        (HERE, Exactness.EXACT, RawVerdict.SAME),
        (LogRange(log_start=0, lso=3, hw=3), Exactness.BOUNDED, RawVerdict.UNKNOWN),
        (LogRange(log_start=0, lso=3, hw=3), Exactness.EXACT, RawVerdict.UNKNOWN),
    ],
    ids=["both without records", "records on the new one", "copies on the new one"],
)
def test_what_a_start_that_is_chosen_later_does_unedited_is_known_only_of_empty_logs(
    new: LogRange, exactness: Exactness, verdict: RawVerdict
) -> None:
    empty = LogRange(log_start=500, lso=500, hw=500)
    position = replace(
        POSITION, offset=500, of=replace(POSITION.of, batch=None), old=empty, new=new, starts_at="latest"
    )
    cut = replace(CUT, exactness=exactness, offset=0, lo=0, hi=0, raw_skip=None, raw_replay=None)

    row = resolve(Match(query=position, answer=Answer(cut=cut)))

    assert (row.old_offset, row.new_offset, row.raw.verdict) == (500, 0, verdict)
    assert row.evidence.reason.startswith("The checkpoint has no offset for orders-0 but its start, latest")


def test_a_start_that_is_chosen_later_in_a_log_with_records_has_no_answer() -> None:
    row = resolve(Match(query=replace(POSITION, offset=None, starts_at="earliest")))

    assert (row.old_offset, row.new_offset, row.exactness, row.restart) == (None, None, Exactness.UNKNOWN, ())
    assert "but its start, earliest" in row.evidence.reason
