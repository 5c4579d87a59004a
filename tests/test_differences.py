"""What differs between two files of one kind is shown, and what two readings never have in common is not."""

from __future__ import annotations

import copy
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

import offsetwise as ow
from offsetwise import files
from offsetwise.cli import documents
from offsetwise.differences import content
from offsetwise.differences.changes import Change, Difference
from offsetwise.differences.markdown import markdown
from offsetwise.model import Finding, JobState, JobStatus, Severity, Status, WaveStatus
from tests.apply.plans import STARTING
from tests.apply.sets import staged_set, write_set
from tests.commands import call
from tests.cutovers import DRAINING, STILL, seen
from tests.plan.scene import drafted
from tests.with_cases import with_cases

LIBRARY = Path(ow.__file__).parent
SAMPLE = LIBRARY / "sample"
ORDERS = SAMPLE / "comparison-orders.json"
Body = dict[str, Any]


JOB = JobStatus(
    job="checkpoint orders",
    wave="pilot",
    state=JobState.READY,
    since_ms=1_000,
    age_ms=7,
    evidence="It is read.",
    next="offsetwise compare",
    waits_for=("A wave.",),
    lag=5,
)
STATUS = Status(
    migration="m",
    taken_at="2026-11-28T00:00:00Z",
    jobs=(JOB, replace(JOB, job="group etl", state=JobState.CAUGHT_UP)),
    waves=tuple(
        WaveStatus(wave=name, jobs=2, caught_up=1, not_before_ms=5, window_ms=6, waits_for=("x",))
        for name in ("pilot", "core")
    ),
    findings=(Finding(code="X", severity=Severity.WARNS, topic="t", partition=0, message="It is so.", remedy="Look."),),
)


def body_of(path: Path) -> Body:
    body: Body = json.loads(path.read_text(encoding="utf-8"))
    return body


def fleet() -> Body:
    """Return what comparing the sample's jobs comes to, as `compare --all --out` writes it."""
    read = ow.load_snapshots(SAMPLE / "old.json", SAMPLE / "new.json")
    with TemporaryDirectory() as out:
        ow.Migration.load(SAMPLE / "migration.yaml").compare_all(snapshots=read, records=False, out=out)
        return body_of(Path(out, "summary.json"))


DOCUMENTS: dict[str, Callable[[], Body]] = {
    "comparison of Spark": lambda: body_of(ORDERS),
    "comparison of Flink": lambda: body_of(LIBRARY / "sample_flink" / "comparison-order-audit.json"),
    "snapshot": lambda: body_of(SAMPLE / "new.json"),
    "plan": lambda: json.loads(files.dump(drafted())),
    "cutover": lambda: json.loads(files.dump(seen([STILL, DRAINING], copied=[True]))),
    "fleet-comparison": fleet,
    "status": lambda: json.loads(files.dump(STATUS)),
}
NO_CONTENT = re.compile(
    r"\.(format|format_version|taken_at|written_at|drafted_at|compared_at|began_at|made_from|reused|salt|age_ms|looks_taken"
    r"|(before|after|neighbours\[\]|at_raw\[\])\.identity|partitions\[\]\.(still_ms|moved_ms|told)"
    r"|mirror\.topics\[\]\.(newest_ms|records)|heartbeats\[\]\.timestamp_ms)$"
)
"""The values that docs/formats.md names as no content."""


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield every value that is no object and no list: its path, what contains it, and its key there."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        below = f"{path}.{key}" if isinstance(value, dict) else f"{path}[]"
        if isinstance(part, dict | list):
            yield from leaves(part, below)
        else:
            yield below, value, key


