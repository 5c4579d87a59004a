"""The Help page, run as Streamlit runs it, and the documents it shows."""

from __future__ import annotations

import re
from typing import Any

from offsetwise.console.help import _DOCUMENTS, _PAGES, _TOPICS, questions
from offsetwise.console.help import document as parts
from offsetwise.findings import findings
from tests.console.conftest import OpenPage, words
from tests.console.readers import ValueReader
from tests.with_cases import with_cases

HELP = "pages/help/help.py"


def document(name: str) -> str:
    """The prose of a document, as it is shown."""
    return "".join(part.text for part in parts(name) if not part.example)


@with_cases("about", _TOPICS)
def test_every_topic_is_shown_and_asks_nothing(open_page: OpenPage, about: str) -> None:
    reader = ValueReader()
    page = open_page(reader, HELP, about=about)
    assert not page.exception
    assert not page.error
    assert len(words(page)) > 200
    assert dict(reader.calls) == {"offered": 1}


def test_pictures_of_the_console_are_left_to_the_documents() -> None:
    assert "![" not in "".join(map(document, ("clusters", "watch", "how-it-proves")))


def test_it_says_what_this_is_first(open_page: OpenPage) -> None:
    assert "at which offset must each partition" in words(open_page(ValueReader(), HELP)).replace("\n", " ")


@with_cases("about", ["Nothing", "<img src=x onerror=alert(1)>", ""])
def test_an_unknown_topic_in_the_url_shows_the_start(open_page: OpenPage, about: str) -> None:
    page = open_page(ValueReader(), HELP, about=about)
    assert not page.exception
    assert "at which offset must each partition" in words(page).replace("\n", " ")


def test_a_link_with_a_code_opens_its_explanation(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), HELP, code="LOSS_INSIDE_LOG")
    assert page.header[0].value == "LOSS\\_INSIDE\\_LOG"
    assert "reads the 100 records from 950 to 1049" in words(page)
    assert "Write the translated offset" in words(page)


def test_an_unknown_code_in_the_url_breaks_nothing(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), HELP, code="NO_SUCH_CODE")
    assert not page.exception
    assert page.dataframe[0].value["code"].tolist() == list(findings())


def test_findings_are_searched_and_filtered_from_the_url(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), HELP, about="Findings", find="retention raise", severity=["warns"])
    assert page.dataframe[0].value["code"].tolist() == [
        "GROUP_OFFSETS_EXPIRE",
        "RETENTION_BEFORE_CUTOVER",
        "WAVE_AFTER_RETENTION",
    ]
    none = open_page(ValueReader(), HELP, about="Findings", find="no such words")
    assert "No finding has these words." in words(none)
    unknown = open_page(ValueReader(), HELP, about="Findings", severity=["fatal"])
    assert not unknown.exception


@with_cases("code", findings())
def test_every_code_is_explained_on_screen_as_in_the_documents(code: str) -> None:
    text = document(f"findings/{code}")
    assert "### What it means" in text
    assert "### What to do" in text


def test_links_of_documents_lead_to_findings_or_nowhere() -> None:
    for name in ("glossary", "how-it-proves", "clusters", "formats", "watch", "sign-in"):
        for target in re.findall(r"\]\(([^)]+)\)", document(name)):
            assert target.startswith("https://") or target.removeprefix("help?code=") in findings(), f"{name}: {target}"


def test_a_document_has_no_heading_above_the_page_s_own() -> None:
    assert not re.search(r"^# ", document("formats"), flags=re.MULTILINE)
    assert re.search(r"^## ", document("formats"), flags=re.MULTILINE)


def test_an_example_of_a_document_is_shown_to_the_letter() -> None:
    examples = [part.text for part in parts("clusters") if part.example]
    assert "sasl.password: ${KAFKA_PASSWORD}        # environment\n" in examples[1]
    assert 'kafka-acls.sh --bootstrap-server "$OLD" --add' in examples[0]


def test_a_search_over_all_of_help_leads_to_the_parts_that_have_all_words(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), HELP)
    page.text_input(key="words").set_value("keygen console.key").run()
    assert not page.exception
    links: list[Any] = [link.proto for link in page.get("page_link")]
    assert {"**Sign-in**", "**Start**"} & {link.label for link in links} == {"**Sign-in**"}
    assert next(link.query_string for link in links if link.label == "**Sign-in**") == "about=Sign-in"
    page.text_input(key="words").set_value("no such words in <b>").run()
    assert not page.exception
    assert "No part of Help has all these words." in words(page)


def test_the_parts_of_help_are_one_list(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), HELP, about="Keyboard")
    assert page.selectbox(key="about").value == "Keyboard"
    assert page.selectbox(key="about").options == list(_TOPICS)
    assert not page.radio


@with_cases("page", [page for page in questions() if page != "Overview"])
def test_every_page_has_a_question_and_the_part_of_help_that_is_about_it(open_page: OpenPage, page: str) -> None:
    room = {
        **dict.fromkeys(("Draft", "Review", "Export"), "plan"),
        **dict.fromkeys(("Cutover", "Fleet", "Audit"), "operate"),
    }
    shown = open_page(ValueReader(), f"pages/{room.get(page, 'explore')}/{page.lower()}.py")
    shown.button(key="about-page").click().run()
    assert not shown.exception
    assert f"**{questions()[page]}**" in words(shown)
    topic, part = _PAGES.get(page, ("Start", None))
    if part is not None:
        pieces = parts(_DOCUMENTS[topic], part)
        assert sum(len(piece.text) for piece in pieces) > 200
        assert all(piece.text.strip() in "\n".join(words(shown).splitlines()) for piece in pieces if piece.example)
    assert [link.proto.label for link in shown.get("page_link")][-1] == f"Help: {topic}"
