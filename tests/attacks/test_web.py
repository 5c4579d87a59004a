"""What strangers, websites and people without a role try on the console's server, by a client made by hand."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus

from offsetwise.console.server.access import Access, check_address
from offsetwise.errors import ConfigError
from offsetwise.watch.metrics import LagMetrics
from offsetwise.watch.metrics import served as metrics_served
from tests.attacks.hand_made import WAIT_S, XSRF, Jar, ask, consent, session, sign_in_address, visitor
from tests.attacks.rows import Verdict, attack
from tests.attacks.web_servers import PUBLIC, Guarded, Served, anonymous, decided, guarded, public
from tests.browser.conftest import CLI, ROOT
from tests.with_cases import with_cases
from tools.screenshots import pages

__all__ = ["anonymous", "guarded", "public"]

pytestmark = pytest.mark.proof

FOREIGN = ("http://evil.example", "https://evil.example:443", "null", "file://", "http://127.0.0.1.evil.example")
LOCKED = "This console is for people who sign in."
DATA = {"dataframe", "table", "plotly_chart", "metric", "imgs", "code", "download_button"}
"""What pages show data with."""
INPUTS = {"selectbox", "checkbox", "text_area", "text_input", "file_uploader", "multiselect", "radio", "number_input"}
PARTS = ("", "play=author", "play=reviewer")


def refuses(address: str, **how: object) -> bool:
    """Return whether the server refuses a websocket before there is one."""
    try:
        with session(address, **how):  # type: ignore[arg-type] # of the test's own making
            return False
    except InvalidStatus as refused:
        return refused.response.status_code == 403


def locked(address: str, jar: Jar | None = None, path: str = "compare", **how: object) -> bool:
    """Return whether a session is shown a locked page without data."""
    with session(address, jar, **how) as page:  # type: ignore[arg-type] # of the test's own making
        page.run(path)
        return LOCKED in page.words and not page.kinds & DATA


@attack(
    "D1",
    "a website that has its own name lead to 127.0.0.1 (DNS rebinding) asks for pages, files and a session",
    before=Verdict.BROKEN,
    without="`Gatekeeper`",
)
class TestRebinding:
    @with_cases(
        "host",
        ["evil.example:{port}", "evil.example", "127.0.0.1.evil.example:{port}", "localhost.:{port}", "0.0.0.0:{port}",
         "[::ffff:127.0.0.1]:{port}", "user@127.0.0.1:{port}", "127.0.0.1:{port}|evil.example", "", PUBLIC],
    )  # fmt: skip
    def test_another_name_gets_nothing(self, anonymous: Served, host: str) -> None:
        host = host.replace("{port}", str(urlsplit(anonymous.address).port))
        for path in ("/", "/compare", "/_stcore/health", "/_stcore/host-config", "/media/x", "/static/js/x.js"):
            answer = ask(anonymous.address, path, host=host)
            assert answer.status in (400, 403), (path, host)
            assert b"<title>" not in answer.body
        if host and "|" not in host and "@" not in host:
            assert refuses(anonymous.address, jar=Jar(), host=host, origin=f"http://{host}")

    def test_its_own_names_get_a_page_through_a_tunnel_too(self, anonymous: Served) -> None:
        port = urlsplit(anonymous.address).port
        for host in (f"127.0.0.1:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "localhost:9000"):
            assert ask(anonymous.address, "/", host=host).status == 200
        with session(anonymous.address, host=f"localhost:{port}", origin=f"http://localhost:{port}") as page:
            page.run()
            assert page.kinds & DATA

    def test_behind_tls_it_has_the_name_that_people_sign_in_at(self, public: Served) -> None:
        assert ask(public.address, "/", host=PUBLIC).status == 200
        assert ask(public.address, "/", host="evil.example").status == 403
        own = f"https://{PUBLIC}"
        assert not refuses(public.address, host=PUBLIC, origin=own)
        for origin in (None, f"http://{PUBLIC}", f"{own}:8443", f"{own}.evil.example", "https://evil.example", "null"):
            assert refuses(public.address, host=PUBLIC, origin=origin)


@attack(
    "D2",
    "a message lets Streamlit write files for coding agents into the checkout; the operator has a display and an agent",
    before=Verdict.BROKEN,
    without="`Gatekeeper` and `server.headless`",
)
def test_no_message_writes_into_the_checkout(anonymous: Served) -> None:
    with session(anonymous.address) as page:
        page.run()
        message = BackMsg()
        message.backend_operation_request.request_id = "1"
        message.backend_operation_request.session_id = page.session
        for payload in ("install_skills", "dismiss_skills_nudge"):
            getattr(message.backend_operation_request, payload).SetInParent()
            page.send(message)
        answers = [each.WhichOneof("type") for each in page.beat()]
        time.sleep(1)
        answers += [each.WhichOneof("type") for each in page.beat()]

    assert "backend_operation_response" not in answers
    assert "was refused: backend_operation_request, install_skills" in anonymous.said()
    assert not (ROOT / ".agents").exists()


@attack(
    "D3",
    "pages of foreign, null and look-alike origins, or of none, connect and ask",
    before=Verdict.HELD,
    without="the check of Origin in `Gatekeeper._misled`, and `server.enableCORS`",
)
@with_cases("origin", [*FOREIGN, None])
def test_a_foreign_page_gets_no_session(anonymous: Served, origin: str | None) -> None:
    assert refuses(anonymous.address, origin=origin)
    if origin is not None:
        for path in ("/", "/_stcore/health", "/media/x"):
            answer = ask(anonymous.address, path, headers=[("Origin", origin)])
            assert answer.status == 403
            assert answer.one("access-control-allow-origin") == ""


@attack(
    "D4",
    "a page of another port of this machine connects, with the cookies of somebody who is signed in",
    before=Verdict.HELD,
    without="the check of Origin in `Gatekeeper._misled`, and `server.enableCORS`",
)
def test_a_page_of_another_port_gets_no_session_of_anybody(guarded: Guarded, anonymous: Served) -> None:
    vera = guarded.sign_in("vera")
    for origin in (anonymous.address, "http://localhost:1", "http://127.0.0.1"):
        assert refuses(guarded.address, jar=vera, origin=origin)


@attack(
    "D5",
    "the folder's `.streamlit/config.toml` and the environment open the server; `--address` that looks like loopback",
    before=Verdict.HELD,
    without="the settings that `launch` hands to the server; `check_address`",
)
class TestSettings:
    def test_of_the_folder_and_the_environment_weaken_nothing(self, public: Served) -> None:
        visited = visitor(public.address, host=PUBLIC)
        assert XSRF in visited.cookies, "the token is asked for, whatever folder and environment say"
        assert refuses(public.address, host="evil.example", origin="http://evil.example")
        assert ask(public.address, "/_stcore/agent/openapi.json").status == 404
        assert b"<title>" in ask(public.address, "/", host=PUBLIC).body, "not in the mode for developers"
        own = ask(public.address, "/_stcore/health", host=PUBLIC, headers=[("Origin", f"https://{PUBLIC}")])
        assert (own.status, own.one("access-control-allow-origin")) == (200, "")
        answer = ask(public.address, "/_stcore/health", headers=[("Origin", "http://evil.example")])
        assert (answer.status, answer.one("access-control-allow-origin")) == (403, "")
        with session(
            public.address, visited, origin=f"https://{PUBLIC}", host=PUBLIC, headers={"X-User": "vera"}
        ) as page:
            page.run()
            assert LOCKED in page.words

    def test_no_address_is_open_to_others_without_sign_in(self, tmp_path: Path) -> None:
        for address in ("0.0.0.0", "0", "::", "127.1", "localhost.evil.example", "127.0.0.1.nip.io", ""):
            with pytest.raises(ConfigError, match="sign-in is not required"):
                check_address(address, Access(), can_sign_in=True)

        command = [sys.executable, "-c", CLI, "console", "--address", "0.0.0.0"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=WAIT_S, check=False)
        assert ran.returncode == 1
        assert "sign-in is not required" in " ".join(ran.stderr.split())
        assert "sign_in: required" in " ".join(ran.stderr.split())


@attack(
    "D6",
    "a session as somebody: cookie without or with another XSRF token, forged, under another name, headers with a name",
    before=Verdict.HELD,
    without="`validate_xsrf_token`, the signature in `decode_signed_value`",
)
class TestIdentity:
    def test_a_cookie_is_good_with_its_token_only(self, guarded: Guarded) -> None:
        vera = guarded.sign_in("vera")
        assert not locked(guarded.address, vera), "as a browser sends it"
        assert locked(guarded.address, vera, xsrf="none")
        assert locked(guarded.address, vera, xsrf=visitor(guarded.address).cookies[XSRF])
        assert refuses(guarded.address, jar=vera, origin=None)

    def test_a_forged_cookie_is_nobody(self, guarded: Guarded) -> None:
        vera = guarded.sign_in("vera").cookies
        good = vera["_streamlit_user"]
        forged = (
            {"_streamlit_user": f"{good[:20]}{'A' if good[20] != 'A' else 'B'}{good[21:]}"},
            {"_streamlit_user": f"{good[:-3]}{'A' if good[-3] != 'A' else 'B'}{good[-2:]}"},
            {"_streamlit_user": vera["_streamlit_user_tokens"]},
            {"_streamlit_user_tokens": vera["_streamlit_user"]},
            {"streamlit_user": vera["_streamlit_user"], "_streamlit_user_1": vera["_streamlit_user"]},
            {"_streamlit_user": "eyJpc3MiOiJ4In0"},
        )
        for cookies in forged:
            assert locked(guarded.address, Jar({XSRF: vera[XSRF], **cookies})), cookies

    def test_a_header_names_nobody(self, guarded: Guarded) -> None:
        names = ("X-User", "X-Forwarded-User", "X-Forwarded-Email", "X-Remote-User", "X-Streamlit-User", "Remote-User")
        assert locked(guarded.address, headers=dict.fromkeys(names, "vera"))


@attack(
    "D7",
    "another browser asks for somebody's session by its id, without their cookies",
    before=Verdict.HELD,
    without="`AppSession.matches_user_info`",
)
def test_a_session_is_nobodys_without_the_cookies(guarded: Guarded) -> None:
    with session(guarded.address, guarded.sign_in("vera")) as page:
        page.run("compare")
        assert page.kinds & DATA
        theirs = page.session
        assert locked(guarded.address, resume=theirs)
    assert locked(guarded.address, resume=theirs), "and when they have left"


@attack(
    "D8",
    "sign-in: state, nonce, PKCE; a callback replayed, brought to another browser; a provider and a way back made up",
    before=Verdict.HELD,
    without="`_get_provider_by_state` of Streamlit",
)
class TestSignIn:
    def test_the_provider_is_asked_with_state_nonce_and_pkce(self, guarded: Guarded) -> None:
        there = ask(guarded.address, sign_in_address(guarded.cookie_secret)).one("location")
        told = parse_qs(urlsplit(there).query)
        assert {"state", "nonce", "code_challenge"} <= set(told)
        assert told["code_challenge_method"] == ["S256"]
        assert told["redirect_uri"] == [f"{guarded.address}/oauth2callback"]

    def test_a_callback_is_good_once_and_in_one_browser(self, guarded: Guarded) -> None:
        victim, attacker = visitor(guarded.address), visitor(guarded.address)
        back = consent(guarded.address, guarded.cookie_secret, "vera", attacker)
        assert ask(guarded.address, back, headers=[victim.header]).all("set-cookie") == []
        first = ask(guarded.address, back, headers=[attacker.header])
        assert [each for each in first.all("set-cookie") if each.startswith("_streamlit_user=")]
        attacker.take(first)
        again = ask(guarded.address, back, headers=[attacker.header])
        assert not [
            each for each in again.all("set-cookie") if each.startswith("_streamlit_user=") and "Max-Age=0" not in each
        ]

    def test_nobody_is_sent_elsewhere(self, guarded: Guarded) -> None:
        made_up = sign_in_address("0" * 64)
        ways = (made_up, made_up + "x", "/auth/login?provider=default", "/auth/login?provider=https://evil.example",
                "/auth/login?next=//evil.example", "/oauth2callback?state=x&code=y&redirect_uri=//evil.example",
                "/auth/logout?post_logout_redirect_uri=//evil.example")  # fmt: skip
        for way in ways:
            answer = ask(guarded.address, way)
            assert (answer.status, answer.one("location")) == (302, "/"), way


@attack(
    "D9",
    "viewer, author, robot, stranger and the author in other spellings press Approve with the id of a reviewer's page",
    before=Verdict.HELD,
    without="`why_not` for Approve",
)
def test_a_press_on_approve_counts_for_a_reviewer_only(guarded: Guarded) -> None:
    with session(guarded.address, guarded.sign_in("rita")) as rita:
        rita.run("review", f"plan={guarded.plan}")
        (approve,) = (each.button.id for each in rita.elements if each.button.id.endswith(f"approve-{guarded.plan}"))
        reasons = {each.text_input.id: "Agreed with the team." for each in rita.elements if each.HasField("text_input")}
        for who in (None, "vera", "aron", "ARON", "aron\u200b", "robot", "stranger"):
            jar = visitor(guarded.address) if who is None else guarded.sign_in(quote(who))
            with session(guarded.address, jar) as page:
                page.run("review", f"plan={guarded.plan}")
                page.run("review", f"plan={guarded.plan}", press=approve, typed=reasons)
            assert decided(guarded) == 0, who
        rita.run("review", f"plan={guarded.plan}", press=approve, typed=reasons)
    assert decided(guarded) == 1, "the reviewer's own press counts"


@attack(
    "D10",
    "every page, by nobody and by somebody without a role, plain and with a part of the demonstration",
    before=Verdict.HELD,
    without="`guard.is_closed`",
)
def test_whoever_has_no_role_is_sent_no_data(guarded: Guarded) -> None:
    for jar in (visitor(guarded.address), guarded.sign_in("stranger")):
        for path in pages():
            for part in PARTS:
                with session(guarded.address, jar) as page:
                    page.run(path, part)
                    shown = (path, part, page.kinds)
                    assert not page.kinds & (DATA - {"code"}), shown
                    assert not page.kinds & INPUTS, shown
                    assert {each.button.label for each in page.elements if each.HasField("button")} <= {
                        "Sign in",
                        "Sign out",
                    }
                    assert "payments" not in page.words


@attack(
    "D12",
    "files are uploaded by nobody, by somebody without a role, without end, and left there",
    before=Verdict.WEAK,
    without="`Gatekeeper`",
)
class TestUploads:
    def test_only_a_session_that_a_page_offers_it_to_uploads(self, guarded: Guarded) -> None:
        for jar in (visitor(guarded.address), guarded.sign_in("stranger"), guarded.sign_in("vera")):
            with session(guarded.address, jar) as page:
                page.run("export", f"plan={guarded.plan}")
                assert [upload(guarded, jar, page.session, f"f{each}") for each in range(3)] == [403] * 3
                guarded.holds("files", lambda files: files == 0)

    def test_it_holds_few_files_and_none_when_it_has_left(self, guarded: Guarded) -> None:
        jar = guarded.sign_in("aron")
        with session(guarded.address, jar) as page:
            page.run("export", f"plan={guarded.plan}")
            assert "file_uploader" in page.kinds
            assert [upload(guarded, jar, page.session, f"f{each}") for each in range(6)] == [204] * 4 + [403] * 2
            guarded.holds("files", lambda files: files == 4)
            assert upload(guarded, jar, page.session, "f0", method="DELETE") == 204
            assert upload(guarded, jar, page.session, "g") == 204
            assert upload(guarded, visitor(guarded.address), page.session, "f1") == 403, "of another browser"
        guarded.holds("files", lambda files: files == 0)


def upload(
    served: Served, jar: Jar, session: str, file: str, *, method: str = "PUT", token: bool = True, size: int = 100_000
) -> int:
    """Upload a file of zeros; give the status."""
    boundary = "b0undary"
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.json"\r\n'
        "Content-Type: application/json\r\n\r\n"
    ).encode() + b"0" * size
    headers = [jar.header, ("Content-Type", f"multipart/form-data; boundary={boundary}")]
    headers += [("X-Xsrftoken", jar.cookies[XSRF])] if token else []
    path = f"/_stcore/upload_file/{session}/{file}"
    body += f"\r\n--{boundary}--\r\n".encode()
    return ask(served.address, path, method=method, headers=headers, body=body if method == "PUT" else b"").status


@attack(
    "D13",
    "nobody signed in sends `clear_cache`, which empties everybody's caches",
    before=Verdict.WEAK,
    without="`Gatekeeper`",
)
def test_nobody_clears_the_caches(guarded: Guarded) -> None:
    before = guarded.holds("cleared", lambda _: True)
    for jar in (visitor(guarded.address), guarded.sign_in("rita")):
        with session(guarded.address, jar) as page:
            page.run()
            page.send(BackMsg(clear_cache=True))
            page.beat()
    time.sleep(1)
    assert guarded.holds("cleared", lambda _: True) == before
    assert guarded.said().count("was refused: clear_cache") == 2


@attack(
    "D14",
    "messages that shut down, disconnect and ask for Git; garbage, text frames, a frame of 60 MB",
    before=Verdict.HELD,
    without="`MESSAGES`, and Streamlit's mode for tests on",
)
def test_no_message_ends_the_server(anonymous: Served) -> None:
    with session(anonymous.address) as page:
        page.run()
        for name in ("debug_shutdown_runtime", "debug_disconnect_websocket", "load_git_info", "set_run_on_save"):
            message = BackMsg()
            setattr(message, name, True)
            page.send(message)
        assert "git_info_changed" not in {each.WhichOneof("type") for each in page.beat()}
    for content in (b"\xff" * 1_000, "text", b"\x00" * 60_000_000):
        with suppress(ConnectionClosed), session(anonymous.address) as page:
            page.socket.send(content)
            page.socket.recv(timeout=WAIT_S)
    assert ask(anonymous.address, "/_stcore/health").body == b"ok"


@attack(
    "D15",
    "a copy of somebody's cookie is used after they signed out; cookies behind TLS go over plain HTTP",
    before=Verdict.WEAK,
    without="`identity.sign_out`, `_secure`",
    left="a copy is good until it expires where nobody signs out, or the console is started again",
)
class TestCookies:
    def test_a_copy_is_nobody_once_the_person_has_signed_out(self, guarded: Guarded) -> None:
        vera = guarded.sign_in("vera")
        elsewhere = guarded.sign_in("vera")
        copy = vera.copy()
        with session(guarded.address, copy) as page:
            page.run("compare")
            assert page.kinds & DATA
            assert ask(guarded.address, "/auth/logout", headers=[vera.header]).status == 302
            page.run("compare")
            assert not page.kinds & DATA, "a session that is open already"
        assert locked(guarded.address, copy)
        assert not locked(guarded.address, elsewhere), "another sign-in of the same person stays"
        assert not locked(guarded.address, guarded.sign_in("vera"))

    def test_behind_tls_a_cookie_is_for_tls_only(self, public: Served, guarded: Guarded) -> None:
        set_there = ask(public.address, "/_stcore/health", host=PUBLIC).all("set-cookie")
        set_there += ask(public.address, "/auth/logout", host=PUBLIC).all("set-cookie")
        assert len(set_there) >= 3
        assert all(each.endswith("; Secure") for each in set_there)
        assert not [each for each in ask(guarded.address, "/_stcore/health").all("set-cookie") if "Secure" in each]


@attack(
    "D16",
    "metrics and other inner addresses are asked for without signing in, and those of `watch` under any name",
    before=Verdict.WEAK,
    without="`Gatekeeper`; `_by_own_name` of `watch`",
)
class TestMetrics:
    def test_of_the_server_are_nobodys(self, anonymous: Served, guarded: Guarded) -> None:
        for server in (anonymous, guarded):
            for path in ("metrics", "script-health-check", "agent/openapi.json", "agent/interact", "bidi-components/x"):
                assert ask(server.address, f"/_stcore/{path}").status == 404
            assert ask(server.address, "/_stcore/health").body == b"ok", "it says this to everybody"

    def test_of_watch_are_given_under_loopback_names_only(self) -> None:
        with metrics_served(LagMetrics(), 0) as port:
            address = f"http://127.0.0.1:{port}"
            for host in (f"127.0.0.1:{port}", f"localhost:{port}", "LOCALHOST", f"[::1]:{port}"):
                assert ask(address, "/metrics", host=host).status == 200
            for host in (f"evil.example:{port}", "evil.example", "127.0.0.1.evil.example", "", f"0.0.0.0:{port}"):
                answer = ask(address, "/metrics", host=host)
                assert answer.status == 403
                assert b"offsetwise_" not in answer.body


@attack(
    "D17",
    "any site shows the console in a frame of its own; what the browser is told about scripts, types and frames",
    before=Verdict.WEAK,
    without="`answer_headers`",
)
def test_every_answer_tells_the_browser_what_to_refuse(anonymous: Served, guarded: Guarded) -> None:
    page = ask(anonymous.address, "/compare")
    script = re.search(rb'src="\./(static/js/[^"]+)"', page.body)
    assert script is not None
    paths = (
        "/",
        "/compare",
        f"/{script[1].decode()}",
        "/favicon.png",
        "/_stcore/health",
        "/_stcore/metrics",
        "/media/x",
    )
    for answer in [*(ask(anonymous.address, path) for path in paths), ask(guarded.address, "/oauth2callback"),
                   ask(anonymous.address, "/", host="evil.example")]:  # fmt: skip
        policy = answer.one("content-security-policy")
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'none'" in policy
        assert "unsafe-eval" not in policy
        assert "script-src 'self' blob: 'sha256-" in policy
        assert "evil" not in policy
        assert answer.one("x-frame-options") == "DENY"
        assert answer.one("x-content-type-options") == "nosniff"
        assert answer.one("referrer-policy") == "same-origin"
        assert answer.one("cross-origin-opener-policy") == "same-origin"
        assert answer.one("cross-origin-resource-policy") == "same-origin"


@attack(
    "D18",
    "the address of a download, taken from a log, is opened without signing in",
    before=Verdict.WEAK,
    without="`Gatekeeper`",
)
def test_a_download_is_for_people_with_a_role(guarded: Guarded) -> None:
    vera = guarded.sign_in("vera")
    with session(guarded.address, vera) as page:
        page.run("export", f"plan={guarded.plan}")
        offered = [each.download_button for each in page.elements if each.HasField("download_button")]
        url = next(each.url for each in offered if each.url)
        assert ask(guarded.address, url, headers=[vera.header]).status == 200
        for jar in (Jar(), visitor(guarded.address), guarded.sign_in("stranger")):
            assert ask(guarded.address, url, headers=[jar.header]).status == 403
            assert ask(guarded.address, url, method="HEAD", headers=[jar.header]).status == 403
        assert ask(guarded.address, "/auth/logout", headers=[vera.header]).status == 302
        assert ask(guarded.address, url, headers=[vera.header]).status == 403, "signed out"


@attack(
    "D19",
    "uploads without the XSRF token, to a session that is not there, of 8 MB",
    before=Verdict.HELD,
    without="`validate_xsrf_token`",
)
def test_an_upload_needs_a_token_a_session_and_a_size(guarded: Guarded) -> None:
    jar = guarded.sign_in("aron")
    with session(guarded.address, jar) as page:
        page.run("export", f"plan={guarded.plan}")
        assert upload(guarded, jar, page.session, "a", token=False) == 403
        assert upload(guarded, jar, "00000000-0000-4000-8000-000000000000", "a") == 403
        with suppress(ConnectionError, http.client.HTTPException):
            assert upload(guarded, jar, page.session, "a", size=8_000_000) == 413
        guarded.holds("files", lambda files: files == 0)
        assert upload(guarded, jar, page.session, "a") == 204


HOSTILE_LINKS = (
    "of=checkpoint ../../etc", "of=checkpoint /etc/passwd", "raw=../../../../etc/passwd", "raw=/etc/passwd",
    "plan=-1", "plan=1 OR 1=1", "plan=99999999999999999999", "plan=%00", "migration=%00", "migration=../../x",
    "checkpoint=../../../etc/passwd", "about=../../../etc/passwd", "code=../../CHANGELOG", "folder=/etc",
    "batch=../../x", "topic=%2e%2e%2f", "row=orders-0%27%3B--", "order=;drop table review_plan",
)  # fmt: skip


@attack(
    "B7",
    "links into the console with paths, SQL, NUL: `of=checkpoint ../../etc`, `raw=…/etc/passwd`, `plan=1 OR 1=1`",
    before=Verdict.HELD,
    without="the list of findings that a `code` is looked up in (`help/screen.py`)",
)
def test_a_link_names_nothing_that_the_console_does_not_offer(anonymous: Served) -> None:
    query = "&".join(quote(each, safe="=&%") for each in HOSTILE_LINKS)
    with session(anonymous.address) as page:
        for path in pages():
            for told in (query, *(quote(each, safe="=%") for each in HOSTILE_LINKS[::3])):
                page.run(path, told)
                assert "exception" not in page.kinds
                assert "root:" not in page.words
                assert "Keep a Changelog" not in page.words
                assert "could not be read" not in page.words, (path, told)


@attack(
    "B8",
    "addresses that lead out of the served folders: `/component/../../etc/passwd`, `//evil.example/%2f..`, `/media/x`",
    before=Verdict.HELD,
    without="`is_unsafe_path_pattern`, `StaticFiles.lookup_path`",
)
def test_no_address_leads_out_of_what_is_served(anonymous: Served) -> None:
    out = ("..", "%2e%2e", "..%2f", "%2e%2e%2f", "....//", "..\\", "%5c..%5c", "..%00")
    below = ("/component/", "/component/x/", "/static/", "/media/", "/app/static/", "/_stcore/bidi-components/x/", "/")
    paths = [f"{start}{'/'.join([step] * 14)}/etc/passwd" for start in below for step in out]
    paths += ["//evil.example/%2f..", "//evil.example", "/\\evil.example", "/%2f%2fevil.example/", "/media/x"]
    paths += [
        "/component//etc/passwd",
        "/static//etc/passwd",
        "/_stcore/agent/mcp",
        "/app/static/x",
        "/_stcore/upload_file/a/b",
    ]
    for path in paths:
        answer = ask(anonymous.address, path)
        assert b"root:" not in answer.body, path
        assert "evil.example" not in answer.one("location"), path
        assert answer.status in (200, 400, 403, 404, 405, 307), path
        if answer.status == 200:
            assert b"<title>Streamlit</title>" in answer.body, path


@attack(
    "C9",
    "a stranger's address holds escapes for the terminal that the log is read in: `/oauth2callback?error=ESC]0;…`",
    before=Verdict.WEAK,
    without="`log_lines.escape`",
)
def test_no_control_character_reaches_the_log(guarded: Guarded) -> None:
    for control in (
        "\x1b]0;owned\x07",
        "\x1b[2J",
        "\u009b31m",
        "\x08\x08",
        "\u202eevil",
        "\n2026 forged line\u2028",
        "\r",
    ):
        told = quote(f"marked{control}")
        for path in (
            f"/oauth2callback?error={told}&error_description={told}",
            f"/auth/login?provider={told}",
            f"/{told}",
        ):
            ask(guarded.address, path)
    said = guarded.said()
    assert said.count("Error during authentication: marked") == 7
    assert not re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", said)
    assert "\n2026 forged" not in said


def test_nothing_asks_another_host_for_the_address_of_this_machine(anonymous: Served, public: Served) -> None:
    for origin in FOREIGN:
        assert refuses(anonymous.address, origin=origin)
        assert refuses(public.address, host=PUBLIC, origin=origin)
    assert [*anonymous.outside, *public.outside] == []
