"""The Checkpoint page, as Streamlit runs it, over real folders: recorded ones, the sample's, and ones built by hand."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from offsetwise import files
from offsetwise.batches import history_of
from offsetwise.console import answers
from offsetwise.console.answers import Question
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.widgets import downloads, table
from offsetwise.console.widgets.escaping import markdown
from offsetwise.engines.checkpoint import read_with_times
from offsetwise.engines.engine import CheckpointReading
from offsetwise.errors import SparkError
from offsetwise.model import Batch, BatchSource, Subject, SubjectKind, TopicOffsets
from offsetwise.model.state import StateRows, StoreRows
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.plugins.spark.screens import batches
from offsetwise.plugins.spark.screens import checkpoint as spark
from offsetwise.progress import Progress
from tests.checkpoints import changed
from tests.commands import call
from tests.console.builders import BIDI, HOSTILE, HTML
from tests.console.conftest import OpenPage, settle, uncoloured, words
from tests.console.readers import ETL, ValueReader
from tests.plugins.spark.folders import NAMES, SAMPLES
from tests.with_cases import with_cases

PAGE = "pages/explore/checkpoint.py"
SAMPLE = Path(__file__).parents[2] / "lib" / "offsetwise" / "sample" / "checkpoints"
SENTENCE = 20
"""Letters of the shortest sentence that may be said once only; titles and codes are shorter."""
STATE = StateRows(
    batch=6,
    spark="4.0.0",
    kind="HDFS-backed",
    stores=(
        StoreRows(operator=0, operator_name="stateStoreSave", store="default", partitions=2, rows=((0, 11), (1, 13))),
        StoreRows(
            operator=1, operator_name="dedupe", store="default", partitions=2, problem="state files are missing."
        ),
    ),
)


class FolderReader(ValueReader):
    """Offers one live migration, whose checkpoints are the folders given, and one group."""

    def __init__(self, folders: dict[str, Path], *, gate: threading.Event | None = None) -> None:
        super().__init__(gate=gate)
        self.folders = folders
        self.state = STATE

    def offered(self) -> tuple[Offered, ...]:
        subjects = tuple(Subject(kind=SubjectKind.CHECKPOINT, name=name) for name in self.folders)
        return (Offered(name="m", old="prod-a", new="prod-b", subjects=(*subjects, ETL), recorded=False),)


def write(folder: Path, plans: dict[int, str], commits: tuple[int, ...], *, at: int = 1_700_000_000_000) -> Path:
    """Write a checkpoint: the source lines of every planned batch, and the ids of the committed ones."""
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_text('{"id":"2c4e4238-7d35-4ed2-bbeb-f4e8cc303147"}')
    for number, lines in plans.items():
        head = f'{{"batchWatermarkMs":0,"batchTimestampMs":{at + number * 1000},"conf":{{"a":"{number // 5}"}}}}'
        (folder / "offsets" / str(number)).write_text(f"v1\n{head}\n{lines}")
    for number in commits:
        (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder


def two_partitions(folder: Path) -> Path:
    """The field's example: two partitions, batch 2 planned."""
    ends = {0: (3, 2), 1: (5, 4), 2: (8, 4)}
    plans = {number: f'{{"orders":{{"0":{a},"1":{b}}}}}' for number, (a, b) in ends.items()}
    made = write(folder, plans, (0, 1))
    (made / "sources" / "0").mkdir(parents=True)
    (made / "sources" / "0" / "0").write_bytes(b'\0v1\n{"orders":{"0":0,"1":0}}')
    return made


def count(page: AppTest, button: str) -> None:
    """Press a button that starts a count, and wait for its end as the browser does: by looking again."""
    page.button(key=button).click().run()
    settle(page)


@pytest.fixture
def orders(tmp_path: Path) -> FolderReader:
    return FolderReader({"orders": two_partitions(tmp_path / "orders")})


