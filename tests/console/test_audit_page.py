"""The Audit page, run as Streamlit runs it: who did or tried what, and whether the log is whole."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy
from streamlit.testing.v1 import AppTest

from offsetwise.console import board
from offsetwise.console.operate import audit, audit_rows
from offsetwise.console.operate.audit_rows import Typed, parsed
from offsetwise.errors import StoreUnreachableError
from offsetwise.review.access import SignIn
from offsetwise.review.people import Person
from offsetwise.store.audit import FIRST, AuditFilter, AuditRow, Record
from offsetwise.store.reviews import Reviews
from offsetwise.store.store import open_store
from tests.console.boards import ADA, BOTH, RITA, STRANGER, VERA, Stage, staged
from tests.console.conftest import AskedFor, words
from tests.review.people import ISSUER
from tests.with_cases import with_cases

PAGE = "pages/operate/audit.py"
HOSTILE = "=cmd()|'<img src=x onerror=alert(1)>\u202e **x** [y](javascript:z)"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.sqlite'}"


@pytest.fixture
def here(url: str, tmp_path: Path) -> Iterator[Stage]:
    with staged(url, tmp_path) as made:
        yield made


def rows_of(page: AppTest) -> pd.DataFrame:
    shown: pd.DataFrame = page.dataframe[0].value
    return shown


def said(page: AppTest) -> str:
    return words(page).replace("\\", "")


def filled(here: Stage) -> None:
    """Let people do four things: save, submit, be refused, approve."""
    saved = here.scene.submitted(BOTH)
    here.scene.approve(BOTH, saved)
    here.scene.approve(RITA, saved)


def broken(url: str, statement: str) -> None:
    """Change the log as somebody would who can write to the database."""
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        triggers = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").scalars().all()
        for name in triggers:
            connection.exec_driver_sql(f'DROP TRIGGER "{name}"')
        connection.exec_driver_sql(statement)
    engine.dispose()


def test_it_shows_who_did_what_newest_first_refused_attempts_too(here: Stage) -> None:
    filled(here)
    page = here.open(PAGE, VERA)
    assert not page.exception
    table = rows_of(page)
    assert table["row"].tolist() == [4, 3, 2, 1]
    assert table["what"].tolist() == ["approve", "approve", "submit", "save"]
    assert table["result"].tolist() == ["✓ done", "! refused", "✓ done", "✓ done"]
    assert table["subject"].tolist() == ["rita", "both", "both", "both"]
    assert table["issuer"].unique().tolist() == [ISSUER]
    assert table["before → after"].tolist()[0] == "submitted → approved"
    assert "had a hand in" in table["why"].tolist()[1]
    assert page.success[0].value.startswith("**The audit log is intact:** 4 rows")


def test_the_row_selected_is_told_in_full_with_its_whole_digest(here: Stage) -> None:
    filled(here)
    page = here.open(PAGE, VERA, row="3")
    assert page.header[-1].value.replace("\\", "") == "Row 3 · approve · ! refused"
    assert f"subject both of issuer {ISSUER}" in said(page)
    assert "Nobody decides about a plan that they had a hand in" in said(page)
    row = here.scene.board.audit(ADA)[1]
    assert [code.value for code in page.code][-3:] == [row.record.digest, row.hash, row.previous]


@with_cases(
    ("filters", "left"),
    [
        ({"action": "approve"}, [4, 3]),
        ({"result": "refused"}, [3]),
        ({"subject": "rita"}, [4]),
        ({"issuer": ISSUER}, [4, 3, 2, 1]),
        ({"plan": "1", "action": "submit"}, [2]),
        ({"before": "3"}, [2, 1]),
        ({"from": "2020-01-01", "until": "2100-01-01T00:00+02:00"}, [4, 3, 2, 1]),
        ({"action": "no such thing", "result": "; drop table", "row": "99"}, [4, 3, 2, 1]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_filters_come_from_the_url(here: Stage, filters: dict[str, str], left: list[int]) -> None:
    filled(here)
    page = here.open(PAGE, VERA, **filters)
    assert not page.exception
    assert rows_of(page)["row"].tolist() == left


def test_a_digest_is_found_by_how_it_begins(here: Stage) -> None:
    filled(here)
    other = here.scene.saved(ADA, moves="payments")
    page = here.open(PAGE, VERA, digest=other.digest[:8])
    assert rows_of(page)["row"].tolist() == [5]


@with_cases(
    ("filters", "told"),
    [
        ({"plan": "one"}, "Plan: expected a number, found one"),
        ({"plan": "9" * 30}, "Plan: expected a number"),
        ({"before": "-1"}, "Rows before: expected a number"),
        ({"digest": "zz%"}, "Digest: expected its first digits"),
        ({"from": "yesterday"}, "From: expected a day or a time"),
        ({"until": "2026-13-45"}, "Until: expected a day or a time"),
        ({"from": "<img src=x onerror=alert(1)>"}, "From: expected a day"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_filter_that_cannot_be_understood_shows_no_rows_and_says_why(
    here: Stage, filters: dict[str, str], told: str
) -> None:
    filled(here)
    page = here.open(PAGE, VERA, **filters)
    assert not page.exception
    assert not page.dataframe
    assert told in page.warning[-1].value.replace("\\", "")
    assert "<img" not in page.warning[-1].value.replace("\\<img", "")


def test_days_of_the_calendar_fill_the_fields_and_the_last_one_is_in_them(here: Stage) -> None:
    filled(here)
    page = here.open(PAGE, VERA)
    today = datetime.now(UTC).date()
    page.date_input(key="days").set_value((today - timedelta(days=1), today)).run()
    assert not page.exception
    assert page.text_input(key="from").value == (today - timedelta(days=1)).isoformat()
    assert page.text_input(key="until").value == (today + timedelta(days=1)).isoformat()
    assert rows_of(page)["row"].tolist() == [4, 3, 2, 1]
    page.date_input(key="days").set_value((today - timedelta(days=9), today - timedelta(days=8))).run()
    assert "No row passes these filters." in words(page)


def test_nothing_that_passes_is_said(here: Stage) -> None:
    filled(here)
    page = here.open(PAGE, VERA, subject="nobody like that")
    assert "No row passes these filters." in words(page)


@with_cases("somebody", [None, VERA, ADA, RITA], ids=["anonymous", "viewer", "author", "reviewer"])
def test_everybody_who_may_look_sees_it(here: Stage, somebody: Person | None) -> None:
    filled(here)
    page = here.open(PAGE, somebody)
    assert not page.exception
    assert len(rows_of(page)) == 4


@with_cases("somebody", [None, STRANGER], ids=["anonymous", "no role"])
def test_where_sign_in_is_required_nobody_else_sees_a_row(here: Stage, somebody: Person | None) -> None:
    filled(here)
    here.scene.rules(sign_in=SignIn.REQUIRED, roles=here.scene.access.roles.model_copy(update={"reviewer": ()}))
    page = here.open(PAGE, somebody)
    assert not page.dataframe
    assert "Locked" in words(page)


def test_where_nobody_can_sign_in_it_says_how_to_set_it_up(here: Stage) -> None:
    board.use(here.reviews)
    made = here.open(PAGE, None)
    made.secrets.clear()
    made.run()
    assert not made.exception
    assert "Nobody can sign in here" in words(made)


def test_a_log_without_rows_says_so(here: Stage) -> None:
    page = here.open(PAGE, VERA)
    assert not page.exception
    assert "Nothing has been done or attempted yet." in words(page)


def test_a_hundred_rows_at_a_time_and_older_ones_behind_a_button(here: Stage) -> None:
    saved = here.scene.submitted(ADA)
    for number in range(120):
        here.scene.board.comment(ADA, saved.plan, f"Remark {number}")
    page = here.open(PAGE, VERA)
    assert rows_of(page)["row"].tolist()[::99] == [122, 23]
    page.button(key="audit-older").click().run()
    assert rows_of(page)["row"].tolist() == list(range(22, 0, -1))
    assert page.query_params["before"] == "23"
    assert "audit-older" not in [button.key for button in page.button]
    page.button(key="audit-newest").click().run()
    assert rows_of(page)["row"].tolist()[0] == 122


class TestTheChain:
    @with_cases(
        ("statement", "row"),
        [
            ("UPDATE review_audit SET subject = 'mallory' WHERE seq = 3", 3),
            ("UPDATE review_audit SET body = replace(body, 'refused', 'done') WHERE seq = 3", 3),
            ("UPDATE review_audit SET body = 'x' WHERE seq = 2", 2),
            ("UPDATE review_audit SET previous = hash WHERE seq = 4", 4),
            ("DELETE FROM review_audit WHERE seq = 2", 2),
            ("DELETE FROM review_audit WHERE seq = 1", 1),
            ("DELETE FROM review_audit WHERE seq = 4", 4),
        ],
        ids=["column", "body", "unreadable", "linked elsewhere", "cut out", "first", "last"],
    )
    def test_broken_on_purpose_it_is_shown_as_broken_with_the_row(
        self, here: Stage, url: str, statement: str, row: int
    ) -> None:
        filled(here)
        broken(url, statement)
        page = here.open(PAGE, VERA)
        assert not page.exception
        assert page.error[0].value.startswith(f"**! The audit log is broken at row {row}.**")
        assert f"Row {row} " in page.error[0].value
        assert len(rows_of(page)) >= 3
        if "DELETE" not in statement:
            table = rows_of(page).set_index("row")
            assert table.loc[row, "chain"] == "! changed"

    def test_a_break_that_comes_later_is_found_when_a_person_asks_again(self, here: Stage, url: str) -> None:
        filled(here)
        page = here.open(PAGE, VERA)
        assert page.success
        broken(url, "UPDATE review_audit SET at_ms = at_ms + 1 WHERE seq = 1")
        page.button(key="audit-check").click().run()
        assert not page.success
        assert "broken at row 1" in page.error[0].value

    def test_what_one_log_was_found_to_be_is_not_said_of_another(self, here: Stage, url: str) -> None:
        filled(here)
        broken(url, "UPDATE review_audit SET at_ms = at_ms + 1 WHERE seq = 1")
        page = here.open(PAGE, VERA)
        assert page.error
        page.session_state[board.PART] = "author"
        page.run()
        assert not page.exception
        assert not page.error

    def test_a_long_log_is_checked_when_a_person_asks(self, here: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("offsetwise.console.operate.audit.AT_ONCE", 3)
        filled(here)
        page = here.open(PAGE, VERA)
        assert "It was not checked yet whether the audit log is intact." in words(page)
        page.button(key="audit-check").click().run()
        assert page.success

    def test_a_row_that_shares_nothing_with_the_next_is_marked_though_each_is_whole(self) -> None:
        record = Record(at_ms=1, issuer=None, subject=None, action="save", result="done", details={})
        older = AuditRow(seq=1, record=record, previous=FIRST, hash="a" * 64)
        newer = AuditRow(seq=2, record=record, previous="b" * 64, hash="c" * 64)
        assert audit_rows.links((newer, older), None) == (audit_rows.CHANGED, audit_rows.CHANGED)


def every_row(here: Stage, wanted: AuditFilter | None = None) -> Iterator[AuditRow]:
    return audit_rows.rows(here.scene.board, VERA, wanted or AuditFilter())


class TestDownloads:
    def test_the_json_proves_the_chain_without_the_console(self, here: Stage) -> None:
        filled(here)
        lines = [json.loads(line) for line in audit_rows.json_lines(every_row(here)).splitlines()]
        previous = FIRST
        for line in reversed(lines):
            assert line["previous"] == previous
            previous = hashlib.sha256(f"{line['previous']}\n{line['body']}".encode()).hexdigest()
            assert line["hash"] == previous
        assert here.scene.board.check_chain(VERA).head == previous
        assert [json.loads(line["body"])["result"] for line in lines] == ["done", "refused", "done", "done"]

    def test_they_hold_every_row_that_passes_however_many_there_are(
        self, here: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        saved = here.scene.submitted(ADA)
        for number in range(30):
            here.scene.board.comment(ADA, saved.plan, f"Remark {number}")
        every = here.scene.board.audit
        monkeypatch.setattr(audit_rows, "AUDIT_ROWS", 7)
        monkeypatch.setattr(here.scene.board, "audit", lambda person, wanted: every(person, wanted, most=7))
        lines = audit_rows.csv(every_row(here, AuditFilter(action="comment"))).decode().splitlines()
        assert [int(line.split(",")[0]) for line in lines[1:]] == list(range(32, 2, -1))

    def test_one_that_cannot_be_made_is_told_in_words_and_can_be_asked_for_again(
        self, here: Stage, monkeypatch: pytest.MonkeyPatch, asked_for: AskedFor
    ) -> None:
        monkeypatch.setattr(audit, "PAGE_ROWS", 2)
        filled(here)
        page = here.open(PAGE, VERA)
        with monkeypatch.context() as down:
            down.setattr(audit_rows, "rows", lambda *_: _down())
            with pytest.raises(RuntimeError, match="the page says why"):
                asked_for("audit.csv")
        page.run()
        assert not page.exception
        assert "the database did not answer" in said(page)
        assert len(asked_for("audit.csv").splitlines()) > 2
        page.run()
        assert [each.key for each in page.download_button] == ["download-CSV", "download-JSON"]
        assert "the database did not answer" not in said(page)

    def test_rows_that_are_all_shown_are_downloaded_by_one_click(self, here: Stage) -> None:
        filled(here)
        page = here.open(PAGE, VERA, action="approve")
        assert [each.key for each in page.download_button] == ["download-CSV", "download-JSON"]
        assert "2 rows. Select a row to see all of it." in words(page)

    def test_no_cell_of_the_csv_runs_and_none_is_more_than_a_cell(self, here: Stage) -> None:
        hostile = Person(issuer=HOSTILE, subject=HOSTILE, name=HOSTILE)
        here.scene.board.submit(hostile, 1, "=1+1")
        text = audit_rows.csv(every_row(here)).decode()
        assert "'=cmd()" in text
        assert ",=" not in text.replace('"', "")
        assert "\u202e" not in text
        header, row = pd.read_csv(io.StringIO(text), header=None).to_numpy().tolist()
        assert len(header) == len(row) == 14


def test_a_hostile_name_stays_text(here: Stage) -> None:
    hostile = Person(issuer=HOSTILE, subject=HOSTILE, name=HOSTILE)
    here.scene.board.submit(hostile, 1, HOSTILE)
    page = here.open(PAGE, VERA)
    assert not page.exception
    assert rows_of(page)["who"].tolist()[0].startswith("'=cmd()")
    texts = "\n".join(str(each.value) for kind in (page.markdown, page.error, page.header) for each in kind)
    assert "<img" not in texts.replace("\\<img", "")
    assert "](javascript" not in texts
    assert "\u202e" not in texts


def test_a_store_that_does_not_answer_is_told_in_words(here: Stage) -> None:
    here.reviews = _down
    page = here.open(PAGE, VERA)
    assert not page.exception
    assert "the database did not answer" in said(page)
    assert "**What to do:** Start it." in said(page)


def test_a_store_that_takes_no_writes_is_shown_and_checked(here: Stage, url: str) -> None:
    filled(here)
    path = url.removeprefix("sqlite:///")
    with open_store(f"sqlite:///file:{path}?mode=ro&uri=true") as store:
        here.reviews = lambda: store.reviews
        page = here.open(PAGE, VERA)
    assert not page.exception
    assert page.success
    assert len(rows_of(page)) == 4


def _down() -> Reviews:
    raise StoreUnreachableError("Store: expected an answer, the database did not answer.", fix="Start it.")


@with_cases(
    ("typed", "found"),
    [
        (Typed(), AuditFilter()),
        (Typed(digest=" AB12cd34… "), AuditFilter(digest="ab12cd34")),
        (Typed(since="1970-01-01T01:00+01:00", until="1970-01-02"), AuditFilter(since_ms=0, until_ms=86_400_000)),
        (Typed(plan=" 12 ", before="7"), AuditFilter(plan=12, before_seq=7)),
    ],
    ids=["nothing", "digest of the screen", "times", "numbers"],
)
def test_what_is_typed_is_understood(typed: Typed, found: AuditFilter) -> None:
    made: Any = parsed(typed)
    assert (made.filter, made.problems) == (found, ())
