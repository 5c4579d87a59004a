"""Every page for everybody: who may look, what the others see, and that nothing is read for them."""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from sqlalchemy import Engine, event
from streamlit.config import get_config_options
from streamlit.testing.v1 import AppTest

from offsetwise.console import answers
from offsetwise.console.answers import Question
from offsetwise.console.reader import Reader
from offsetwise.console.server import access
from offsetwise.console.server.access import Access, Grant, Role, Roles, SignIn
from offsetwise.console.widgets.palette import DARK, LIGHT
from offsetwise.errors import AccessError, ConfigError
from offsetwise.lag.archive import Recording
from offsetwise.model import Subject, SubjectKind
from tests.console import builders, clusters_of_tests
from tests.console.conftest import APP, settle, words
from tests.console.readers import ValueReader
from tests.console.test_words import contrast
from tests.lag_samples import growing
from tests.screens import EXPLORE, OF_ONE_MIGRATION
from tests.with_cases import with_cases

SETTINGS = tomllib.loads((APP.parent / ".streamlit" / "config.toml").read_text("utf-8"))
PAGES = sorted(str(path.relative_to(APP.parent)) for path in APP.parent.glob("pages/**/*.py"))

ISSUER = "https://login.example.org"
ROLES = Roles(
    viewer=(Grant(issuer=ISSUER, subject="vera"),),
    author=(Grant(issuer=ISSUER, group="migration-team"),),
    reviewer=(Grant(issuer=ISSUER, subject="rita"),),
)
REQUIRED = Access(sign_in=SignIn.REQUIRED, roles=ROLES)
SECRETS = {
    "auth": {
        "redirect_uri": "http://127.0.0.1:8501/oauth2callback",
        "cookie_secret": "0123456789abcdef0123456789abcdef",
        "client_id": "offsetwise",
        "client_secret": "of-the-test",
        "server_metadata_url": f"{ISSUER}/.well-known/openid-configuration",
    }
}


def claims(subject: str, **more: Any) -> dict[str, Any]:
    """What Streamlit knows of somebody who signed in a minute ago."""
    return {"is_logged_in": True, "iss": ISSUER, "sub": subject, "iat": time.time() - 60, **more}


NOBODY: dict[str, Any] = {"is_logged_in": False}
PEOPLE = {
    "anonymous": (NOBODY, "viewer"),
    "viewer": (claims("vera"), "viewer"),
    "author": (claims("aron", groups=["staff", "migration-team"]), "viewer, author"),
    "reviewer": (claims("rita"), "viewer, reviewer"),
}


@pytest.fixture(autouse=True)
def _rules_of_its_own() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    access.use(Access())
    st.cache_resource.clear()


@cache
def bundled() -> Reader:
    """What `offsetwise console` reads without a migration file."""
    return Reader(())


def opened(page: str, user: dict[str, Any], rules: Access, reader: Reader) -> AppTest:
    access.use(rules)
    answers.use(reader)
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.user = user
    made.secrets = SECRETS
    made.switch_page(page)
    return made.run()


