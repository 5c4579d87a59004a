"""Targets that another tool filled, or filled badly: proven where a right place exists, honest where not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pytest

from offsetwise.config import ClusterConfig
from offsetwise.lab import Lab
from offsetwise.model import Cluster, Exactness, TopicPartition
from offsetwise.pipeline.content import FoundPosition
from offsetwise.plugins.kafka.stream.logs import log_ranges
from offsetwise.ports.log_observations import SeenLog
from offsetwise.translation.windows import Cut, Reason
from tests.integration.test_content_live import PROVEN, check, tell
from tests.integration.topics import Record, copies, create, natives, produce, trim
from tests.integration.truth import Both, find, read_both

N = 300
Results = dict[str, dict[int, FoundPosition]]


def _with_natives(every: int) -> list[Record]:
    mixed: list[Record] = []
    for number, record in enumerate(copies(0, N)):
        mixed += [Record(f"native{number}")] if number % every == 0 else []
        mixed.append(record)
    return mixed


def _schema(record: Record, schema_id: int) -> Record:
    return replace(record, prefix=b"\x00" + schema_id.to_bytes(4, "big"))


def _with_header(record: Record, offset: int) -> Record:
    return replace(record, headers=(("x-original-offset", offset.to_bytes(8, "little")), ("traceparent", b"00-ab")))


NEW = {
    "duplicates": [*copies(0, 200), *copies(150, N)],
    "went back": [*copies(0, N), *copies(100, N - 4)],
    "foreign": _with_natives(10),
    "filtered": [record for number, record in enumerate(copies(0, N)) if number % 7],
    "same": copies(0, N),
    "other": [Record(f"other{number}") for number in range(N)],
    "stopped": copies(0, 150),
    "retained": copies(0, N),
    "cutover": [*copies(0, N), *natives(50)],
    "headers": [_with_header(record, number) for number, record in enumerate(copies(0, N))],
}
RENAMED = {"renamed": copies(0, N)}


@pytest.fixture(scope="session")
def logs(lab: Lab) -> dict[str, Both]:
    names = {name: f"tool-{name.replace(' ', '-')}" for name in (*NEW, *RENAMED, "schemas")}
    create(lab.old_bootstrap, *names.values())
    create(lab.new_bootstrap, *(f"{topic}-new" if name in RENAMED else topic for name, topic in names.items()))
    old = {topic: copies(0, N) for name, topic in names.items() if name != "schemas"}
    produce(lab.old_bootstrap, old | {names["schemas"]: [_schema(r, 7 + n % 2) for n, r in enumerate(copies(0, N))]})
    new = {names[name]: records for name, records in NEW.items()}
    new |= {f"{names[name]}-new": records for name, records in RENAMED.items()}
    new |= {names["schemas"]: [_schema(r, 107 + n % 2) for n, r in enumerate(copies(0, N))]}
    produce(lab.new_bootstrap, new)
    trim(lab.old_bootstrap, names["renamed"], 100)
    trim(lab.new_bootstrap, names["retained"], 200)
    return {
        name: read_both(
            lab.old_bootstrap,
            lab.new_bootstrap,
            TopicPartition(topic, 0),
            f"{topic}-new" if name in RENAMED else topic,
        )
        for name, topic in names.items()
        if name != "schemas"
    }


@pytest.fixture(scope="session")
def found(lab: Lab, logs: dict[str, Both]) -> dict[tuple[Both, int], FoundPosition]:
    return find(lab.old_bootstrap, lab.new_bootstrap, {both: both.everywhere() for both in logs.values()})


def _cut(found: dict[tuple[Both, int], FoundPosition], both: Both, position: int) -> Cut:
    cut = found[both, position].answer.cut
    assert cut is not None
    return cut


def test_every_answer_is_right_or_honest(
    found: dict[tuple[Both, int], FoundPosition], figure: Callable[[str], None]
) -> None:
    tally = check(found)
    figure(f"targets that another tool filled: {len(found)} positions: {tell(tally)}")


def test_records_copied_twice_after_a_restart_are_neither_skipped_nor_repeated_where_possible(
    logs: dict[str, Both], found: dict[tuple[Both, int], FoundPosition]
) -> None:
    both = logs["duplicates"]
    assert _cut(found, both, N - 65).offset == N - 65 + 50
    assert _cut(found, both, N - 65).exactness is Exactness.EXACT
    in_the_middle = _cut(found, both, N // 2)
    assert (in_the_middle.offset, in_the_middle.exactness) == (200, Exactness.EXACT)
    before = _cut(found, both, 64)
    assert (before.exactness, before.reason, before.replay) == (Exactness.BOUNDED, Reason.REPLAY_UNAVOIDABLE, 50)


@pytest.mark.parametrize(("budget", "exact"), [(400, True), (150, False)], ids=["read again", "too far to read"])
def test_a_place_behind_a_run_that_ended_early_does_not_skip_what_an_earlier_run_copied(
    lab: Lab, logs: dict[str, Both], budget: int, *, exact: bool
) -> None:
    both, position = logs["went back"], N - 4
    cut = _cut(find(lab.old_bootstrap, lab.new_bootstrap, {both: [position]}, window=8, budget=budget), both, position)
    assert (cut.exactness, cut.reason) == (Exactness.BOUNDED, Reason.COPIES_BELOW)
    assert 0 < (cut.offset or 0) <= position
    assert not exact or cut.offset == position
    cost = both.cost(position, cut.offset or 0)
    assert cost.skip == 0
    assert cut.replay is None or cost.replay <= cut.replay


def test_windows_that_retention_passed_while_they_were_read_are_void_and_read_again(lab: Lab) -> None:
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, "tool-passed")
        produce(bootstrap, {"tool-passed": copies(0, N)})
    partition = TopicPartition("tool-passed", 0)
    both = read_both(lab.old_bootstrap, lab.new_bootstrap, partition, "tool-passed")
    new = ClusterConfig(name="new", properties={"bootstrap.servers": lab.new_bootstrap})

    def passed(side: Cluster, wanted: Sequence[TopicPartition]) -> Mapping[TopicPartition, SeenLog]:
        trim(lab.new_bootstrap, "tool-passed", 100)
        still = SeenLog(log_start=0, hw=N)
        return dict.fromkeys(wanted, still) if side is Cluster.OLD else log_ranges(new, wanted)

    found = find(lab.old_bootstrap, lab.new_bootstrap, {both: [50]}, log_ranges=passed)
    cut = _cut(found, both, 50)
    assert (cut.offset, cut.exactness, cut.ahead.missing) == (100, Exactness.POSITION_EXACT, 50)

    silent = SeenLog()
    bootstraps = lab.old_bootstrap, lab.new_bootstrap
    found = find(*bootstraps, {both: [50]}, log_ranges=lambda _, wanted: dict.fromkeys(wanted, silent))
    cut = _cut(found, both, 50)
    assert (cut.offset, cut.exactness, cut.reason) == (None, Exactness.UNKNOWN, Reason.LOG_MOVED)


def _by_turns(
    lies: Cluster, says: Iterator[SeenLog], honest: SeenLog, side: Cluster, wanted: Sequence[TopicPartition]
) -> Mapping[TopicPartition, SeenLog]:
    return dict.fromkeys(wanted, next(says, honest) if side is lies else honest)


def test_two_looks_at_a_log_that_disagree_leave_its_positions_unknown(lab: Lab) -> None:
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, "tool-by-turns")
        produce(bootstrap, {"tool-by-turns": copies(0, N)})
    partition = TopicPartition("tool-by-turns", 0)
    both = read_both(lab.old_bootstrap, lab.new_bootstrap, partition, "tool-by-turns")
    honest = SeenLog(log_start=0, hw=N)

    for side in Cluster:
        # By turns the log began somewhere else: what looks like retention first is contradicted by the next look.
        for lies in (
            [replace(honest, log_start=N // 2), honest],
            [replace(honest, hw=N - 1)],
            [replace(honest, hw=0)],
        ):
            asked = partial(_by_turns, side, iter(lies), honest)
            found = find(lab.old_bootstrap, lab.new_bootstrap, {both: [50]}, log_ranges=asked)
            cut = _cut(found, both, 50)
            assert (cut.offset, cut.exactness, cut.reason) == (None, Exactness.UNKNOWN, Reason.LOOKS_DIFFER), lies
            assert f"the {side} log was" in cut.looks


def test_of_two_lost_positions_of_one_partition_each_is_looked_for_at_its_own_time(
    lab: Lab, logs: dict[str, Both]
) -> None:
    both = logs["duplicates"]
    found = find(lab.old_bootstrap, lab.new_bootstrap, {both: [20, 60]}, window=2)
    for position in (20, 60):
        before = next(r.timestamp_ms for r in both.old.records if r.offset == position - 1)
        reached = next(r.offset for r in both.new.records if (r.timestamp_ms or 0) >= (before or 0))
        assert found[both, position].at_time == reached


def test_records_of_others_below_the_place_are_never_passed_over_in_silence(
    logs: dict[str, Both], found: dict[tuple[Both, int], FoundPosition]
) -> None:
    cut = _cut(found, logs["foreign"], N // 2)
    assert (cut.exactness, cut.reason, cut.foreign_below) == (Exactness.BOUNDED, Reason.NATIVE_BELOW, 15)
    assert cut.offset == 0


def test_filtered_records_are_counted_as_missing_ahead(
    logs: dict[str, Both], found: dict[tuple[Both, int], FoundPosition]
) -> None:
    cut = _cut(found, logs["filtered"], N // 2)
    assert cut.exactness is Exactness.POSITION_EXACT
    assert cut.ahead.missing == sum(number % 7 == 0 for number in range(N // 2, N))


def test_other_records_at_the_same_offsets_are_confusion(
    logs: dict[str, Both], found: dict[tuple[Both, int], FoundPosition]
) -> None:
    cut = _cut(found, logs["other"], N // 2)
    assert (cut.exactness, cut.reason, cut.raw_differs) == (Exactness.UNKNOWN, Reason.NO_COMMON_RECORD, True)


def test_a_mirror_that_stopped_early_is_waited_for(
    logs: dict[str, Both], found: dict[tuple[Both, int], FoundPosition]
) -> None:
    assert _cut(found, logs["stopped"], N).reason is Reason.NOT_YET_MIRRORED
    at_the_end = _cut(found, logs["stopped"], N // 2)
    assert (at_the_end.exactness, at_the_end.offset) == (Exactness.POSITION_EXACT, 150)
    assert at_the_end.ahead.missing == 150


def test_where_retention_took_the_place_the_new_log_start_is_left_and_the_loss_counted(
    logs: dict[str, Both], found: dict[tuple[Both, int], FoundPosition]
) -> None:
    cut = _cut(found, logs["retained"], N // 2)
    assert (cut.exactness, cut.offset, cut.ahead.missing) == (Exactness.POSITION_EXACT, 200, 50)


def test_a_caught_up_job_reads_what_producers_already_wrote_on_the_new_cluster(
    logs: dict[str, Both], found: dict[tuple[Both, int], FoundPosition]
) -> None:
    cut = _cut(found, logs["cutover"], N)
    assert (cut.exactness, cut.offset, cut.ahead.foreign) == (Exactness.POSITION_EXACT, N, 50)


def test_headers_of_tools_on_the_way_are_no_part_of_a_record(
    logs: dict[str, Both], found: dict[tuple[Both, int], FoundPosition]
) -> None:
    answer = found[logs["headers"], N // 2].answer
    assert answer.cut is not None
    assert (answer.cut.exactness, answer.cut.offset) == (Exactness.EXACT, N // 2)
    assert answer.ignored_headers == ("traceparent", "x-original-offset")
    assert answer.origin_shift == 0


def test_one_mapping_of_schema_ids_is_masked_and_said(lab: Lab, logs: dict[str, Both]) -> None:
    both = replace(logs["same"], partition=TopicPartition("tool-schemas", 0), new_topic="tool-schemas")
    answer = find(lab.old_bootstrap, lab.new_bootstrap, {both: [N // 2]})[both, N // 2].answer
    assert answer.cut is not None
    assert (answer.cut.offset, answer.cut.exactness) == (N // 2, Exactness.POSITION_EXACT)
    assert answer.schema_ids == ((7, 107), (8, 108))


def test_a_link_said_to_keep_offsets_is_believed_only_where_probes_agree(lab: Lab, logs: dict[str, Both]) -> None:
    wanted = {logs["same"]: [N // 2], logs["other"]: [N // 2], logs["duplicates"]: [N // 2]}
    found = find(lab.old_bootstrap, lab.new_bootstrap, wanted, preserving=True)
    assert found[logs["same"], N // 2].preserved
    assert not found[logs["other"], N // 2].preserved
    assert _cut(found, logs["other"], N // 2).exactness is Exactness.UNKNOWN
    assert not found[logs["duplicates"], N // 2].preserved
    assert _cut(found, logs["duplicates"], N // 2).exactness in PROVEN