def test_a_checkpoint_without_a_batch_has_no_line_of_question_marks(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(FolderReader({"orders": write(tmp_path / "orders", {}, ())}), PAGE)
    assert "the file of initial offsets" in words(page)
    assert "Watermark of" not in words(page)
    assert "log v" not in words(page)


@with_cases("name", NAMES)
def test_every_recorded_checkpoint_opens_with_its_restart_sentence(open_page: OpenPage, name: str) -> None:
    page = open_page(FolderReader({name: SAMPLES / name}), PAGE)
    assert not page.exception
    read = read_checkpoint(str(SAMPLES / name))
    assert markdown(read.restart) in words(page)
    assert all(markdown(problem.code) in words(page) for problem in read.problems)
    assert "This could not be read" not in words(page)


@with_cases("name", ["orders", "payments"])
def test_the_sample_opens_at_once_and_says_its_restart(open_page: OpenPage, name: str) -> None:
    page = open_page(Reader(()), PAGE, of=f"checkpoint {name}")
    assert not page.exception
    assert markdown(read_checkpoint(str(SAMPLE / name)).restart) in words(page)
    assert page.selectbox(key="migration").value == "orders-to-new (sample)"


def test_the_sample_says_what_a_failure_would_read_again(open_page: OpenPage) -> None:
    page = open_page(Reader(()), PAGE)
    assert page.metric[2].label == "Read again on restart"
    assert uncoloured(page.metric[2].value) == "303"
    assert "reads 303 records again" in words(page)
    assert "beats\\-0 from 1,068 to 1,119" in words(page)


def test_the_banner_of_a_problem_leads_to_its_explanation(open_page: OpenPage) -> None:
    page = open_page(Reader(()), PAGE)
    assert "help?code=PENDING_BATCH" in "".join(banner.value for banner in page.warning)


def boxes(page: AppTest) -> list[str]:
    return [str(box.value) for kind in (page.error, page.warning, page.info, page.success) for box in kind]


def test_the_restart_and_the_problem_that_it_tells_of_are_one_box(open_page: OpenPage) -> None:
    (restart,) = boxes(open_page(Reader(()), PAGE))
    read = read_checkpoint(str(SAMPLE / "orders"))
    (problem,) = read.problems
    assert restart.startswith(f"**The restart.** {markdown(read.restart)} (")
    assert "help?code=PENDING_BATCH" in restart
    assert markdown(problem.fix) in restart


@with_cases("name", NAMES)
def test_no_sentence_is_said_twice_in_the_boxes_above_the_tabs(open_page: OpenPage, name: str) -> None:
    shown = boxes(open_page(FolderReader({name: SAMPLES / name}), PAGE))
    said = Counter(each for box in shown for each in re.split(r"(?<=\.)\s+|\*\*", box) if len(each) > SENTENCE)
    assert [each for each, count in said.items() if count > 1] == []


def test_stepping_walks_through_what_the_checkpoint_held(open_page: OpenPage, orders: FolderReader) -> None:
    page = open_page(orders, PAGE)
    seen = []
    for _ in range(5):
        seen.append((page.selectbox(key="step").value, "reads nothing twice" in words(page)))
        page.button(key="step-previous").click().run()
    assert seen == [
        ("batch 2 planned", False),
        ("batch 1 committed", True),
        ("batch 1 planned", False),
        ("batch 0 committed", True),
        ("batch 0 planned", False),
    ]
    assert page.selectbox(key="step").value == "before the first batch"
    assert page.button(key="step-previous").disabled
    page.button(key="step-next").click().run()
    assert "reads 5 records again" in words(page)
    assert "orders\\-0 from 0 to 3, orders\\-1 from 0 to 2" in words(page)


def test_a_step_in_the_address_is_the_one_that_opens(open_page: OpenPage, orders: FolderReader) -> None:
    page = open_page(orders, PAGE, step="batch 1 planned")
    assert page.selectbox(key="step").value == "batch 1 planned"
    assert "reads 4 records again" in words(page)


def test_a_rerun_reads_nothing(open_page: OpenPage, orders: FolderReader) -> None:
    page = open_page(orders, PAGE)
    before = dict(orders.calls)
    assert before == {"checkpoint_reading": 1, "batch_files": 2}
    page.run()
    page.button(key="step-previous").click().run()
    page.selectbox(key="partition-of-batches").select("1").run()
    page.selectbox(key="step-topic").select("orders").run()
    assert dict(orders.calls) == before
    page.selectbox(key="batch").select("0").run()
    assert orders.calls["batch_files"] == 3


def test_a_partition_can_be_chosen_below_its_topic(open_page: OpenPage, orders: FolderReader) -> None:
    page = open_page(orders, PAGE, **{"partition-of-batches": "1"})
    assert not page.exception
    batches = next(one.value for one in page.dataframe if "since the one before" in one.value)
    assert batches["end offset"].tolist() == [4, 4, 2]
    assert batches["records"].tolist() == [0, 2, 2]


def test_two_batches_show_what_moved_and_which_setting_changed(open_page: OpenPage, tmp_path: Path) -> None:
    plans = {number: f'{{"orders":{{"0":{number * 10},"1":7}}}}' for number in range(8)}
    reader = FolderReader({"orders": write(tmp_path / "c", plans, tuple(range(8)))})
    page = open_page(reader, PAGE, first="2", second="6")
    moved = next(one.value for one in page.dataframe if "moved" in one.value)
    assert moved["moved"].tolist() == [40, 0]
    changed = next(one.value for one in page.dataframe if "in the second" in one.value)
    assert changed.to_dict("records") == [{"configuration": "a", "in the first": "0", "in the second": "1"}]
    assert "1 forward, 0 back, 1 unmoved" in words(page)


def test_the_raw_file_stands_beside_what_it_says(open_page: OpenPage, orders: FolderReader) -> None:
    path = orders.folders["orders"] / "offsets" / "2"
    page = open_page(orders, PAGE)
    assert path.read_text() in [str(one.value) for one in page.code]
    assert "commits/2 is not there" in words(page).replace("\\", "")


def test_bytes_that_hide_or_act_are_written_out(open_page: OpenPage, tmp_path: Path) -> None:
    folder = write(tmp_path / "c", {0: '{"orders":{"0":5}}', 1: '{"orders":{"0":7}}'}, (0,))
    (folder / "offsets" / "1").write_bytes(b"v1\n\x00\x1b[31m\xff\n\xe2\x80\xae<script>alert(1)</script>")
    page = open_page(FolderReader({"orders": folder}), PAGE)
    assert not page.exception
    assert "v1\n⟨00⟩⟨1B⟩[31m⟨FF⟩\n⟨U+202E⟩<script>alert(1)</script>" in [one.value for one in page.code]
    assert "offsets/1 is garbled" in words(page).replace("\\", "")


def test_a_deleted_checkpoint_shows_the_error_and_keeps_the_last_reading(
    open_page: OpenPage, orders: FolderReader
) -> None:
    page = open_page(orders, PAGE)
    shutil.rmtree(orders.folders["orders"])
    page.button(key="checkpoint-again").click().run()
    assert not page.exception
    gone = "expected a folder, found nothing"
    of_the_checkpoint = words(page).count(gone)
    assert of_the_checkpoint > 0
    assert "UTC is still shown." in words(page)
    assert "reads 3 records again" in words(page)
    page.selectbox(key="batch").select("0").run()
    assert not page.exception
    assert words(page).count(gone) > of_the_checkpoint, "of the batch's files too"


def test_a_checkpoint_that_is_not_there_at_first_says_so_and_can_be_tried_again(
    open_page: OpenPage, tmp_path: Path
) -> None:
    reader = FolderReader({"orders": tmp_path / "orders"})
    page = open_page(reader, PAGE)
    assert not page.exception
    assert "expected a folder, found nothing" in words(page)
    two_partitions(tmp_path / "orders")
    page.button(key="checkpoint-button").click().run()
    assert "reads 3 records again" in words(page)


def test_a_group_has_no_checkpoint_and_a_way_to_compare(open_page: OpenPage, orders: FolderReader) -> None:
    page = open_page(orders, PAGE, of=str(ETL))
    assert not page.exception
    assert "is a consumer group: it has no checkpoint" in words(page)
    assert dict(orders.calls) == {}


@with_cases(
    "parameters",
    [
        {"migration": "nobody"},
        {"of": "checkpoint nothing"},
        {"step": "<img src=x onerror=alert(1)>"},
        {"step": "batch 99 planned"},
        {"step-topic": "no such topic"},
        {"topic-of-batches": "=cmd()"},
        {"partition-of-batches": "-1"},
        {"batch": "../../etc/passwd"},
        {"first": "x"},
        {"second": "9007199254740993"},
        {"file-rows": "9751–10000"},
    ],
    ids=lambda parameters: "-".join(f"{key}={value}" for key, value in parameters.items())[:40],
)
def test_unknown_values_in_the_url_are_ignored(
    open_page: OpenPage, orders: FolderReader, parameters: dict[str, str]
) -> None:
    page = open_page(orders, PAGE, **parameters)
    assert not page.exception
    assert "This could not be read" not in words(page)
    assert page.selectbox(key="step").value == "batch 2 planned"
    assert uncoloured(page.metric[2].value) == "3"


def test_purged_history_and_initial_offsets_alone_and_no_commit_all_open(open_page: OpenPage, tmp_path: Path) -> None:
    purged = write(tmp_path / "purged", {n: f'{{"t":{{"0":{n * 10}}}}}' for n in (41, 42)}, (41, 42))
    page = open_page(FolderReader({"purged": purged}), PAGE, step="batch 41 planned")
    assert not page.exception
    assert "Where it began is purged" in words(page)

    alone = write(tmp_path / "alone", {}, ())
    (alone / "sources" / "0").mkdir(parents=True)
    (alone / "sources" / "0" / "0").write_bytes(b'\0v1\n{"t":{"0":7}}')
    page = open_page(FolderReader({"alone": alone}), PAGE)
    assert not page.exception
    assert page.selectbox(key="step").value == "before the first batch"
    assert "No batch is retained." in words(page)

    first = write(tmp_path / "first", {0: '{"t":{"0":9}}'}, ())
    page = open_page(FolderReader({"first": first}), PAGE)
    assert not page.exception
    assert page.metric[0].value == "none"


def test_what_would_be_read_again_is_unknown_where_the_plan_goes_back(open_page: OpenPage) -> None:
    name = "spark-4.2.0-polluted-after-failed-start"
    page = open_page(FolderReader({name: SAMPLES / name}), PAGE)
    assert uncoloured(page.metric[2].value) == "?"
    assert "The plan of batch 2 goes back in 1 partition" in words(page)


def test_gaps_of_asynchronous_progress_tracking_are_named(open_page: OpenPage) -> None:
    name = "spark-4.2.0-async"
    now = open_page(FolderReader({name: SAMPLES / name}), PAGE)
    assert "may have run without a file yet" in words(now)
    page = open_page(FolderReader({name: SAMPLES / name}), PAGE, step="batch 1 committed")
    assert "batches 2 to 7 left no files" in words(page).replace("\\", "")
    batches = next(one.value for one in page.dataframe if "since the one before" in one.value)
    assert batches["note"].tolist()[0] == "7 batch ids together"


def test_a_source_that_is_not_kafka_is_shown_as_it_stands(open_page: OpenPage) -> None:
    name = "spark-4.0.0-multi"
    page = open_page(FolderReader({name: SAMPLES / name}), PAGE)
    assert "is not Kafka. Its offset, as it is:" in words(page)
    assert "6" in [one.value for one in page.code]


def test_a_hostile_name_stays_text(open_page: OpenPage, orders: FolderReader) -> None:
    page = open_page(BuiltReader(orders.folders, hostile()), PAGE, step="batch 0 planned")
    assert not page.exception
    said = words(page)
    assert "<img" not in said.replace("\\<img", "")
    assert "\u202e" not in said
    for one in page.dataframe:
        if "topic" in one.value:
            assert not any(str(topic).startswith("=") for topic in one.value["topic"])
    page.selectbox(key="step-topic").select(HTML).run()
    page.selectbox(key="topic-of-batches").select(BIDI).run()
    assert not page.exception


def test_text_that_only_looks_like_topics_is_shown_raw(open_page: OpenPage, tmp_path: Path) -> None:
    plans = {n: "{" + ",".join(f'"{name}":{{"0":{n * 5}}}' for name in HOSTILE) + "}" for n in (0, 1)}
    page = open_page(FolderReader({"<b>=x": write(tmp_path / "c", plans, (0,))}), PAGE)
    assert not page.exception
    said = "\n".join(str(one.value) for kind in (page.markdown, page.error, page.warning) for one in kind)
    assert "<img" not in said.replace("\\<img", "")
    assert not any("\u202e" in str(one.value) for one in page.code)


def test_state_rows_are_counted_only_when_a_person_asks(open_page: OpenPage) -> None:
    name = "spark-4.0.0-agg-rocksdb"
    reader = FolderReader({name: SAMPLES / name})
    page = open_page(reader, PAGE)
    assert reader.calls["state_rows"] == 0
    sizes = next(one.value for one in page.dataframe if "rows, by its files" in one.value)
    assert sizes["rows, by its files"].tolist() == [4]
    count(page, "state-now")
    assert not page.exception
    assert "at least 24 rows in 2 state stores after batch 6" in words(page)
    assert "state files are missing" in words(page)
    page.run()
    assert reader.calls["state_rows"] == 1
    reader.state = SparkError("Spark cannot read it.", fix="Use another Spark.")
    count(page, "state-again")
    assert "Spark cannot read it" in words(page)
    assert "at least 24 rows" in words(page)


def test_counting_can_be_stopped_and_the_page_answers_meanwhile(open_page: OpenPage) -> None:
    name = "spark-4.0.0-agg-rocksdb"
    reader = FolderReader({name: SAMPLES / name}, gate=threading.Event())
    page = open_page(reader, PAGE)
    page.button(key="state-now").click().run()
    assert "Reading the rows of the state stores …" in [one.label for one in page.status]
    assert re.search(r"\d s so far", words(page))
    page.button(key="step-previous").click().run()
    assert page.selectbox(key="step").value == "batch 6 planned"
    page.button(key="state-stop").click().run()
    settle(page)
    assert not page.exception
    assert "Nothing was read yet." in words(page)
    assert answers.current().reading(Question.of(Reader.state_rows, "m", name)) is None


def test_a_query_that_seems_to_run_is_told_by_files_and_by_what_moved(open_page: OpenPage, tmp_path: Path) -> None:
    folder = write(tmp_path / "c", {0: '{"t":{"0":5}}'}, (0,), at=int(time.time() * 1000))
    page = open_page(FolderReader({"c": folder}), PAGE)
    assert "Running: a query seems to write to it" in words(page)
    assert "was written" in words(page)
    write(folder, {1: '{"t":{"0":9}}'}, (1,), at=int(time.time() * 1000))
    page.button(key="checkpoint-again").click().run()
    assert "the newest planned batch went from 0 to 1 and the newest committed batch went from 0 to 1" in words(page)


def test_a_copy_and_an_old_checkpoint_do_not_seem_to_run(tmp_path: Path) -> None:
    copied = read_with_times(str(write(tmp_path / "copied", {0: '{"t":{"0":5}}'}, (0,))))
    assert spark.is_copy(copied)
    assert spark.seems_running(copied) is None
    at = 1_700_000_000_000
    stopped = write(tmp_path / "stopped", {0: '{"t":{"0":5}}'}, (0,), at=at)
    for path in stopped.rglob("*"):
        os.utime(path, (at / 1000, at / 1000))
    old = read_with_times(str(stopped))
    assert not spark.is_copy(old)
    assert spark.seems_running(old) is None


def many(partitions: int, batches: int) -> tuple[Batch, ...]:
    of_topic = 20
    return tuple(
        Batch(
            id=number,
            committed=number < batches - 1,
            timestamp_ms=1_700_000_000_000 + number * 1000,
            watermark_ms=0,
            sources=(
                BatchSource(
                    id="0",
                    offsets=tuple(
                        TopicOffsets(
                            topic=f"topic-{topic:03d}",
                            partitions=tuple(range(of_topic)),
                            offsets=tuple(number * 100 + topic + p for p in range(of_topic)),
                        )
                        for topic in range(partitions // of_topic)
                    ),
                ),
            ),
        )
        for number in range(batches)
    )


def hostile() -> tuple[Batch, ...]:
    return tuple(
        Batch(
            id=number,
            committed=number == 0,
            sources=(
                BatchSource(
                    id="0",
                    offsets=tuple(
                        TopicOffsets(topic=name, partitions=(0, 1), offsets=(5 + number * 3, 7)) for name in HOSTILE
                    ),
                ),
            ),
        )
        for number in range(2)
    )


class BuiltReader(FolderReader):
    """Returns readings of real folders with batches built by hand."""

    def __init__(self, folders: dict[str, Path], batches: tuple[Batch, ...]) -> None:
        super().__init__(folders)
        self.batches = batches

    def checkpoint_reading(
        self, migration: str, name: str, retained: int | None, progress: Progress
    ) -> CheckpointReading:
        made = super().checkpoint_reading(migration, name, retained, progress)
        return replace(made, initial=(), checkpoint=changed(made.checkpoint, batches=self.batches))


def test_ten_thousand_partitions_in_five_hundred_topics_come_in_pages_and_a_click_reads_nothing(
    open_page: OpenPage, orders: FolderReader
) -> None:
    reader = BuiltReader(orders.folders, many(10_000, 100))
    page = open_page(reader, PAGE)
    assert not page.exception
    assert len(page.selectbox(key="step-topic").options) == 501
    before = dict(reader.calls)
    page.button(key="step-previous").click().run()
    page.run()
    assert dict(reader.calls) == before
    assert max(len(one.value) for one in page.dataframe) <= 250
    page.selectbox(key="topic-of-batches").select("topic-007").run()
    page.selectbox(key="partition-of-batches").select("3").run()
    assert not page.exception
    batches = next(one.value for one in page.dataframe if "since the one before" in one.value)
    assert batches["end offset"].tolist()[0] == 99 * 100 + 7 + 3


def test_downloads_hold_plain_digits_and_no_formula() -> None:
    retained = (
        Batch(
            id=0,
            committed=True,
            sources=(
                BatchSource(
                    id="0", offsets=(TopicOffsets(topic="=cmd()", partitions=(0,), offsets=(9007199254740993,)),)
                ),
            ),
        ),
    )
    made = table.frame(batches.MOVED, batches.moved(history_of(retained), 0, 0))
    assert "'=cmd(),0,9007199254740993,9007199254740993,0" in downloads.csv(made).decode()
    assert b'"9007199254740993"' in downloads.json_rows(made)


def test_the_downloaded_checkpoint_is_a_file_of_ours(orders: FolderReader) -> None:
    read = read_with_times(str(orders.folders["orders"])).checkpoint
    assert files.load(files.dump(read).encode(), "checkpoint", subject="download") == read


def test_sums_beyond_int64_are_text_and_exact() -> None:
    assert table.integers([2**63, None]).tolist() == ["9,223,372,036,854,775,808", "?"]


def test_every_block_stands_under_one_title(open_page: OpenPage, orders: FolderReader) -> None:
    page = open_page(orders, PAGE)
    assert page.title[0].value == "Checkpoint"
    assert [one.value for one in page.header] == [
        "What a failure would read again",
        "Batches over time",
        "Two batches compared",
        "Sources",
        "A batch's files",
        "State stores",
        "Recorded configuration",
    ]


def test_the_repairs_that_fit_are_offered_with_commands_that_draft_them(
    open_page: OpenPage, orders: FolderReader, tmp_path: Path
) -> None:
    page = open_page(orders, PAGE)
    count(page, "repairs-now")
    (shown,) = [code.value for code in page.code if "--set repair=" in code.value]

    assert "up to 3 records" in words(page)
    _, *given = shlex.split(shown.replace("plan.json", str(tmp_path / "plan.json")))
    ran = call(*given)
    assert ran.code == 0, ran.err
    assert "drop-pending-batch" in (tmp_path / "plan.json").read_text()


def test_a_whole_checkpoint_is_offered_no_repair(open_page: OpenPage, tmp_path: Path) -> None:
    plans = {number: f'{{"orders":{{"0":{number}}}}}' for number in range(3)}
    page = open_page(FolderReader({"whole": write(tmp_path / "whole", plans, (0, 1, 2))}), PAGE)
    count(page, "repairs-now")

    assert "No repair fits" in words(page)
    assert not [code.value for code in page.code if "--set repair=" in code.value]