def test_every_page_is_registered_by_its_name() -> None:
    calls = [
        node
        for node in ast.walk(ast.parse(APP.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "Page"
    ]
    assert sorted(ast.literal_eval(call.args[0]) for call in calls) == PAGES
    assert not list(APP.parent.glob("pages/*.py")), "Streamlit would run it without app.py"


@with_cases("page", PAGES)
@with_cases("who", PEOPLE)
def test_a_page_opens_for_everybody_where_sign_in_is_optional(page: str, who: str) -> None:
    user, roles = PEOPLE[who]
    shown = opened(page, user, Access(roles=Roles(author=ROLES.author, reviewer=ROLES.reviewer)), bundled())
    whole(shown)
    assert who_looks(shown).endswith(f" · {roles}]")


@with_cases("page", PAGES)
@with_cases("who", PEOPLE)
def test_where_sign_in_is_required_a_page_opens_for_those_named(page: str, who: str) -> None:
    user, roles = PEOPLE[who]
    if who == "anonymous":
        reader = ValueReader(live=RuntimeError("never asked"))
        shown = opened(page, user, REQUIRED, reader)
        locked(shown, reader)
        assert who_looks(shown).endswith("Not signed in · no role]")
    else:
        shown = opened(page, user, REQUIRED, bundled())
        whole(shown)
        assert who_looks(shown).endswith(f" · {roles}]")


@with_cases("page", PAGES)
@with_cases(
    "user",
    [
        {},
        claims("stranger"),
        claims("stranger", email="vera", name="vera", groups="migration"),
        {**claims("vera"), "iss": "https://login.example.com"},
        {**claims("aron", groups=["migration-team"]), "iss": f"{ISSUER}/"},
        {**claims("vera"), "is_logged_in": "true"},
        {**claims("vera"), "iat": time.time() - 13 * 3_600},
        {**claims("vera"), "iat": None},
        {**claims(""), "sub": 7},
    ],
    ids=["nothing", "stranger", "named-alike", "issuer", "issuer-slash", "text", "too-old", "no-age", "no-subject"],
)
def test_a_page_stays_locked_for_anybody_else_and_reads_nothing(page: str, user: dict[str, Any]) -> None:
    reader = ValueReader(live=RuntimeError("never asked"))
    locked(opened(page, user, REQUIRED, reader), reader)


def who_looks(shown: AppTest) -> str:
    """What the first line of the page says about who looks; the sidebar keeps the navigation only."""
    assert not shown.sidebar.children
    (told,) = (each.value for each in shown.main.markdown if ":material/account_circle:" in each.value)
    return str(told)


def whole(shown: AppTest) -> None:
    """The page ran to its end, and every block of it found its words."""
    assert not shown.exception
    assert "Locked" not in words(shown)
    assert "could not be read" not in words(shown)
    assert len(shown.main.children) > 2


def locked(shown: AppTest, reader: ValueReader) -> None:
    """One title, one block that says what is needed, and nothing of the page."""
    assert not shown.exception
    assert len(shown.title) == 1
    assert shown.warning[0].value.startswith("**Locked**")
    for kind in (shown.dataframe, shown.metric, shown.header, shown.subheader, shown.main.selectbox, shown.error):
        assert not kind
    assert dict(reader.calls) == {"offered": 1}


READ_NOW = {"clusters": "read-both", "compare": "compare-now", "fleet": "fleet-now"}
READING = [*EXPLORE, "fleet"]
ANSWERED = {"overview", "checkpoint", "lag", *READ_NOW}
"""The pages that show more than which migrations there are: here they did read, once."""


@with_cases("page", READING)
def test_a_rerun_that_changes_no_input_asks_no_cluster_no_spark_and_no_database(page: str) -> None:
    reader = ValueReader(live=builders.comparison(migration="orders-to-new"))
    reader.clusters |= clusters_of_tests.reference()
    reader.samples = Recording(growing(5))
    answers.use(reader)
    shown = AppTest.from_file(str(APP), default_timeout=60)
    shown.switch_page(next(path for path in PAGES if path.endswith(f"/{page}.py")))
    shown.query_params["migration"] = "orders-to-new"
    shown.run()
    if page in READ_NOW:
        shown.button(key=READ_NOW[page]).click().run()
        settle(shown)
    shown.run()
    before, statements = dict(reader.calls), []

    def count(*told: object) -> None:
        statements.append(told[2])

    event.listen(Engine, "before_cursor_execute", count)
    try:
        shown.run()
    finally:
        event.remove(Engine, "before_cursor_execute", count)
    whole(shown)
    assert dict(reader.calls) == before
    assert len(before) > (page in ANSWERED), "it did read, once"
    assert statements == []


UNKNOWN: dict[str, str | list[str]] = {
    "migration": "nobody",
    "of": "nothing",
    "checkpoint": "../../etc/passwd",
    "row": "<img src=x onerror=alert(1)>",
    "topic": ["<img src=x onerror=alert(1)>", "=cmd()"],
    "batch": "99999999999999999999",
    "other": "-1",
    "rows": "9751–10000",
    "about": "x",
    "code": "x",
    "order": "; drop table",
    "refresh": "0",
    "since": "yesterday",
}


@with_cases("page", PAGES)
def test_unknown_values_in_the_url_break_no_page(page: str) -> None:
    answers.use(bundled())
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.switch_page(page)
    for name, value in UNKNOWN.items():
        made.query_params[name] = value
    whole(made.run())


@with_cases("page", [*(f"pages/explore/{name}.py" for name in OF_ONE_MIGRATION), "pages/operate/fleet.py"])
def test_a_link_to_a_migration_that_is_not_here_says_so_and_what_is_shown_instead(page: str) -> None:
    answers.use(bundled())
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.switch_page(page)
    made.query_params["migration"] = "**nobody**"
    made.query_params["of"] = "checkpoint theirs"
    for _ in range(2):
        made.run()
        whole(made)
        told = [each.value for each in made.warning if "The link names" in each.value]
        assert told[0].startswith("**The link names a migration that this console does not have: \\*\\*nobody")
        assert "What you see is orders\\-to\\-new \\(sample\\)." in told[0]


def test_a_link_to_positions_that_are_not_here_says_so_until_others_are_picked() -> None:
    answers.use(ValueReader({"orders": builders.comparison(), "payments": builders.comparison()}))
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.switch_page("pages/explore/compare.py")
    made.query_params["of"] = "checkpoint theirs"
    made.run()
    assert "a job of sample that this console does not have: checkpoint theirs" in made.warning[0].value
    made.selectbox(key="of").select("checkpoint payments").run()
    made.selectbox(key="of").select("checkpoint orders").run()
    assert not [each for each in made.warning if "The link names" in each.value]


def test_a_link_to_what_is_here_says_nothing() -> None:
    answers.use(ValueReader({"orders": builders.comparison(), "payments": builders.comparison()}))
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.switch_page("pages/explore/compare.py")
    made.query_params["migration"] = "sample"
    made.query_params["of"] = "checkpoint payments"
    made.run()
    assert made.selectbox(key="of").value == "checkpoint payments"
    assert not [each for each in made.warning if "The link names" in each.value]


def test_whoever_has_no_role_sees_what_to_ask_for() -> None:
    shown = opened("pages/explore/overview.py", claims("sam|7"), REQUIRED, ValueReader())
    assert f"issuer: {ISSUER}\nsubject: sam|7" in words(shown)


def test_a_name_of_a_person_is_never_markup() -> None:
    hostile = claims("vera", name="<img src=x onerror=alert(1)> **x** :red[y]")
    shown = opened("pages/explore/overview.py", hostile, REQUIRED, ValueReader())
    assert who_looks(shown).count("\\<img") == 1
    assert "\\*\\*x" in who_looks(shown)


def test_signing_in_is_offered_only_where_an_identity_provider_is_configured() -> None:
    answers.use(ValueReader())
    without = AppTest.from_file(str(APP), default_timeout=60).run()
    assert not [button for button in without.button if "Sign in" in button.label]
    shown = opened("pages/explore/overview.py", NOBODY, Access(), ValueReader())
    assert [button.label for button in shown.button if "ign" in button.label] == ["Sign in"]
    signed_in = opened("pages/explore/overview.py", claims("vera"), REQUIRED, ValueReader())
    assert [button.label for button in signed_in.button if "ign" in button.label] == ["Sign out"]


def test_several_identity_providers_have_a_button_each() -> None:
    keys = ("client_id", "client_secret", "server_metadata_url")
    auth = {**SECRETS["auth"], "google": dict.fromkeys(keys, "x"), "microsoft": dict.fromkeys(keys, "x")}
    answers.use(ValueReader())
    access.use(REQUIRED)
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.user, made.secrets = NOBODY, {"auth": {key: value for key, value in auth.items() if key not in keys}}
    made.run()
    assert [button.label for button in made.main.button] == ["Sign in with google", "Sign in with microsoft"]


def test_an_access_file_that_cannot_be_used_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.ACCESS_VARIABLE, str(tmp_path / "gone.yaml"))
    access._current.clear()
    reader = ValueReader()
    answers.use(reader)
    shown = AppTest.from_file(str(APP), default_timeout=60).run()
    assert not shown.exception
    assert "expected an access file" in words(shown)
    assert "gone" in words(shown)
    assert dict(reader.calls) == {"offered": 1}


QUESTION = Question.of(Reader.comparison, "sample", Subject(kind=SubjectKind.CHECKPOINT, name="orders"))
ASKED: dict[str, object] = {
    "question": QUESTION,
    "questions": (QUESTION,),
}
ANSWERS = [name for name in vars(answers.Answers) if not name.startswith("_") and name not in ("recorded", "end")]
"""What a page asks; `end` is the process's own, when it ends."""


def _asked(name: str) -> object:
    ask = getattr(answers.current(), name)
    return ask(**{parameter: ASKED[parameter] for parameter in inspect.signature(ask).parameters})


@with_cases("name", ANSWERS)
def test_the_answers_refuse_what_a_page_should_not_have_asked(name: str) -> None:
    access.use(REQUIRED)
    reader = ValueReader(live=RuntimeError("never asked"))
    answers.use(reader)
    with pytest.raises(AccessError, match="expected somebody with the role viewer, found nobody signed in"):
        _asked(name)
    assert dict(reader.calls) == {"offered": 1}


def states() -> None:
    """The states of a block beside loading and its answer. A script of its own: Streamlit runs its text."""
    from offsetwise.console.widgets import blocks  # noqa: PLC0415 - as above
    from offsetwise.errors import ClusterAuthError, ClusterUnreachableError  # noqa: PLC0415 - as above

    blocks.empty("Nothing was read yet.", "Read it.", "offsetwise compare")
    blocks.denied("You have no role here.", permission="the role viewer", next_step="Ask the operator.")
    blocks.failed(ClusterAuthError("Cluster 'new': Describe is refused.", fix="Grant Describe."), key="refused")
    gone = ClusterUnreachableError("Cluster 'old': no answer within 20 s.", fix="Start it.")
    blocks.failed(gone, key="gone", note="What was read at 2026-01-02 03:04:05 UTC is still shown below.", retry=print)
    blocks.failed(RuntimeError("password=canary"), key="ours")


def test_every_state_of_a_block_says_what_is_the_matter_and_what_to_do() -> None:
    page = AppTest.from_function(states).run()
    assert not page.exception
    said = words(page).replace("\\", "")
    assert "**Nothing was read yet.**" in said
    assert "**What is needed:** the role viewer.  \nAsk the operator." in said
    assert [error.value.partition("  \n")[0] for error in page.error] == [
        "**Not permitted**",
        "**The cluster does not answer**",
        "**This could not be read**",
    ]
    assert "Cluster 'new': Describe is refused." in said
    assert "**What to do:** Grant Describe." in said
    assert "Cluster 'old': no answer within 20 s." in said
    assert "What was read at 2026-01-02 03:04:05 UTC is still shown below." in said
    assert [button.label for button in page.button] == ["Retry"]
    assert "canary" not in said


ACCESS_FILE = """
sign_in: required
sign_in_hours: 8
groups_claim: roles
roles:
  viewer:
    - {issuer: https://login.example.org, anyone: true}
  author:
    - {issuer: https://login.example.org, group: migration-team}
  reviewer:
    - {issuer: https://login.example.org, subject: "00u1"}
"""


def test_an_access_file_says_who_may_what(tmp_path: Path) -> None:
    (tmp_path / "access.yaml").write_text(ACCESS_FILE, encoding="utf-8")
    rules = access.load_access(tmp_path / "access.yaml")
    assert rules.of(claims("x")) == {Role.VIEWER}
    assert rules.of(claims("00u1", roles="migration-team")) == {Role.VIEWER, Role.AUTHOR, Role.REVIEWER}
    assert rules.of({"iss": "https://other.example.org", "sub": "00u1"}) == set()


@with_cases(
    ("text", "said"),
    [
        ("sign_in: maybe", "sign_in cannot be used"),
        ("sign_inn: required", "unknown key 'sign_inn'"),
        ("sign_in: required\nsign_in: optional", "appears twice"),
        ("roles: {admin: []}", "unknown key 'admin'"),
        ("roles: {author: [{subject: x}]}", "issuer is missing"),
        ("roles: {author: [{issuer: x}]}", "expected one of subject, group and anyone"),
        ("roles: {author: [{issuer: x, subject: y, group: z}]}", "expected one of subject, group and anyone"),
        ("roles: {author: [{issuer: x, email: a@example.org}]}", "unknown key 'email'"),
        ("roles: {viewer: [{issuer: x, subject: y}]}", "everybody may look while sign_in is optional"),
        ("sign_in_hours: 0", "sign_in_hours cannot be used"),
        ("- a", "found a list"),
    ],
)
def test_a_mistake_in_an_access_file_is_named_with_its_remedy(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "access.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"access\.yaml") as caught:
        access.load_access(tmp_path / "access.yaml")
    assert said in caught.value.problem
    assert caught.value.fix


@with_cases(
    ("address", "rules", "can_sign_in", "said"),
    [
        ("0.0.0.0", Access(), True, "would listen on 0.0.0.0 and sign-in is not required"),
        ("10.1.2.3", Access(), False, "would listen on 10.1.2.3"),
        ("::", Access(), True, "would listen on ::"),
        ("console.example.org", Access(), True, "would listen on console.example.org"),
        ("", Access(), True, "would listen on"),
        ("0.0.0.0", REQUIRED, False, "no \\[auth\\] section"),
        ("127.0.0.1", REQUIRED, False, "no \\[auth\\] section"),
    ],
)
def test_a_console_open_to_everybody_is_not_started(address: str, rules: Access, can_sign_in: bool, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        access.check_address(address, rules, can_sign_in=can_sign_in)


@with_cases("address", ["127.0.0.1", "127.0.0.53", "::1", "localhost"])
def test_the_loopback_interface_needs_no_sign_in(address: str) -> None:
    access.check_address(address, Access(), can_sign_in=False)


@with_cases(
    ("change", "said"),
    [
        ({"cookie_secret": "short"}, "cookie_secret to have at least 32"),
        ({"redirect_uri": ""}, "some are missing"),
        ({"client_id": None}, "some are missing"),
    ],
)
def test_secrets_that_nobody_could_sign_in_with_are_refused(change: dict[str, Any], said: str) -> None:
    changed = {key: value for key, value in {**SECRETS["auth"], **change}.items() if value is not None}
    answers.use(ValueReader())
    access.use(REQUIRED)
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.user, made.secrets = NOBODY, {"auth": changed}
    made.run()
    assert not made.exception
    assert said.replace("_", "\\_") in "".join(error.value for error in made.error)


def test_the_settings_of_streamlit_give_nothing_away_and_let_no_stranger_in() -> None:
    shipped = {section: values for section, values in SETTINGS.items() if section != "theme"}
    assert shipped == {
        "browser": {"gatherUsageStats": False},
        "client": {"toolbarMode": "viewer", "showErrorDetails": "none", "showErrorLinks": False},
        "server": {
            "address": "127.0.0.1",
            "allowedHosts": ["127.0.0.1", "::1", "localhost"],
            "enableXsrfProtection": True,
            "enableCORS": True,
            "enableAgentApi": False,
            "maxUploadSize": 5,
        },
    }
    named = {f"{section}.{name}" for section, values in shipped.items() for name in values}
    assert named <= set(get_config_options()), "Streamlit passes over a name that it does not know"


@with_cases("theme", ["light", "dark"])
def test_the_themes_of_streamlit_are_those_of_the_charts_and_stand_out(theme: str) -> None:
    settings = SETTINGS["theme"][theme]
    pages = (settings["backgroundColor"], settings["secondaryBackgroundColor"])
    shown = {"light": LIGHT, "dark": DARK}[theme]
    assert (settings["backgroundColor"], settings["textColor"]) == (shown.page, shown.text)
    for name in (key for key in settings if key.endswith(("TextColor", "textColor", "linkColor"))):
        assert min(contrast(settings[name], page) for page in pages) >= 4.5, name
    for mark in (settings["primaryColor"], *settings["chartCategoricalColors"]):
        assert contrast(mark, settings["backgroundColor"]) >= 3, mark
    assert contrast("#FFFFFF", settings["primaryColor"]) >= 4.5, "white stands on the main button"


EVERY_PAGE = """
import json, re, sys
from streamlit.testing.v1 import AppTest
from offsetwise.console import board
from offsetwise.store.store import open_store

app, store, pages, links = json.loads(sys.argv[1])
board.use(*[lambda: open_store(store).reviews] * 2)
for page in pages:
    for link in links:
        opened = AppTest.from_file(app, default_timeout=120)
        opened.switch_page(page)
        opened.query_params.update(link)
        opened.run()
        assert not opened.exception, (page, link)
        assert opened.title and "Retry" not in [button.label for button in opened.button], (page, link)
writers = re.compile(r"offsetwise\\.(targets\\.[^.]+\\.writer|apply|verify|api|cli)(\\.|$)")
print(json.dumps([name for name in sys.modules if writers.match(name)]))
"""


def test_a_process_that_loaded_every_page_holds_nothing_that_writes(tmp_path: Path) -> None:
    links = [
        {"play": "author"},
        {"play": "reviewer", "migration": "order-counts-to-new (sample)", "of": "checkpoint order-counts"},
    ]
    asked = json.dumps([str(APP), f"sqlite:///{tmp_path / 'store.sqlite'}", PAGES, links])
    ran = subprocess.run(
        [sys.executable, "-c", EVERY_PAGE, asked],
        cwd=APP.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == []
