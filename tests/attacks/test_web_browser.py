"""What a real browser does with the console: whom its pages ask, who may show them, under which names they open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from tests.attacks.rows import Verdict, attack
from tests.attacks.web_servers import answering
from tests.browser.conftest import bundled, settle
from tests.gates import of_all
from tools.screenshots import CHROMIUM, pages

__all__ = ["bundled"]

POLICY = "Content Security Policy"


@attack(
    "E11",
    "every page is opened: the visitor's browser asks another host, such as Google for the page's icon",
    before=Verdict.WEAK,
    without="`page_icon` of `app.py`, `answer_headers`",
)
def test_a_visitors_browser_asks_the_console_only(browser: Browser, bundled: str) -> None:
    page = browser.new_page()
    asked: list[str] = []
    told: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(f"{POLICY}? {error}"))
    own = urlsplit(bundled).netloc
    opened = of_all(pages(), pages()[:4])  # test_content_browser.py opens all, and sees what they ask for
    for path in opened:
        page.goto(f"{bundled}/{path}")
        settle(page)
        icon = page.locator("link[rel~=icon]").first.get_attribute("href")
        assert icon is not None
        assert icon.startswith("data:image/svg+xml;base64,")
    page.close()

    assert len(asked) > len(opened)
    sent = [each for each in asked if urlsplit(each).scheme not in ("data", "blob")]
    assert [each for each in sent if urlsplit(each).netloc != own] == []
    assert [each for each in told if POLICY in each] == [], "and the pages need nothing that the policy refuses"


def test_what_a_page_would_ask_another_host_the_browser_refuses(browser: Browser, bundled: str) -> None:
    page = browser.new_page()
    page.goto(bundled)
    settle(page)
    with site() as (elsewhere, visits):
        refused = page.evaluate(
            """async address => {
                const image = await new Promise(done => {
                    const made = new Image(); made.onload = () => done('loaded'); made.onerror = () => done('refused');
                    made.src = address + '/image' });
                const fetched = fetch(address + '/fetch', {mode: 'no-cors'}).then(() => 'loaded', () => 'refused');
                return [image, await fetched] }""",
            elsewhere,
        )
    page.close()
    assert (refused, visits) == (["refused"] * 2, [])


def test_no_site_shows_the_console_in_a_frame(browser: Browser, bundled: str) -> None:
    page = browser.new_page()
    with site(f'<iframe src="{bundled}/compare"></iframe>') as (elsewhere, _):
        page.goto(elsewhere)
        page.wait_for_load_state("networkidle")
        framed = [each.url for each in page.frames if each != page.main_frame]
    page.close()
    assert framed == ["chrome-error://chromewebdata/"]


def test_a_name_that_leads_here_opens_nothing_and_reads_nothing(browser: Browser, bundled: str) -> None:
    port = urlsplit(bundled).port
    path, arguments = CHROMIUM
    rebound = browser.browser_type.launch(
        executable_path=path, args=[*arguments, "--host-resolver-rules=MAP evil.example 127.0.0.1"]
    )
    page = rebound.new_page()
    with site() as (elsewhere, _):
        answer = page.goto(f"http://evil.example:{port}/")
        assert answer is not None
        assert answer.status == 403
        page.goto(f"http://evil.example:{urlsplit(elsewhere).port}/")
        opened = page.evaluate(
            """port => new Promise(done => {
                const socket = new WebSocket(`ws://evil.example:${port}/_stcore/stream`, ['streamlit']);
                socket.onopen = () => done('open'); socket.onerror = () => done('refused') })""",
            port,
        )
    rebound.close()
    assert opened == "refused"


@contextmanager
def site(body: str = "") -> Iterator[tuple[str, list[str]]]:
    """Serve somebody else's page; give its address, and what it was asked for."""
    visits: list[str] = []

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            visits.append(self.path)
            content = f"<!doctype html><title>x</title>{body}".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Do nothing."""

    with answering(Site) as address:
        yield address, visits