def other(value: Any) -> Any:
    """Return another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value}1"
    return "1"


def kind_of(body: Body) -> str:
    return str(body["format"]).removeprefix("offsetwise/")


@with_cases("name", DOCUMENTS)
def test_every_value_counts_but_for_those_that_the_page_names(name: str) -> None:
    body = DOCUMENTS[name]()
    paths: dict[str, int] = {}
    counted = ignored = 0
    for path, container, key in list(leaves(body)):
        paths[path] = paths.get(path, 0) + 1
        if paths[path] > 2:
            continue
        before, value = copy.deepcopy(body), container[key]
        container[key] = other(value)
        difference = content.compare(kind_of(before), before, body)
        container[key] = value
        assert difference.equal == bool(NO_CONTENT.search(path)), path
        counted, ignored = counted + (not difference.equal), ignored + difference.equal

    assert counted > 20, "the document has so many kinds of values"
    assert ignored > 1


@with_cases("name", DOCUMENTS)
def test_no_order_of_objects_in_a_list_is_a_change(name: str) -> None:
    body = DOCUMENTS[name]()
    shuffled = copy.deepcopy(body)
    for value in shuffled.values():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            random.Random(1).shuffle(value)

    assert content.compare(kind_of(body), body, shuffled).changes == ()


@with_cases("name", DOCUMENTS)
def test_an_element_that_one_document_has_is_a_change(name: str) -> None:
    body = DOCUMENTS[name]()
    lists = [key for key, value in body.items() if isinstance(value, list) and value]
    assert lists
    for key in lists:
        less = body | {key: body[key][1:]}

        assert not content.compare(kind_of(body), body, less).equal, key
        assert not content.compare(kind_of(body), less, body).equal, key


def changed(**partition: Any) -> Difference:
    body = body_of(ORDERS)
    row = next(row for row in body["partitions"] if (row["topic"], row["partition"]) == ("orders", 0))
    row |= partition
    return content.compare("comparison", body_of(ORDERS), body)


def test_a_position_is_shown_by_its_partition_before_and_after() -> None:
    difference = changed(new_offset="951", lag_new="7")

    assert difference.changes == (
        Change(section="positions", subject="orders-0", key="new_offset", before="950", after="951"),
        Change(section="logs", subject="orders-0", key="lag_new", before="150", after="7"),
    )


def test_a_finding_appears_goes_and_says_something_else() -> None:
    body = body_of(ORDERS)
    appears = body["findings"][0] | {"code": "NEW_ONE", "message": "A new one."}
    goes = body["findings"].pop()
    stays = body["findings"][0]
    body["findings"] = [stays | {"message": "Another number."}, *body["findings"][1:], appears]
    difference = content.compare("comparison", body_of(ORDERS), body)

    about = f"{stays['topic']}-{stays['partition']}"
    assert [(each.section, each.subject, each.before, each.after) for each in difference.changes] == [
        ("findings", f"{stays['code']} {about}", stays["message"], "Another number."),
        ("findings", f"{goes['code']} {goes['topic']}", goes["message"], None),
        ("findings", f"NEW_ONE {about}", None, "A new one."),
    ]
    text = difference.markdown()
    assert f"- gone: `{goes['code']} {goes['topic']}` " in text
    assert f"- appeared: `NEW_ONE {about}` `A new one.`" in text
    assert " message: `" in text
    assert " → `Another number.`" in text


def test_a_state_comes_first() -> None:
    before, after = (json.loads(files.dump(seen([logs]))) for logs in (DRAINING, STILL))

    difference = content.compare("cutover", before, after)

    assert difference.changes[:2] == (
        Change(section="states", subject="orders-0", key="state", before="DRAINING", after="FROZEN"),
        Change(section="states", subject=None, key="state", before="DRAINING", after="FROZEN"),
    )


def test_two_partitions_of_one_topic_that_two_sources_read_are_two() -> None:
    body = body_of(ORDERS)
    row = next(row for row in body["partitions"] if (row["topic"], row["partition"]) == ("orders", 0))
    both = body | {"partitions": [row, row | {"source": "1"}]}
    moved = body | {"partitions": [row, row | {"source": "1", "new_offset": "7"}]}

    assert [(each.subject, each.after) for each in content.compare("comparison", both, moved).changes] == [
        ("1 orders-0", "7")
    ]


def test_the_text_is_a_table_that_a_reviewer_reads() -> None:
    assert changed(new_offset="1951", exactness="BOUNDED").markdown() == (
        "## `comparison`: `before` → `after`\n"
        "\n"
        "2 changes: positions 2.\n"
        "\n"
        "### Positions\n"
        "\n"
        "| of | what | before | after |\n"
        "|---|---|---|---|\n"
        "| `orders-0` | exactness | `EXACT` | `BOUNDED` |\n"
        "| `orders-0` | new offset | 950 | 1,951 |\n"
    )


def test_what_is_left_out_of_the_text_is_counted() -> None:
    body = body_of(ORDERS)
    for row in body["partitions"]:
        row["new_offset"] = "7"
    difference = content.compare("comparison", body_of(ORDERS), body)
    count = len(difference.changes)
    assert count == len(body["partitions"])

    text = markdown(difference, rows=3)

    assert text.count("new offset") == 3
    assert text.endswith(f"\n\n{count - 3:,} more changes: `offsetwise diff --json` has all of them.\n")


def spans(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    for token in tokens:
        yield token.type, token.content
        yield from spans(token.children or [])


def test_names_from_outside_are_code_and_nothing_else() -> None:
    hostile = "](javascript:x) ![a](b) <img src=x> @team #1 www.example | `` ` \n## h \u202e"
    body = body_of(ORDERS)
    before = body | {"migration": "quiet", "findings": []}
    finding = {"code": "X", "topic": hostile, "partition": 1, "message": hostile, "remedy": "", "severity": "warns"}
    row = body["partitions"][0] | {"topic": hostile, "new_topic": hostile}
    after = body | {"migration": hostile, "findings": [finding], "partitions": [*body["partitions"], row]}

    text = content.compare("comparison", before, after, names=(hostile, "b")).markdown()

    found = list(spans(MarkdownIt("gfm-like", {"linkify": False}).parse(text)))
    kinds = {kind for kind, _ in found}
    assert not kinds & {"link_open", "image", "html_inline"}
    outside = [text for kind, text in found if kind == "text"]
    assert not any(part in text for text in outside for part in ("@", "#1", "www", "javascript", "img"))
    assert len([text for kind, text in found if kind == "heading_open"]) == 4, "the title and three sections"
    assert "\u202e" not in text
    assert any("@team" in text for kind, text in found if kind == "code_inline")


# ------------------------------------------------------------------------------------------------------- the command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The sample in a folder of its own."""
    for name in ("migration.yaml", "checkpoints", "old.json", "new.json"):
        copied = shutil.copytree if (SAMPLE / name).is_dir() else shutil.copy
        copied(SAMPLE / name, tmp_path / name)
    return tmp_path


