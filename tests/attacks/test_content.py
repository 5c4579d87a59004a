"""Names that mean something to a terminal, a shell, a spreadsheet or Prometheus, or look like other names."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from streamlit.testing.v1 import AppTest

from offsetwise import files
from offsetwise.approval import write_keys
from offsetwise.cli import render
from offsetwise.console.explore import compare_table
from offsetwise.console.explore.lag_tables import command
from offsetwise.console.plan import export
from offsetwise.console.plan.checklist import checks
from offsetwise.console.widgets import downloads
from offsetwise.console.widgets.escaping import BREAK
from offsetwise.lookalikes import marked
from offsetwise.model import Plan, Target
from offsetwise.plan.names import marked_names
from offsetwise.review.exports import Destination, Export, ExportKind
from offsetwise.review.sheet import SheetMark
from tests.apply.test_hostile_names import HOSTILE, shown
from tests.approval.signed import PLAN, RITA
from tests.attacks.named import ADDRESSES, LOOKALIKES, PAYLOADS, Named
from tests.attacks.rows import Verdict, attack
from tests.commands import call
from tests.console import builders
from tests.console.boards import ADA, VERA, Stage, here
from tests.console.conftest import OpenPage, _no_store_of_anybody, empty_reviews, open_page
from tests.lag_samples import row, sample
from tests.plugins.spark.folders import checkpoint, orders, write
from tests.screens import EXPLORE
from tests.test_watch import scraped, taken
from tests.with_cases import with_cases

__all__ = ["_no_store_of_anybody", "empty_reviews", "here", "open_page"]

NAMES = PAYLOADS + ADDRESSES
SEEN = tuple(f"pages/explore/{name}.py" for name in EXPLORE)
SHELL = ("$(touch /tmp/x)", "`id`", "'; rm -rf / #", '"; id; "', "a b", "-x", "\\", "*", "a\nb")
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
TEXT = re.compile(r"(?<![\\w])(?:https?://|www\.|[\w.+-]+@[\w-]+\.)", re.IGNORECASE)
"""What Markdown may make a link of, once its escapes are gone."""
MIXED = LOOKALIKES[1:7]
ORDINARY = (LOOKALIKES[0], *LOOKALIKES[8:])


def cells(page: AppTest) -> Iterator[str]:
    """Every text in the data frames of a page, their headings too."""
    for frame in page.dataframe:
        yield from map(str, frame.value.columns)
        yield from (each for name in frame.value for each in frame.value[name] if isinstance(each, str))


def harmless(cell: str) -> bool:
    """Whether a cell is no formula, and its text turns and drives nothing."""
    unseen = {unicodedata.category(each) for each in cell} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return not cell.startswith(FORMULAS) and not unseen


@attack(
    "C3",
    "31 payloads in every data frame and chart of the pages that show what was read: formulas, controls, HTML",
    before=Verdict.HELD,
    without="`cell` and `label` in `escaping`",
)
def test_no_cell_is_a_formula_and_no_label_of_a_chart_is_html(open_page: OpenPage) -> None:
    counted = 0
    for address in SEEN:
        page = open_page(Named(NAMES), address)
        assert not page.exception
        assert not [each for each in cells(page) if not harmless(each)], address
        for chart in page.get("plotly_chart"):
            drawn = json.loads(chart.proto.spec)
            assert not re.search(r"<(?!/?(?:b|extra)>|br>)", json.dumps(drawn, ensure_ascii=False)), address
            counted += 1
    assert counted >= 4


@with_cases("address", SEEN)
def test_no_label_help_or_text_of_a_page_has_an_address_that_markdown_would_link(
    open_page: OpenPage, address: str
) -> None:
    page = open_page(Named(NAMES), address)
    texts = [
        str(getattr(element, part))
        for kind in (
            "markdown",
            "header",
            "subheader",
            "warning",
            "error",
            "info",
            "success",
            "button",
            "metric",
            "expander",
        )
        for element in page.get(kind)
        for part in ("value", "label", "help", "delta")
        if getattr(element, part, None)
    ]
    assert BREAK in "".join(texts)
    assert not [each for each in texts if TEXT.search(each.replace("\\", ""))]


@attack(
    "C4",
    "31 payloads in the CSV of Compare and in the data frames of Clusters as CSV and JSON: formulas, controls",
    before=Verdict.HELD,
    without="`cell` in `frames`",
)
def test_no_cell_of_a_download_is_a_formula(open_page: OpenPage) -> None:
    rows = tuple(builders.partition(name) for name in (*NAMES, *FORMULAS))
    page = open_page(Named((*NAMES, *FORMULAS)), "pages/explore/clusters.py")
    written = [compare_table.csv(rows), *(downloads.csv(frame.value) for frame in page.dataframe)]
    read = [each for text in written for line in csv.reader(io.StringIO(text.decode())) for each in line]
    assert len(read) > 1_000
    assert not [each for each in read if not harmless(each) and not re.fullmatch(r"-?[\d,.]+", each)]
    for frame in page.dataframe:
        told = [each for line in json.loads(downloads.json_rows(frame.value)) for each in line.values() if each]
        assert not [each for each in told if not harmless(each) and not re.fullmatch(r"-?[\d,.]+", each)]


@attack(
    "C5",
    "shell commands on screen for groups and checkpoints named `$(…)`, `'; rm -rf /`, with quotes and blanks",
    before=Verdict.HELD,
    without="`shlex.quote` in `exporting.sentences`, the quotes in `lag.sentences`",
)
@with_cases("name", SHELL)
def test_a_name_is_one_word_of_a_command_or_in_none(name: str) -> None:
    plan = grouped(name)
    file = Export(name="groups.csv", content=b"", mime="text/csv", digest="0" * 64, mark=SheetMark.APPROVED)
    lines = export.use(ExportKind.GROUPS_CSV, file, plan, Destination())
    if marked(name) != name:
        assert lines is None
    else:
        assert lines is not None
        for line in lines.splitlines():
            words = shlex.split(line)
            assert words[words.index("--group") + 1] == name
    assert shlex.split(command("migration.yaml", f"group {name}"))[-3] == marked(name)


@attack(
    "C6",
    "escapes, OSC, C1, bidi, NUL, line ends in folder names, their contents, options and a plan, on six commands, "
    "also with `--json`",
    before=Verdict.HELD,
    without="`marked` in `cli.safe`",
)
def test_no_name_reaches_a_terminal_raw(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    for number, name in enumerate(HOSTILE.values()):
        plan.write_text(files.dump(grouped(name)), encoding="utf-8")
        line = f"{orders(1)}\n{json.dumps({'file': name}, ensure_ascii=False)}"
        folder = write(checkpoint({0: line}, (0,)), tmp_path / f"{number}{name.replace('/', '')}")
        for arguments in (
            ("inspect", folder),
            ("drift", plan, "-m", name),
            ("export", plan, "--as", name),
            ("keygen", "--out", tmp_path / "gone" / "x", "--as", name),
            ("sign", plan, "--key", name, "--as", name, "--out", tmp_path / "gone" / "x"),
            ("draft", "-m", name, "--target", name, "--author", name, "--out", tmp_path / "new"),
        ):
            for more in ((), ("--json",)):
                ran = call(*arguments, *more, width=400)
                assert "Traceback" not in ran.err
                shown(ran.err)
                shown(ran.out if not more else ascii(ran.out))
                assert "\x1b" not in ran.out + ran.err


@attack(
    "C7",
    "six names that look like `payments` (Cyrillic а, U+034F, U+3164, U+2800, U+FE0F, a mark without a base) in the "
    "tables, captions and checklist of Review, and in what `sign` prints",
    before=Verdict.WEAK,
    without="`marked` in `escaping.plain` and `cli.safe`, `_readable` in the checklist, `marked_names` in `sign`",
    left="names in letters of one script only that look alike: `l` and `1`, a word that is all Cyrillic",
)
class TestLookalikes:
    @with_cases("name", MIXED, ids=ascii)
    def test_is_marked_on_screen_and_heads_the_checklist(self, here: Stage, name: str) -> None:
        target = Target(kind="consumer-group", group=name)
        positions = (replace(PLAN.positions[0], topic=name, new_topic=name),)
        here.scene.submitted(ADA, targets=(target,), positions=positions)
        page = here.open("pages/plan/review.py", VERA)
        assert not page.exception
        said = "\n".join(str(each.value) for each in page.markdown).replace("\\", "")
        assert f"consumer group {marked(name)}" in said
        assert marked(name) in {cell for frame in page.dataframe for cell in frame.value.get("topic", ())}
        assert name not in said
        lines = [line for each in page.markdown for line in str(each.value).splitlines()]
        checked = [line for line in lines if line.startswith(("- :red-badge[", "- :green-badge["))]
        assert "every name is what it looks like" in checked[0]
        assert marked(name) in checked[0].replace("\\", "")

    @with_cases("name", MIXED, ids=ascii)
    def test_is_marked_in_a_terminal_and_named_before_it_is_signed(self, name: str, tmp_path: Path) -> None:
        out, plan, key = io.StringIO(), tmp_path / "plan.json", tmp_path / "rita.key"
        made = grouped(name)
        render.plan(Console(file=out, width=4_000, force_terminal=False), made)
        assert f"consumer-group:{marked(name)}" in out.getvalue()
        plan.write_text(files.dump(made), encoding="utf-8")
        write_keys(key, RITA)
        ran = call("sign", plan, "--key", key, "--as", RITA.public.subject, "--out", tmp_path / "a", width=400)
        assert ran.code == 0, ran.err
        assert f"hold characters that nobody sees or letters of several scripts: {marked(name)}." in ran.err

    def test_no_two_of_them_are_shown_alike(self) -> None:
        told = {marked(name) for name in LOOKALIKES[:7]}
        assert len(told) == 7
        assert all("⟨" in marked(name) for name in MIXED)
        assert marked(marked(MIXED[1])) != marked(MIXED[1]), "a name cannot pretend to be marked"

    @with_cases("name", [*ORDINARY, "支払いdata", "한국-orders", "/data/платежи/orders", "Δ 5 ≤ 7 µs é"])
    def test_an_ordinary_name_of_any_language_is_not_marked(self, name: str) -> None:
        assert marked(name) == name
        assert marked_names(grouped(name)) == ()
        assert checks(grouped(name), None)[0].name != "every name is what it looks like"


@attack(
    "C8",
    "topics and groups with quotes, backslashes, line separators and NUL as labels, read by Prometheus' own parser",
    before=Verdict.HELD,
    without="`label` in `watch.metrics`",
)
def test_a_name_is_one_label_of_prometheus() -> None:
    names = (*NAMES, 'a"} 1\nup{x="', "back\\slash", "a\u2028b", "a\x85b", "\x00", "a\nb")
    found = scraped(taken(sample(*(row(name) for name in names), groups=names[:1])))

    assert all(name.startswith("offsetwise_") for name in found)
    told = [labels["topic"] for labels, _ in found["offsetwise_lag_records"] if labels["cluster"] == "old"]
    assert len(set(told)) == len(names)
    assert all(each.isprintable() for each in told)


def grouped(name: str) -> Plan:
    """Return a plan for a group of this name."""
    return replace(PLAN, targets=(Target(kind="consumer-group", group=name),))
