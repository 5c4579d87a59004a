"""What the command line promises to people and to automation."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from rich.console import Console

import offsetwise
from offsetwise import files, workflow
from offsetwise.cli import documents, render
from offsetwise.model import Cluster, Comparison, Exactness, RangeDifference, RawReuse, RawVerdict, TopicPartition
from tests.commands import COMMAND, Ran, call, run
from tests.plugins.spark.folders import SAMPLES, checkpoint, orders, write
from tests.with_cases import with_cases

SAMPLE = Path(offsetwise.__file__).parent / "sample"
MULTI = SAMPLES / "spark-4.0.0-multi"
PLANNED = SAMPLES / "spark-3.5.1-planned"
ON_SNAPSHOTS = (
    *("compare", "--migration", SAMPLE / "migration.yaml", "--checkpoint", "orders"),
    *("--snapshots", SAMPLE / "old.json", SAMPLE / "new.json"),
)
HUGE = 9_223_372_036_854_775_807


@pytest.fixture(scope="module")
def compared() -> dict[str, Any]:
    return call(*ON_SNAPSHOTS, "--json").answered()


@pytest.fixture(scope="module")
def recorded() -> Comparison:
    return workflow.sample_comparison("orders")


NOT_TO_INSPECT = {
    *("pyspark", "pandas", "numpy", "pyarrow", "streamlit", "plotly", "sqlalchemy", "alembic", "prometheus_client"),
    *("confluent_kafka", "cryptography", "securesystemslib", "fsspec", "regex", "yaml"),
}
"""What a local checkpoint is read and shown without."""


def shown(made: Comparison, width: int) -> str:
    out = StringIO()
    render.comparison(Console(file=out, width=width, highlight=False), made)
    return out.getvalue()


def unfolded(text: str) -> str:
    return "".join(text.split())


class TestInspect:
    def test_gives_the_names_and_types_that_automation_relies_on(self) -> None:
        body = call("inspect", MULTI, "--json").answered()

        positions = [
            {"topic": "orders", "partition": 0, "offset": "976", "planned_offset": "1122"},
            {"topic": "orders", "partition": 1, "offset": "968", "planned_offset": "1121"},
        ]
        assert {name: body[name] for name in ("format", "format_version", "uri", "engine", "job_id")} == {
            "format": "offsetwise/checkpoint",
            "format_version": "1.0",
            "uri": str(MULTI),
            "engine": "spark",
            "job_id": "c743e575-33b0-49e7-a325-8d978fddcbda",
        }
        assert [body[f"{name}_batch"] for name in ("last_planned", "last_committed", "reruns")] == [6, 5, 6]
        first, _, last = body["sources"]
        assert {**first, "positions": first["positions"]} == {
            "index": 0,
            "id": "0",
            "kind": "kafka",
            "positions": positions,
            "raw": None,
            "marked": [],
        }
        assert last == {"index": 2, "id": "2", "kind": "other", "positions": [], "raw": "6", "marked": []}
        assert all({"code", "message"} <= problem.keys() for problem in body["problems"])

    def test_of_a_committed_checkpoint_has_no_planned_offset(self) -> None:
        body = call("inspect", SAMPLES / "spark-4.0.0-agg-rocksdb", "--json").answered()

        assert body["reruns_batch"] is None
        assert {p["planned_offset"] for source in body["sources"] for p in source["positions"]} == {None}

    def test_of_several_gives_one_line_each_in_the_order_given(self) -> None:
        ran = call("inspect", PLANNED, MULTI, "--json")

        assert [json.loads(line)["uri"] for line in ran.out.splitlines()] == [str(PLANNED), str(MULTI)]
        assert (ran.code, ran.err) == (0, "")

    def test_of_several_names_the_one_that_failed_and_reads_the_others(self, tmp_path: Path) -> None:
        ran = call("inspect", PLANNED, tmp_path, MULTI, "--json")

        good, bad, other = map(json.loads, ran.out.splitlines())
        assert (good["format"], bad["format"], other["format"]) == (
            "offsetwise/checkpoint",
            "offsetwise/error",
            "offsetwise/checkpoint",
        )
        assert (bad["uri"], bad["error"]) == (str(tmp_path), "NotACheckpointError")
        assert ran.code == 1

    @with_cases(
        ("name", "severities"),
        [
            ("cases/spark-topic-gone-pending", {"TOPIC_DROPPED": "blocks"}),
            ("cases/spark-38033-gap", {"BATCH_MISSING": "blocks"}),
            ("checkpoints/spark-3.5.1-planned", {"PENDING_BATCH": "warns"}),
            ("checkpoints/spark-4.2.0-async", {"GAP": "informs"}),
        ],
    )
    def test_gives_the_severity_of_a_problem_and_an_exit_code_of_its_own(
        self, name: str, severities: dict[str, str]
    ) -> None:
        folder = SAMPLES.parent / name
        body = call("inspect", folder, "--json").answered()
        blocks = "blocks" in severities.values()

        assert {problem["code"]: problem["severity"] for problem in body["problems"]} == severities
        assert call("inspect", folder, "--detailed-exitcode").code == (2 if blocks else 0)
        assert call("inspect", PLANNED, folder, "--detailed-exitcode", "--json").code == (2 if blocks else 0)
        assert call("inspect", folder).code == 0

    def test_takes_a_glob_of_folders(self) -> None:
        ran = call("inspect", SAMPLES / "spark-4.0.0-*", "--json")

        assert [Path(json.loads(line)["uri"]).name for line in ran.out.splitlines()] == [
            "spark-4.0.0-agg-rocksdb",
            "spark-4.0.0-multi",
        ]

    def test_of_many_reads_them_on_spark_and_says_the_same(self) -> None:
        names = [PLANNED, MULTI, SAMPLES / "spark-4.0.0-agg-rocksdb", SAMPLES / "spark-4.2.0-async"]

        ran = run("inspect", *names, "--json")

        assert (ran.code, ran.err) == (0, "")
        assert ran.out.splitlines() == [call("inspect", name, "--json").out.strip() for name in names]

    def test_shows_a_person_the_restart_first(self) -> None:
        ran = call("inspect", MULTI)

        assert ran.out.startswith("Batch 6 is planned and not committed: it runs again, orders-0 from 976 to 1,122")
        assert ["0", "orders-0", "976", "1,122"] in [line.split() for line in ran.out.splitlines()]
        assert "→ Let it commit on the old cluster first" in ran.out

    @with_cases("more", [["--json"], []], ids=["json", "text"])
    def test_waits_for_no_library_that_it_does_not_need(self, more: list[str]) -> None:
        code = (
            "import sys; sys.argv = sys.argv[1:]; from offsetwise.cli import main\n"
            f"try: main()\nfinally: print(sorted({NOT_TO_INSPECT} & sys.modules.keys()), file=sys.stderr)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code, "offsetwise", "inspect", str(MULTI), *more],
            capture_output=True,
            text=True,
            check=True,
        )

        assert ran.stderr == "[]\n"


class TestCompareWithoutClusters:
    def test_has_every_key_of_the_contract(self, compared: dict[str, Any]) -> None:
        row = next(each for each in compared["partitions"] if (each["topic"], each["partition"]) == ("orders", 0))

        # Where the mirror's last syncs lie depends on when the sample was recorded; that they stay below 950 does not.
        evidence, claimed, theirs = row["evidence"], row["bounds"][0], row["mirror_maker"]
        assert int(theirs) <= int(claimed) <= 950 <= int(row["bounds"][1])
        assert row == {
            "source": "0",
            "topic": "orders",
            "partition": 0,
            "old_offset": "1050",
            "new_topic": "orders",
            "new_offset": claimed,
            "exactness": "CLAIMED",
            "method": "mirror-sync",
            "restart": [{"batch": 6, "old": "1050", "new": claimed}, {"batch": 7, "old": "1100", "new": claimed}],
            "bounds": row["bounds"],
            "replay": None,
            "skip": None,
            "foreign_below": None,
            "counted": False,
            "ahead": {"examined": False, "missing": None, "duplicated": None, "foreign": None},
            "old": {"log_start": "100", "lso": "1200", "hw": "1200"},
            "new": {"log_start": "0", "lso": "1100", "hw": "1100"},
            "lag_old": "150",
            "lag_new": str(1100 - int(claimed)),
            "mirror_maker": theirs,
            "pending_equal": None,
            "raw": {"verdict": "UNKNOWN", "skip": None, "replay": None},
            "findings": ["UNTRANSLATED"],
            "evidence": evidence,
            "end_evidence": row["end_evidence"],
        }
        assert evidence["reason"].endswith("No record confirmed it.")

    def test_is_never_better_than_claimed(self, compared: dict[str, Any]) -> None:
        assert {row["exactness"] for row in compared["partitions"]} <= {"CLAIMED", "UNKNOWN"}
        assert compared["summary"]["exact"] == 0

    def test_never_places_a_partition_past_what_the_records_proved(
        self, compared: dict[str, Any], recorded: Comparison
    ) -> None:
        proven = {row.topic_partition: row.new_offset for row in recorded.partitions}
        for row in compared["partitions"]:
            assert int(row["new_offset"]) <= (proven[TopicPartition(row["topic"], row["partition"])] or 0)

    def test_carries_the_checkpoint_as_inspect_gives_it(self, compared: dict[str, Any]) -> None:
        inside = compared["checkpoint"]
        alone = call("inspect", SAMPLE / "checkpoints" / "orders", "--json").answered()

        assert inside == alone | {"uri": inside["uri"]}

    def test_names_the_migration_the_time_and_the_sums(self, compared: dict[str, Any]) -> None:
        assert (compared["format"], compared["format_version"]) == ("offsetwise/comparison", "1.0")
        assert (compared["migration"], compared["group"]) == ("orders-to-new", None)
        assert compared["taken_at"] == json.loads((SAMPLE / "new.json").read_text(encoding="utf-8"))["taken_at"]
        summary = compared["summary"]
        assert (summary["partitions"], summary["claimed"], summary["raw_out_of_range"]) == (8, 8, 3)
        assert (summary["raw_skip"], summary["raw_replay"]) == ("0", "0")

    def test_says_the_same_with_and_without_asking_for_content(self, compared: dict[str, Any]) -> None:
        assert call(*ON_SNAPSHOTS, "--no-content", "--json").answered() == compared

    def test_takes_a_group_from_the_snapshot(self) -> None:
        arguments = [each if each != "--checkpoint" else "--group" for each in ON_SNAPSHOTS]
        arguments[arguments.index("orders")] = "orders-etl"

        body = call(*arguments, "--json").answered()

        assert (body["checkpoint"], body["group"]) == (None, "orders-etl")
        assert [(row["partition"], row["old_offset"]) for row in body["partitions"]] == [(0, "1000"), (1, "975")]
        assert {point["batch"] for row in body["partitions"] for point in row["restart"]} == {None}

    def test_needs_neither_java_nor_a_broker(self, tmp_path: Path, compared: dict[str, Any]) -> None:
        ran = run(*ON_SNAPSHOTS, "--json", PATH=str(tmp_path), JAVA_HOME="")

        assert ran.err == ""
        assert ran.answered() == compared

    def test_has_an_exit_code_for_differences_only_when_asked(self) -> None:
        assert [call(*ON_SNAPSHOTS, *more).code for more in ((), ("--detailed-exitcode",))] == [0, 2]


class TestOnATerminal:
    def test_the_answer_comes_first(self, recorded: Comparison) -> None:
        lines = shown(recorded, 200).splitlines()

        assert lines[0] == (
            "5 of 8 partitions would go wrong if the job restarted on the new cluster with its current offsets: at "
            "least 200 records never read, 3 partitions outside the log."
        )
        assert lines[1] == "The position on the new cluster is proven for all 8."

    def test_what_is_not_known_is_not_left_out(self, recorded: Comparison) -> None:
        unknown = replace(recorded.partitions[0], raw=RawReuse(verdict=RawVerdict.UNKNOWN))
        made = replace(
            recorded,
            partitions=(unknown, *recorded.partitions[1:]),
            summary=replace(recorded.summary, exact=7, unknown=1),
        )

        head, places, *_ = shown(made, 300).splitlines()
        assert head.endswith("For 1 more partition this is not known yet.")
        assert places == "The position on the new cluster is proven for 7 of 8, 1 unknown."

    @with_cases("width", [80, 100, 140])
    def test_no_line_of_the_sample_is_wider_than_the_terminal_and_nothing_is_cut(
        self, width: int, recorded: Comparison
    ) -> None:
        text = shown(recorded, width)

        assert max(len(line.rstrip()) for line in text.splitlines()) <= width
        assert "…" not in text
        for row in recorded.partitions:
            assert str(row.new_topic_partition) in text
        assert unfolded(recorded.belongs_to.reason) in unfolded(text)
        for finding in recorded.findings:
            assert unfolded(finding.message) in unfolded(text)

    def test_long_names_and_large_offsets_are_whole(self, recorded: Comparison) -> None:
        name = "n" * 249
        row = replace(
            recorded.partitions[0], topic=name, new_topic=name, old_offset=HUGE, new_offset=HUGE - 1, lag_old=-HUGE
        )
        text = shown(replace(recorded, partitions=(row,), findings=()), 80)

        folded = [line.split()[0] for line in text.splitlines() if line.startswith((" n", " -", " 0"))]
        assert "".join(folded) == f"{name}-0"
        assert f"{HUGE:,}" in text
        assert f"{HUGE - 1:,}" in text
        assert f"{-HUGE:,}" in text

    def test_bounds_show_their_price(self, recorded: Comparison) -> None:
        row = replace(recorded.partitions[0], exactness=Exactness.BOUNDED, replay=1234)

        assert "≈ bounded, ≤ 1,234 twice" in shown(replace(recorded, partitions=(row,)), 140)

    def test_a_finding_that_repeats_is_explained_once(self, recorded: Comparison) -> None:
        text = shown(recorded, 140)

        assert text.count("! blocks LOSS_INSIDE_LOG") == 1
        assert text.count("docs/findings/LOSS_INSIDE_LOG.md") == 1
        assert "orders-0: Reusing 1,050" in text
        assert "orders-1: Reusing 1,030" in text

    def test_a_reconciliation_is_whole_and_says_where_what_differs(self) -> None:
        agreed = workflow.sample_reconciliation("orders")
        lost = RangeDifference(cluster=Cluster.OLD, partition=0, start=1000, end=2000, missing=HUGE)
        twice = RangeDifference(cluster=Cluster.NEW, partition=1, start=0, end=500, duplicated=3, foreign=1)
        first, second = agreed.partitions
        first = replace(first, old_records=HUGE, new_records=HUGE - 1, missing=HUGE)
        out = StringIO()
        render.reconciliation(
            Console(file=out, width=80, highlight=False),
            replace(agreed, partitions=(first, second), differences=(lost, twice)),
        )

        head, *table = out.getvalue().splitlines()
        assert head.startswith("orders: 2,180 records are on both clusters; on the new cluster")
        assert [line.split() for line in table if line.split()[:1] in (["0"], ["1"])] == [
            ["0", f"{HUGE:,}", f"{HUGE - 1:,}", "1,100", f"{HUGE:,}", "0", "0"],
            ["1", "1,080", "1,080", "1,080", "0", "0", "0"],
        ]
        assert table[-2:] == [
            f"partition 0, old offsets 1,000 to 1,999: {HUGE:,} missing",
            "partition 1, new offsets 0 to 499: 3 duplicated, 1 only here",
        ]


HOSTILE = '{"file":"\x9d0;owned\x9c\x9b2J[bold red]x[/] [link=file:///etc/passwd]y[/link]\u202etxt.exe\u2066"}'
DRIVING = {"\x1b", "\x07", "\x9b", "\x9c", "\x9d", "\u202e", "\u2066"}


class TestHostileNames:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return write(checkpoint({0: f"{orders(1)}\n{HOSTILE}"}, (0,)), tmp_path / "\x9b2Jcheckpoint\u202e")

    def test_reach_a_terminal_without_effect(self, folder: Path) -> None:
        ran = call("inspect", folder)

        assert ran.code == 0
        assert not DRIVING & set(ran.out)
        assert "[boldred]x[/]" in "".join(ran.out.split()), "shown as text, over two lines where it is too long"
        assert "⟨U+009B⟩2Jcheckpoint⟨U+202E⟩" in ran.out

    def test_stay_as_they_are_in_json(self, folder: Path) -> None:
        body = call("inspect", folder, "--json").answered()

        assert body["sources"][1]["raw"] == HOSTILE
        assert body["uri"] == str(folder)

    def test_in_errors_reach_a_terminal_without_effect(self) -> None:
        ran = call("inspect", f"/nowhere/\x1b]0;owned\x07{HOSTILE}")

        assert ran.code == 1
        assert not DRIVING & set(ran.err)
        assert "[bold red]x[/]" in ran.err

    def test_in_a_comparison_reach_a_terminal_without_effect(self, recorded: Comparison) -> None:
        row = replace(recorded.partitions[0], topic=HOSTILE)
        finding = replace(recorded.findings[0], topic=HOSTILE, message=HOSTILE, remedy=HOSTILE)
        made = replace(recorded, migration=HOSTILE, partitions=(row,), findings=(finding,))

        assert not DRIVING & set(shown(made, 300))


class TestStreams:
    def test_json_is_utf_8_whatever_the_terminal_is(self, tmp_path: Path) -> None:
        folder = write(checkpoint({0: f'{orders(1)}\n{{"file":"grüße-注文"}}'}, (0,)), tmp_path)

        ran = run("inspect", folder, "--json", PYTHONIOENCODING="ascii")

        assert ran.answered()["sources"][1]["raw"] == '{"file":"grüße-注文"}'

    def test_a_terminal_without_the_characters_gets_something_readable(self) -> None:
        ran = run(*ON_SNAPSHOTS, PYTHONIOENCODING="ascii")

        assert (ran.code, ran.err) == (0, "")
        assert "1,050" in ran.out

    def test_a_file_name_of_other_bytes_is_valid_json_still(self) -> None:
        ran = run("inspect", "/nowhere/\udcff", "--json")

        assert json.loads(ran.out)["problem"].startswith("/nowhere/\udcff")
        assert "Traceback" not in ran.err

    def test_a_reader_that_leaves_early_is_no_error_to_talk_about(self) -> None:
        with subprocess.Popen(
            [COMMAND, *map(str, ON_SNAPSHOTS), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            assert process.stderr
            process.stdout.close()
            assert process.stderr.read() == ""

    def test_the_help_goes_to_stdout_and_names_the_exit_codes(self) -> None:
        for command in ("inspect", "snapshot", "compare", "reconcile", "schema", "console"):
            ran = call(command, "--help")
            assert (ran.code, ran.err) == (0, "")
            assert "Exit codes: 0 done or equal; 1 error" in ran.out


class TestSchema:
    @with_cases("kind", ["migration", *files.KINDS, *documents.KINDS, *documents.SHAPES])
    def test_is_a_json_schema(self, kind: str) -> None:
        ran = call("schema", kind)

        jsonschema.Draft202012Validator.check_schema(json.loads(ran.out))
        assert json.loads(ran.out)["title"] == f"offsetwise/{kind}"
        assert call("schema", kind, "--json") == ran

    def test_of_the_migration_accepts_the_bundled_one_and_refuses_unknown_keys(self) -> None:
        rule = json.loads(call("schema", "migration").out)
        body = yaml.safe_load((SAMPLE / "migration.yaml").read_text(encoding="utf-8"))

        jsonschema.validate(body, rule)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(body | {"sources": {}}, rule)

    @with_cases(
        ("name", "kind"),
        [("old.json", "snapshot"), ("new.json", "snapshot"), ("comparison-orders.json", "comparison")],
    )
    def test_accepts_what_is_bundled(self, name: str, kind: str) -> None:
        jsonschema.validate(
            json.loads((SAMPLE / name).read_text(encoding="utf-8")), json.loads(call("schema", kind).out)
        )

    def test_of_a_comparison_has_the_published_words_and_keys(self) -> None:
        rule = json.loads(call("schema", "comparison").out)["$defs"]

        assert rule["Exactness"]["enum"] == ["EXACT", "POSITION_EXACT", "PRESERVED", "BOUNDED", "CLAIMED", "UNKNOWN"]
        assert rule["RawVerdict"]["enum"] == ["SAME", "LOSS", "REPLAY", "CONFUSION", "OUT_OF_RANGE", "UNKNOWN"]
        published = """source topic partition old_offset new_topic new_offset exactness method restart bounds replay
            skip foreign_below counted ahead old new lag_old lag_new mirror_maker raw findings evidence"""
        assert set(published.split()) <= set(rule["PartitionComparison"]["required"])

    def test_of_the_migration_has_the_published_words(self) -> None:
        rule = json.loads(call("schema", "migration").out)

        assert rule["required"] == ["name", "source", "target"]
        assert {
            name: rule["$defs"][name]["enum"] for name in ("Link", "IsolationLevel", "NamingPolicy", "Writers")
        } == {
            "Link": ["mirrormaker", "preserving", "other"],
            "IsolationLevel": ["read_uncommitted", "read_committed"],
            "NamingPolicy": ["identity", "default"],
            "Writers": ["mirror-only", "mixed", "unknown"],
        }


@with_cases(
    "given",
    [
        ("--migration", "a.yaml", "--migration", "b.yaml"),
        ("-m", "a.yaml", "b.yaml"),
        ("--migration", "a.yaml", "b.yaml"),
    ],
    ids=" ".join,
)
def test_the_console_loads_every_migration_file_that_is_named(
    given: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Path] = []
    monkeypatch.setattr("offsetwise.console.server.launch.launch", lambda files, **_: loaded.extend(files))

    assert call("console", *given).code == 0
    assert loaded == [Path("a.yaml"), Path("b.yaml")]


@with_cases("command", ["status", "down"])
def test_the_lab_says_what_runs_in_a_folder(command: str, tmp_path: Path) -> None:
    ran = call("lab", command, "--dir", tmp_path, "--json")

    assert ran == Ran(0, json.dumps({"directory": str(tmp_path), "services": []}) + "\n", "")


def test_a_comparison_reads_a_copy_of_the_sample_anywhere(tmp_path: Path, compared: dict[str, Any]) -> None:
    shutil.copytree(SAMPLE, tmp_path / "copy")

    body = run(
        *("compare", "-m", "copy/migration.yaml", "--checkpoint", "orders"),
        *("--snapshots", "copy/old.json", "copy/new.json", "--json"),
        cwd=tmp_path,
    ).answered()

    assert body["partitions"] == compared["partitions"]
