"""Names that mean something elsewhere (HTML, Markdown, escapes, bidi, formulas) mean nothing in what is told."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from offsetwise import files
from offsetwise.apply import reversal
from offsetwise.apply.run import apply, dry_run
from offsetwise.cli import render
from offsetwise.cli.render import applied as render_apply
from offsetwise.errors import OffsetwiseError, PlanError
from offsetwise.lookalikes import marked
from offsetwise.model import Override, Target
from offsetwise.plan.exports import consumer_groups_csv, starting_offsets
from offsetwise.plan.reading import read_plan
from offsetwise.store.store import open_store
from tests.apply.plans import COPY
from tests.apply.worlds import stage
from tests.commands import call
from tests.plan.scene import ETL, drafted
from tests.review.people import ADA, Scene, access_with_key
from tests.with_cases import with_cases

HOSTILE = {
    "HTML": "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "Markdown": "[x](javascript:alert(1)) ![](http://evil.invalid/x) `a` **b** :red[c] $d$",
    "rich markup": "[bold red]x[/] [link=http://evil.invalid]y[/link] [/] \\[z] [y",
    "trailing backslash": "x\\",
    "ANSI": "\x1b[31mred\x1b[2J\x1b]8;;http://evil.invalid\x07link\x1b]0;title\x07",
    "C1": "\x9b31mred\x9d0;title\x9c\x90",
    "bidi": "\u202egnp.exe\u202c \u2066a\u2069 \u200b\ufeff\u061c",
    "lines": "a\r\nerror Nothing is wrong\rb\u2028c\u2029d\x0be\x85f",
    "formula": "=cmd|'/c calc'!A1,\"x\";@SUM(1+1)\t=2",
}


def shown(text: str) -> None:
    """Hold text against what a terminal may be handed: lines of characters that only stand for themselves."""
    for line in text.split("\n"):
        assert not {unicodedata.category(c) for c in line} & {"Cc", "Cf", "Cs", "Zl", "Zp"}, ascii(line)


def plain(words: str) -> str:
    """Return a name as it is shown, without what the width of a terminal does to it."""
    return "".join(marked(words).split())


@with_cases("name", HOSTILE.values(), ids=HOSTILE)
def test_a_plan_shows_every_name_as_text_and_keeps_it_whole_in_its_file(name: str) -> None:
    standard = drafted(None, ETL)
    decided = Override(offset=standard.positions[0].new_offset, by=name, reason=f"{name} ")
    made = replace(
        standard,
        author=name,
        editors=(name,),
        strategy=name,
        keeps=(name,),
        targets=(Target(kind="consumer-group", group=name),),
        positions=(replace(standard.positions[0], topic=name, new_topic=name, override=decided),),
        totals=replace(standard.totals, overridden=1),
    )
    out = io.StringIO()
    render.plan(Console(file=out, width=4_000, force_terminal=False), made)

    shown(out.getvalue())
    assert plain(name) in "".join(out.getvalue().split()), "and nothing of it is taken for markup"
    text = files.dump(made)
    again = read_plan(text.encode("utf-8", "surrogatepass"), subject="plan.json")
    assert (again.author, again.targets[0].group) == (name, name)
    assert "\x1b" not in text
    for export in (starting_offsets, consumer_groups_csv):
        with pytest.raises(PlanError) as caught:
            export(made)
        assert "\x1b" not in caught.value.problem, "a topic is quoted"


@with_cases("name", HOSTILE.values(), ids=HOSTILE)
def test_applying_verifying_and_taking_back_show_a_group_as_text(name: str, tmp_path: Path) -> None:
    staged = stage(tmp_path, COPY, Target(kind="consumer-group", group=name))
    out = io.StringIO()
    console = Console(file=out, width=4_000, force_terminal=False)

    render_apply.dry_run(console, dry_run(staged.order(), staged.tools()))
    render_apply.applied(console, apply(staged.order(), staged.receipt, staged.tools()).receipt.steps, ())
    render_apply.standings(console, reversal.preview(staged.back(), staged.tools()))
    render_apply.taken_back(console, reversal.rollback(staged.back(), staged.tools()))

    shown(out.getvalue())
    assert plain(name) in "".join(out.getvalue().split())
    assert "\x1b" not in Path(staged.receipt).read_text(encoding="utf-8")
    assert "\x1b" not in Path(f"{staged.receipt}.journal").read_text(encoding="utf-8")


@with_cases("name", HOSTILE.values(), ids=HOSTILE)
@with_cases("command", ["keygen", "sign", "export", "draft", "drift"])
def test_an_error_repeats_a_name_as_text(command: str, name: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(files.dump(drafted(None, ETL)), encoding="utf-8")
    given: dict[str, tuple[str | Path, ...]] = {
        "keygen": ("keygen", "--out", tmp_path / "gone" / "x", "--as", name),
        "sign": ("sign", plan, "--key", name, "--as", name, "--out", tmp_path / "gone" / "x"),
        "export": ("export", plan, "--as", name),
        "draft": ("draft", "-m", name, "--target", name, "--author", name, "--out", tmp_path / "new"),
        "drift": ("drift", name, "-m", name),
    }

    for more in ((), ("--json",)):
        ran = call(*given[command], *more, width=400)
        assert ran.code == 1
        assert "Traceback" not in ran.err
        shown(ran.err)
        assert "\x1b" not in ran.out
        if more:
            assert json.loads(ran.out)["format"] == "offsetwise/error"


@with_cases("name", HOSTILE.values(), ids=HOSTILE)
def test_no_group_of_such_a_name_stands_in_a_csv(name: str) -> None:
    hostile = Target(kind="consumer-group", group=name)
    try:
        text = consumer_groups_csv(replace(drafted(None, ETL), targets=(ETL, hostile)))
    except PlanError as error:
        shown(marked(error.problem))
    else:
        shown(text)
        assert {row[0] for row in csv.reader(io.StringIO(text))} == {"etl", name}, "Kafka's tool reads it back"
        assert not {row[0][0] for row in csv.reader(io.StringIO(text))} & set("=+-@\t\r")


@with_cases("name", HOSTILE.values(), ids=HOSTILE)
def test_the_audit_log_keeps_a_reason_and_a_name_whole_and_its_chain_intact(name: str, tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        scene = Scene(store.reviews, access_with_key(tmp_path))
        saved = scene.submitted(strategy=name)
        scene.board.comment(ADA, saved.plan, name)
        try:
            sheet = scene.board.sheet(ADA, saved.plan)
        except OffsetwiseError as error:
            pytest.fail(f"one name hides a plan: {error}")
        assert sheet is not None
        assert [each.body for each in sheet.comments] == [name]
        assert scene.board.check_chain(ADA).intact
        rows = scene.board.audit(ADA)
        assert all(json.loads(json.dumps(dict(row.record.details))) == dict(row.record.details) for row in rows)