def compare_all(folder: Path, out: str) -> Path:
    snapshots = ("--snapshots", folder / "old.json", folder / "new.json")
    ran = call("compare", "-m", folder / "migration.yaml", *snapshots, "--all", "--out", folder / out)
    assert ran.code == 0, ran.err
    return folder / out


def move_on(folder: Path) -> None:
    """Let the group commit another offset, and break the checkpoint of a job."""
    body = body_of(folder / "old.json")
    (group,) = body["groups"]
    offset = next(each for each in group["offsets"] if each["partition"] == 0)
    offset["offset"] = str(int(offset["offset"]) + 25)
    (folder / "old.json").write_text(json.dumps(body), encoding="utf-8")
    shutil.rmtree(folder / "checkpoints" / "payments")


def test_two_comparisons_of_the_same_state_are_equal(folder: Path) -> None:
    first, second = compare_all(folder, "first"), compare_all(folder, "second")
    assert (first / "summary.json").read_bytes() != (second / "summary.json").read_bytes(), "they say when"

    ran = call("diff", first, second, "--detailed-exitcode")

    assert (ran.code, ran.out) == (
        0,
        f"## `fleet-comparison`: `{first}` → `{second}`\n\nNo change.\n",
    )


def test_two_folders_of_many_jobs_are_compared_job_by_job(folder: Path) -> None:
    first = compare_all(folder, "first")
    move_on(folder)
    snapshots = ("--snapshots", folder / "old.json", folder / "new.json")
    second = folder / "second"
    assert call("compare", "-m", folder / "migration.yaml", *snapshots, "--all", "--out", second).code == 1

    ran = call("diff", first, second, "--json", "--detailed-exitcode")

    assert ran.code == 2
    body = json.loads(ran.out)
    jsonschema.validate(body, documents.schema("diff"))
    assert not body["equal"]
    changes = body["changes"]
    positions = [each for each in changes if each["section"] == "positions"]
    assert [(each["job"], each["subject"], each["key"]) for each in positions if each["key"] == "old_offset"] == [
        ("group orders-etl", "orders-0", "old_offset")
    ]
    unread = [each for each in changes if each["section"] == "jobs" and each["key"] == "unread.problem"]
    assert [(each["subject"], each["before"]) for each in unread] == [("checkpoint payments", None)]
    assert "`group orders-etl` `orders-0` | old offset |" in call("diff", first, second).out


@pytest.fixture
def sets(tmp_path: Path) -> tuple[Path, Path]:
    """The plans of three jobs; and drafted again in another order, without the third job, the second one changed."""
    first = staged_set(tmp_path, [(STARTING,), (STARTING,), (STARTING,)])
    again = [replace(stage.plan, drafted_at="2026-11-28T09:00:00.000Z") for stage in first.stages]
    again[1] = replace(again[1], strategy="another one")
    second = tmp_path / "second"
    second.mkdir()
    write_set(second, {f"checkpoint job{number}": files.dump(again[number]).encode() for number in (1, 0)})
    return first.home, second


