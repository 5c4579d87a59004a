"""Where a job restarts, and what is said when the checkpoint is not whole."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from offsetwise.model import AnyPosition, Checkpoint
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint, read_from
from offsetwise.plugins.spark.engine.details import spark_details
from offsetwise.storage.folders import Entry
from tests.counted import calls
from tests.plugins.spark.folders import MemoryFolder, checkpoint, crc_of, orders, write
from tests.with_cases import with_cases

OTHER = '{"metadata":{"seqNum":"4959"},"shards":[]}'
"""The line of a source that is none of those known, as a Databricks one."""


def _read(files: dict[str, bytes], *, batches: int = 100) -> Checkpoint:
    return read_from(MemoryFolder(files), batches=batches)


def _codes(read: Checkpoint) -> list[str]:
    return [problem.code for problem in read.problems]


def _offsets(read: Checkpoint, source: int = 0) -> list[tuple[AnyPosition, AnyPosition | None]]:
    return [(one.offset, one.planned_offset) for one in read.sources[source].positions]


def _said(read: Checkpoint, code: str = "CHECKPOINT_DAMAGED") -> str:
    return " ".join(problem.message for problem in read.problems if problem.code == code)


class TestASourceOfAnotherKind:
    def test_is_never_given_as_the_place_where_the_next_batch_starts(self) -> None:
        read = _read(checkpoint({0: OTHER}, (0,), initial={}))

        assert read.restart == (
            "Batch 0 is committed: batch 1 is the next. Where source 0 starts is not known from this checkpoint's "
            "lines: sources of its kind are not read."
        )
        assert [(one.kind, one.positions, one.raw) for one in read.sources] == [("other", (), OTHER)]

    def test_beside_a_kafka_source_leaves_that_one_its_places(self) -> None:
        two = f"{orders(7)}\n{OTHER}"
        committed, pending = _read(checkpoint({0: two}, (0,))), _read(checkpoint({0: two, 1: two}, (0,)))

        assert committed.restart.startswith("Batch 0 is committed: batch 1 starts at orders-0 at 7, orders-1 at ")
        for read in (committed, pending):
            assert "Where source 1 starts is not known" in read.restart
            assert "4959" not in " ".join([read.restart, *(each.message for each in read.problems)])


class TestARestart:
    def test_continues_at_the_end_of_the_last_batch_when_that_is_committed(self) -> None:
        read = _read(checkpoint({0: orders(100), 1: orders(1050)}, (0, 1)))

        assert (read.details.progress.planned, read.details.progress.committed, read.details.progress.again) == (
            1,
            1,
            None,
        )
        assert _offsets(read) == [(1050, None), (20, None)]
        assert read.problems == ()

    def test_runs_a_planned_batch_again_from_the_batch_before_it(self) -> None:
        read = _read(checkpoint({0: orders(1050), 1: orders(1100)}, (0,)))

        assert read.details.progress.again == 1
        assert _offsets(read) == [(1050, 1100), (20, 20)]
        assert "1,050" in _said(read, "PENDING_BATCH")
        assert "1,100" in _said(read, "PENDING_BATCH")

    def test_of_a_pending_first_batch_starts_at_the_initial_offsets(self) -> None:
        read = _read(checkpoint({0: orders(1100)}))

        assert (read.details.progress.again, read.details.progress.committed) == (0, None)
        assert _offsets(read) == [(5, 1100), (5, 20)]
        assert [path for path, _ in read.pins] == ["offsets/0", "sources/0/0"]

    def test_before_any_batch_was_planned_starts_at_the_initial_offsets(self) -> None:
        read = _read(checkpoint({}))

        assert read.restart == "No batch has been planned: batch 0 starts at the initial offsets, orders-0 at 5, " + (
            "orders-1 at 5."
        )
        assert _offsets(read) == [(5, None), (5, None)]

    def test_without_initial_offsets_is_a_problem_and_no_position(self) -> None:
        read = _read(checkpoint({0: orders(1100)}, initial={}))

        assert read.sources[0].positions == ()
        assert "sources/0/0 is missing" in _said(read)
        assert "is unknown" in read.restart

    def test_with_a_purged_history_is_no_problem(self) -> None:
        read = _read(checkpoint({7: orders(100), 8: orders(1050)}, (4, 5, 6, 7, 8)))

        assert read.problems == ()
        assert _offsets(read) == [(1050, None), (20, None)]

    @with_cases(("partitions", "rest"), [(30, "26 more partitions"), (5, "1 more partition")])
    def test_names_at_most_a_few_partitions(self, partitions: int, rest: str) -> None:
        line = '{"orders":{' + ",".join(f'"{number}":{number}' for number in range(partitions)) + "}}"

        assert _read(checkpoint({0: line}, (0,))).restart.endswith(f"orders-3 at 3, and {rest}.")


class TestABatchThatIsMissing:
    def test_in_both_logs_is_a_gap(self) -> None:
        read = _read(checkpoint({0: orders(10), 1: orders(20), 8: orders(1050)}, (0, 1, 8)))

        assert _codes(read) == ["GAP"]
        assert "Batches 2 to 7" in _said(read, "GAP")
        assert _offsets(read) == [(1050, None), (20, None)]

    def test_in_both_logs_before_a_pending_batch_starts_it_at_the_file_before(self) -> None:
        read = _read(checkpoint({0: orders(10), 1: orders(20), 8: orders(1050)}, (0, 1)))

        assert _codes(read) == ["GAP", "PENDING_BATCH"]
        assert _offsets(read) == [(20, 1050), (20, 20)]

    def test_in_offsets_only_is_damage(self) -> None:
        read = _read(checkpoint({0: orders(10), 2: orders(30), 3: orders(40)}, (0, 1, 2, 3)))

        assert _codes(read) == ["CHECKPOINT_DAMAGED"]
        assert "offsets/1 is missing" in _said(read)
        assert _offsets(read) == [(40, None), (20, None)]

    def test_before_the_last_committed_one_is_what_spark_fails_on(self) -> None:
        read = _read(checkpoint({6: orders(10), 8: orders(1050)}, (6, 7, 8)))

        assert "offsets/7 is missing, though committed. Spark reads it on restart and fails." in _said(read)

    def test_before_a_pending_one_leaves_its_start_unknown(self) -> None:
        read = _read(checkpoint({6: orders(10), 8: orders(1050)}, (6, 7)))

        assert read.sources[0].positions == ()
        assert "is unknown" in read.restart

    def test_and_alone_retained_needs_its_predecessor(self) -> None:
        assert _codes(_read(checkpoint({8: orders(1050)}, (8,)))) == ["GAP"]
        assert _codes(_read(checkpoint({8: orders(1050)}, (7, 8)))) == ["CHECKPOINT_DAMAGED"]
        assert _offsets(_read(checkpoint({8: orders(1050)}, (8,)))) == [(1050, None), (20, None)]

    def test_from_the_commits_in_the_middle_is_said_and_changes_nothing(self) -> None:
        read = _read(checkpoint({0: orders(1), 1: orders(2), 2: orders(3)}, (0, 2)))

        assert "commits/1 is missing" in _said(read)
        assert _offsets(read) == [(3, None), (20, None)]

    def test_far_away_costs_no_time(self) -> None:
        files = checkpoint({0: orders(1), 10**18: orders(3)}, (0, 10**18))

        assert _codes(_read(files)) == ["GAP"]
        assert calls(lambda: _read(files)) < 20_000, "the ids between are not walked"


class TestLogsThatDisagree:
    def test_with_commits_ahead_of_offsets_are_damage_without_positions(self) -> None:
        read = _read(checkpoint({0: orders(1), 1: orders(2)}, (0, 1, 2)))

        assert "the end of batch 2 is lost" in _said(read)
        assert read.details.progress.again is None
        assert read.sources[0].positions == ()

    def test_with_commits_and_no_offsets_are_damage(self) -> None:
        read = _read(checkpoint({}, (0, 1)))

        assert "offsets/1 is lost" in _said(read)
        assert all(source.positions == () for source in read.sources)

    def test_with_commits_lost_show_what_spark_does(self) -> None:
        read = _read(checkpoint({0: orders(1), 1: orders(2), 2: orders(3)}, (0,)))

        assert [problem.code for problem in read.problems] == ["COMMITS_LOST", "PENDING_BATCH"]
        assert "Batch 1 is planned and not committed, yet batch 2 is planned after" in read.problems[0].message
        assert _offsets(read) == [(2, 3), (20, 20)]

    def test_with_commits_lost_that_name_state_are_damage(self) -> None:
        lines = {0: orders(1), 1: orders(2), 2: orders(3), 3: orders(4)}
        read = _read(checkpoint(lines, (0,)) | {"state/0/0/2_7ca88777-d887.zip": b"x"})

        assert "commits/2 alone names the state that Spark loads" in _said(read)
        assert read.problems[0].code == "CHECKPOINT_DAMAGED"

    def test_with_different_sources_give_no_positions(self) -> None:
        read = _read(checkpoint({0: orders(1) + "\n7", 1: orders(2)}, (0,)))

        assert "a line was lost or added" in _said(read)
        assert read.sources[0].positions == ()

    def test_with_fewer_lines_than_source_folders_give_no_positions(self) -> None:
        read = _read(checkpoint({0: orders(1)}, (0,), initial={"0": b'\0v1\n{"orders":{"0":5}}', "1": b"v1\n7"}))

        assert "lines were lost" in _said(read)
        assert read.sources[0].positions == ()


class TestAStepBack:
    def test_in_a_pending_batch_is_pollution(self) -> None:
        read = _read(checkpoint({0: orders(1050), 1: orders(950)}, (0,)))

        assert _codes(read) == ["CHECKPOINT_POLLUTED"]
        assert "orders-0 goes back from 1,050 to 950 in batch 1" in _said(read, "CHECKPOINT_POLLUTED")
        assert _offsets(read) == [(1050, 950), (20, 20)]

    def test_in_a_committed_batch_is_said_as_well(self) -> None:
        read = _read(checkpoint({0: orders(1050), 1: orders(950)}, (0, 1)))

        assert "which is committed" in _said(read, "CHECKPOINT_POLLUTED")
        assert _offsets(read) == [(950, None), (20, None)]


class TestAGarbledOffsetFile:
    HEAD = "v1\n{}\n"

    @with_cases(
        "data",
        [
            b"",
            b"v1",
            b"v1\n{}",
            b"v3\n{}\n" + orders(7).encode(),
            b"1\n{}\n" + orders(7).encode(),
            b"v1\n{\n" + orders(7).encode(),
            b"v1\n[]\n" + orders(7).encode(),
            b'v1\n{"batchTimestampMs":1.5}\n' + orders(7).encode(),
            b'v1\n{"batchTimestampMs":1,"batchTimestampMs":2}\n' + orders(7).encode(),
            b"\xff\xfe" + orders(7).encode(),
        ],
        ids=[
            "empty",
            "version only",
            "no source",
            "unknown version",
            "no version",
            "metadata cut",
            "metadata no object",
            "float time",
            "time twice",
            "not UTF-8",
        ],
    )
    def test_as_a_whole_gives_no_position(self, data: bytes) -> None:
        read = _read(checkpoint({0: orders(1), 1: data}, (0, 1)))

        assert re.search("offsets/1 (is garbled|was written by another Spark)", _said(read))
        assert all(source.positions == () for source in read.sources)
        assert "is unknown" in read.restart

    @with_cases(
        "line",
        [
            '{"orders":{"0":1.5}}',
            '{"orders":{"0":1e3}}',
            '{"orders":{"0":"7"}}',
            '{"orders":{"0":true}}',
            '{"orders":{"0":null}}',
            '{"orders":{"0":9223372036854775808}}',
            '{"orders":{"0":' + "9" * 5000 + "}}",
            '{"orders":{"0":NaN}}',
            '{"orders":{"0":7,"0":8}}',
            '{"orders":{"0":7},"orders":{"0":8}}',
            '{"orders":{"00":7}}',
            '{"orders":{"2147483648":7}}',
            '{"orders":{"0":7,"x":8}}',
            '{"orders":{"0":7},"payments":8}',
            '{"or ders":{"0":7}}',
            '{"orders":{"0":7}',
            '{"orders":{"0":7}}}',
            "{" * 100_000,
            "",
        ],
        ids=lambda line: line[:32] or "empty line",
    )
    def test_in_one_line_gives_no_position_of_that_source_and_keeps_the_others(self, line: str) -> None:
        files = checkpoint({0: f"{orders(1)}\n{orders(2)}", 1: f"{line}\n{orders(7)}"}, (0, 1), initial={})
        read = _read(files)

        assert "offsets/1, source 0 is garbled" in _said(read)
        assert read.sources[0].positions == ()
        assert _offsets(read, 1) == [(7, None), (20, None)]

    def test_leaves_the_start_of_a_pending_batch_known(self) -> None:
        read = _read(checkpoint({0: orders(1050), 1: b"v1\n{}"}, (0,)))

        assert read.details.progress.again == 1
        assert _offsets(read) == [(1050, None), (20, None)]
        assert "CHECKPOINT_DAMAGED" in _codes(read)

    def test_that_the_restart_does_not_need_is_said_and_changes_nothing(self) -> None:
        read = _read(checkpoint({0: b"v1", 1: orders(2), 2: orders(1050)}, (0, 1, 2)))

        assert "The restart does not use it" in _said(read)
        assert _offsets(read) == [(1050, None), (20, None)]
        assert read.details.batches[0].sources == ()

    @with_cases("number", [-1, -2, -9])
    def test_with_a_negative_number_leaves_that_partition_out(self, number: int) -> None:
        read = _read(checkpoint({0: orders(1), 1: orders(number)}, (0, 1)))

        assert [(one.partition, one.offset) for one in read.sources[0].positions] == [(1, 20)]
        assert f"has {number}" in _said(read)

    def test_where_a_kafka_line_became_something_else_is_damage(self) -> None:
        read = _read(checkpoint({0: orders(1), 1: "7"}, (0, 1)))

        assert "no Kafka offset, though the source is Kafka's" in _said(read)
        assert (read.sources[0].kind, read.sources[0].positions) == ("kafka", ())


class TestWhatReadersAccept:
    @with_cases("end", ["\n", "\r\n", "\r", ""], ids=["LF", "CRLF", "CR", "none"])
    def test_one_line_end_at_the_end_adds_no_source(self, end: str) -> None:
        data = f"v1{end or chr(10)}{{}}{end or chr(10)}{orders(7)}{end}".encode()

        assert _offsets(_read(checkpoint({0: data}, (0,)))) == [(7, None), (20, None)]

    def test_two_line_ends_are_one_source_more(self) -> None:
        read = _read(checkpoint({0: f"v1\n{{}}\n{orders(7)}\n\n".encode()}, (0,)))

        assert len(read.sources) == 2
        assert "source 1 is garbled" in _said(read)

    def test_the_metadata_line_may_be_empty(self) -> None:
        read = _read(checkpoint({0: f"v1\n\n{orders(7)}".encode()}, (0,)))

        assert _offsets(read) == [(7, None), (20, None)]
        assert read.details.batches[0].timestamp_ms is None

    def test_other_line_separators_of_unicode_are_no_line_ends(self) -> None:
        read = _read(checkpoint({0: f'v1\n{{"conf":{{"a":"b\u2028c\u0085d"}}}}\n{orders(7)}'.encode()}, (0,)))

        assert _offsets(read) == [(7, None), (20, None)]

    def test_spaces_around_an_offset_are_nothing(self) -> None:
        assert _offsets(_read(checkpoint({0: f" {orders(7)} "}, (0,)))) == [(7, None), (20, None)]


class TestASource:
    @with_cases("text", ["7", '{"logOffset":3}', '{"reservoirId":"a","index":-1}', OTHER])
    def test_that_is_not_kafka_is_kept_as_it_is(self, text: str) -> None:
        read = _read(checkpoint({0: f"{orders(1)}\n{text}"}, (0,)))

        assert (read.sources[1].kind, read.sources[1].raw, read.sources[1].positions) == ("other", text, ())
        assert read.problems == ()

    def test_without_an_offset_yet_has_none(self) -> None:
        read = _read(checkpoint({0: f"{orders(1)}\n-"}, (0,)))

        assert (read.sources[1].kind, read.sources[1].raw) == ("other", None)

    def test_without_an_offset_yet_starts_at_its_initial_offsets(self) -> None:
        files = checkpoint({0: "-"}, (0,))

        assert _offsets(_read(files)) == [(5, None), (5, None)]
        assert [path for path, _ in _read(files).pins] == ["offsets/0", "sources/0/0"]

    def test_of_a_v2_log_is_known_by_its_name(self) -> None:
        files = checkpoint({0: f"src_orders:{orders(7)}\nclicks:{OTHER}"}, (0,), version=2, initial={})
        read = _read(files)

        assert [(one.index, one.id, one.kind) for one in read.sources] == [
            (0, "src_orders", "kafka"),
            (1, "clicks", "other"),
        ]
        assert _offsets(read) == [(7, None), (20, None)]
        assert read.sources[1].raw == OTHER

    def test_that_a_v2_batch_before_lacks_starts_at_its_initial_offsets(self) -> None:
        starts = {"a": b'\0v1\n{"orders":{"0":1}}', "b": b'\0v1\n{"orders":{"0":3,"1":4}}'}
        read = _read(
            checkpoint({0: f"a:{orders(7)}", 1: f"a:{orders(9)}\nb:{orders(8)}"}, (0,), version=2, initial=starts)
        )

        assert _offsets(read, 0) == [(7, 9), (20, 20)]
        assert _offsets(read, 1) == [(3, 8), (4, 20)]

    @with_cases("line", ["no colon", "bad name!:7", "a:1\na:2"])
    def test_line_of_a_v2_log_must_name_each_source_once(self, line: str) -> None:
        assert "offsets/0 is garbled" in _said(_read(checkpoint({0: line}, (0,), version=2)))

    def test_with_a_new_partition_in_a_pending_batch_says_that_its_start_is_not_recorded(self) -> None:
        read = _read(checkpoint({0: '{"orders":{"0":7}}', 1: orders(9)}, (0,)))

        assert _offsets(read) == [(7, 9)]
        assert "orders-1 is planned up to 20" in _said(read, "NEW_PARTITION")

    def test_keeps_offsets_above_two_to_the_53(self) -> None:
        assert _offsets(_read(checkpoint({0: orders(2**63 - 1)}, (0,))))[0] == (9223372036854775807, None)


class TestInitialOffsets:
    @with_cases("lead", [b"\0", b"!", b"\x7f"], ids=["zero", "another", "high"])
    def test_have_one_byte_before_the_version_whatever_it_is(self, lead: bytes) -> None:
        read = _read(checkpoint({0: orders(9)}, initial={"0": lead + b'v1\n{"orders":{"0":5,"1":6}}'}))

        assert _offsets(read) == [(5, 9), (6, 20)]
        assert _codes(read) == ["PENDING_BATCH"]

    def test_of_spark_2_1_0_have_no_version(self) -> None:
        assert _offsets(_read(checkpoint({0: orders(9)}, initial={"0": b'\0{"orders":{"0":5,"1":6}}'})))[0] == (5, 9)

    def test_without_that_byte_are_what_spark_fails_on(self) -> None:
        read = _read(checkpoint({0: orders(9)}, initial={"0": b'v1\n{"orders":{"0":5,"1":6}}'}))

        assert "the byte before the version is missing, so Spark fails" in _said(read)
        assert _offsets(read)[0] == (5, 9)

    @with_cases("data", [b"\0", b"\0v1", b"\0v2\n{}", b'\0v1\n{"orders":{"0":5.5}}', b"\0v1\n7", b"\0v1\n\xff"])
    def test_that_are_garbled_give_no_position(self, data: bytes) -> None:
        read = _read(checkpoint({0: orders(9)}, initial={"0": data}))

        assert "sources/0/0 is garbled" in _said(read)
        assert read.sources[0].positions == ()

    def test_with_a_negative_number_leave_that_partition_out(self) -> None:
        read = _read(checkpoint({0: orders(9)}, initial={"0": b'\0v1\n{"orders":{"0":-2,"1":6}}'}))

        assert _offsets(read) == [(6, 20)]
        assert "-2 (earliest) for orders-0" in _said(read)

    def test_that_no_restart_uses_are_not_judged(self) -> None:
        assert _read(checkpoint({0: orders(9)}, (0,), initial={"0": b"\0garbled"})).problems == ()


class TestAChecksum:
    def test_that_fits_is_no_problem(self) -> None:
        files = checkpoint({0: orders(1), 1: orders(2)}, (0, 1))
        files |= {"offsets/.1.crc": crc_of(files["offsets/1"])}

        assert _read(files).problems == ()

    @with_cases(
        "path", ["offsets/1", "offsets/0", "commits/1", "metadata"], ids=["last", "one before", "commit", "query id"]
    )
    @with_cases("checksum", [crc_of(b"other"), b"", b"crc", b"crc\0\0\0\0\0"], ids=str)
    def test_that_is_stale_is_a_problem_and_the_numbers_stay(self, path: str, checksum: bytes) -> None:
        files = checkpoint({0: orders(1), 1: orders(2)}, (0, 1))
        folder, slash, name = path.rpartition("/")
        read = _read(files | {f"{folder}{slash}.{name}.crc": checksum})

        assert _codes(read) == ["CHECKPOINT_DAMAGED"]
        assert f"{folder}{slash}.{name}.crc does not fit {path}" in _said(read)
        assert _offsets(read) == [(2, None), (20, None)]

    def test_of_initial_offsets_that_are_used_is_held_against_them(self) -> None:
        files = checkpoint({0: orders(9)})
        fitting = {"sources/0/.0.crc": crc_of(files["sources/0/0"])}
        stale = {"sources/0/.0.crc": crc_of(b"other")}

        assert _codes(_read(files | fitting)) == ["PENDING_BATCH"]
        assert "sources/0/.0.crc does not fit sources/0/0" in _said(_read(files | stale))
        assert _offsets(_read(files | stale)) == [(5, 9), (5, 20)]


class TestOtherFiles:
    @with_cases("name", [".2.crc.tmp", "2.tmp", ".2.a1b2.tmp", ".2.a1b2.TID7.tmp", "_temporary", "2.bak"])
    def test_in_the_logs_are_no_batches(self, name: str) -> None:
        files = checkpoint({0: orders(1), 1: orders(2)}, (0, 1)) | {f"offsets/{name}": b"x", f"commits/{name}": b"x"}

        assert _read(files).details.progress.planned == 1
        assert _read(files).problems == ()

    @with_cases("name", ["007", "+7", "-7", "99999999999999999999"])
    def test_named_by_a_number_in_another_spelling_are_damage(self, name: str) -> None:
        read = _read(checkpoint({0: orders(1)}, (0,)) | {f"offsets/{name}": b"x"})

        assert f"offsets/{name} is a number" in _said(read)
        assert read.details.progress.planned == 0

    def test_missing_or_garbled_metadata_is_damage(self) -> None:
        files = checkpoint({0: orders(1)}, (0,))
        without = {path: data for path, data in files.items() if path != "metadata"}

        assert "metadata is missing" in _said(_read(without))
        assert _read(without).job_id is None
        assert "metadata is garbled" in _said(_read(files | {"metadata": b"{}"}))
        assert _offsets(_read(files | {"metadata": b"{}"})) == [(1, None), (20, None)]

    @with_cases("data", [b"", b"v4\n{}", b"v1\n[", b"v1\n7"])
    def test_garbled_commits_are_damage(self, data: bytes) -> None:
        read = _read(checkpoint({0: orders(1)}, (0,)) | {"commits/0": data})

        assert re.search("commits/0 (is garbled|was written by another Spark)", _said(read))

    @with_cases("data", [b"v1", b"v1\n", b'v2\n{"stateUniqueIds":{}}', b'v3\n{"sinkMetadataMap":{}}'])
    def test_commits_of_every_version_are_read(self, data: bytes) -> None:
        read = _read(checkpoint({0: orders(1)}, (0,)) | {"commits/0": data})

        assert read.problems == ()
        assert spark_details(read).commit_log_version == int(data[1:2])


class TestARunningQuery:
    def test_is_suspected_from_a_young_temporary_file(self, tmp_path: Path) -> None:
        write(checkpoint({0: orders(1)}, (0,)) | {"offsets/.1.4f2a.tmp": b"v1"}, tmp_path)
        assert _codes(read_checkpoint(str(tmp_path))) == ["READER_SUSPECTED"]

        hour_ago = time.time() - 3600
        os.utime(tmp_path / "offsets" / ".1.4f2a.tmp", (hour_ago, hour_ago))
        assert read_checkpoint(str(tmp_path)).problems == ()

    def test_that_commits_while_it_is_read_is_read_again(self) -> None:
        folder = _Running(checkpoint({0: orders(1), 1: orders(2)}, (0,)), changes=1)
        read = read_from(folder)

        assert (read.details.progress.committed, read.details.progress.again) == (1, None)
        assert _codes(read) == ["READER_SUSPECTED"]

    def test_that_never_rests_is_said(self) -> None:
        read = read_from(_Running(checkpoint({0: orders(1), 1: orders(2)}, (0, 1)), changes=99))

        assert _codes(read) == ["READER_SUSPECTED"]
        assert "changed while they were read" in _said(read, "READER_SUSPECTED")
        assert read.details.progress.again is None

    def test_that_purges_files_between_listing_and_reading_is_read_again(self) -> None:
        folder = _Purging(checkpoint({0: orders(1), 1: orders(2), 2: orders(3)}, (0, 1, 2)))
        read = read_from(folder)

        assert [batch.id for batch in read.details.batches] == [1, 2]
        assert _codes(read) == ["READER_SUSPECTED"]


class _Running(MemoryFolder):
    """A query that plans or commits after every listing of its offsets, a number of times."""

    def __init__(self, files: dict[str, bytes], *, changes: int) -> None:
        super().__init__(files)
        self.changes = changes

    def entries(self, folder: str = "", *, details: bool = False) -> tuple[Entry, ...]:
        found = super().entries(folder, details=details)
        if folder == "offsets" and self.changes:
            self.changes -= 1
            last = max(int(path.removeprefix("offsets/")) for path in self.files if path.startswith("offsets/"))
            if f"commits/{last}" in self.files:
                self.files |= {f"offsets/{last + 1}": self.files[f"offsets/{last}"]}
                last += 1
            self.files[f"commits/{last}"] = b"v1"
        return found


class _Purging(MemoryFolder):
    """A query that purges batch 0 after the first listing."""

    def entries(self, folder: str = "", *, details: bool = False) -> tuple[Entry, ...]:
        found = super().entries(folder, details=details)
        if folder == "offsets":
            self.files = {path: data for path, data in self.files.items() if path not in ("offsets/0", "commits/0")}
        return found


class TestCost:
    def test_telling_where_it_restarts_reads_a_handful_of_files(self) -> None:
        files = checkpoint({batch: orders(batch) for batch in range(100)}, tuple(range(100)))
        folder = MemoryFolder(files)
        read_from(folder, batches=0)

        assert sorted(folder.reads) == ["commits/99", "metadata", "offsets/98", "offsets/99", "sources/0/0"]
        assert sorted(folder.listings) == ["", "commits", "commits", "offsets", "offsets", "sources"]

    def test_every_batch_asked_for_is_read_once(self) -> None:
        files = checkpoint({batch: orders(batch) for batch in range(100)}, tuple(range(100)))
        folder = MemoryFolder(files)
        read = read_from(folder, batches=10)

        assert [batch.id for batch in read.details.batches] == list(range(90, 100))
        assert len(folder.reads) == len(set(folder.reads)) == 13
        assert len(folder.listings) == 6