def test_two_sets_of_plans_are_compared_plan_by_plan(sets: tuple[Path, Path]) -> None:
    ran = call("diff", *sets, "--json")

    body = json.loads(ran.out)
    jsonschema.validate(body, documents.schema("diff"))
    assert body["kind"] == "plan-set"
    assert [
        (each["section"], each["job"], each["subject"], each["key"], each["before"], each["after"])
        for each in body["changes"]
        if each["key"] != ""
    ] == [
        ("document", None, None, "order", "checkpoint job0, checkpoint job1", "checkpoint job1, checkpoint job0"),
        ("document", "checkpoint job1", None, "strategy", "state-preserving edit", "another one"),
    ]
    gone = [each for each in body["changes"] if each["key"] == ""]
    assert [(each["section"], each["subject"], each["after"]) for each in gone] == [("plans", "checkpoint job2", None)]


def test_a_set_of_plans_that_was_drafted_again_is_equal(sets: tuple[Path, Path]) -> None:
    home, again = sets[0], sets[1].with_name("again")
    plans = {f"checkpoint job{number}": home / f"checkpoint-job{number}.plan.json" for number in range(3)}
    again.mkdir()
    later = {job: path.read_bytes().replace(b'"drafted_at": "2', b'"drafted_at": "3', 1) for job, path in plans.items()}
    write_set(again, later)

    assert ow.diff(home, again).equal
    assert not ow.diff(home / "plan-set.json", again / "plan-set.json").equal, "their digests are not the same"


def test_the_exit_code_is_0_without_being_asked(folder: Path) -> None:
    assert call("diff", folder / "old.json", folder / "new.json").code == 0
    assert call("diff", folder / "old.json", folder / "new.json", "--detailed-exitcode").code == 2


def test_python_has_the_same(folder: Path) -> None:
    difference = ow.diff(folder / "old.json", folder / "new.json")

    assert difference.markdown() == call("diff", folder / "old.json", folder / "new.json").out
    old, new = ow.load_snapshots(folder / "old.json", folder / "new.json")
    assert ow.diff(old, new).changes == difference.changes
    assert ow.diff(old, folder / "old.json").equal


@with_cases(
    ("before", "after", "problem", "fix"),
    [
        pytest.param("old.json", "out", "found offsetwise/snapshot (", "Name two files of one kind.", id="two kinds"),
        pytest.param(
            "missing",
            "old.json",
            "missing: expected one of Offsetwise's JSON files, but",
            "Check the path",
            id="no file",
        ),
        pytest.param(
            "migration.yaml",
            "old.json",
            "migration.yaml: expected one of Offsetwise's",
            "Give the file",
            id="no document",
        ),
        pytest.param(
            "key.pub", "old.json", "found 'offsetwise/public-key'", "of one of these formats", id="another document"
        ),
        pytest.param(
            "checkpoints",
            "out",
            "expected an offsetwise/fleet-comparison file, but",
            "two folders",
            id="a folder without",
        ),
        pytest.param(
            "damaged.json",
            "old.json",
            "damaged.json: expected an offsetwise/snapshot file",
            "",
            id="a damaged document",
        ),
        pytest.param(
            "out", "led", "expected files beside it, found '../old.json'", "Write a new folder", id="a file elsewhere"
        ),
        pytest.param(
            "out", "gone", "expected an offsetwise/comparison file, but", "Check the path", id="a file that is gone"
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_next_step(
    folder: Path, before: str, after: str, problem: str, fix: str
) -> None:
    compare_all(folder, "out")
    assert call("keygen", "--out", folder / "key", "--as", "bob").code == 0
    (folder / "damaged.json").write_text(json.dumps(body_of(folder / "old.json") | {"topics": 1}), encoding="utf-8")
    for name in ("led", "gone"):
        shutil.copytree(folder / "out", folder / name)
    summary = body_of(folder / "led" / "summary.json")
    summary["jobs"][0]["file"] = "../old.json"
    (folder / "led" / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    (folder / "gone" / "group-orders-etl.json").unlink()

    error = call("diff", folder / before, folder / after, "--json").refused()

    assert problem in error["problem"]
    assert fix in error["fix"]
