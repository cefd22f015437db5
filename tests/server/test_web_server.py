"""The server of the page, as 'localcdap browser' runs it: real studios, real connections."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from localcdap.home import find_shipped_data
from localcdap.server.web_server import MOST_TABS
from tests.server.chromium import PROGRAM, Chromium

TABS = [f"{number:032x}" for number in range(MOST_TABS + 1)]
_SEQUENCES = re.compile(rb"\x1b\[[0-9;?:<=>]*[ -/]*[@-~]|\x1b[()][A-Z0-9]")
_LINK = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")


class Browser:
    """The program, and a client that has followed its link."""

    def __init__(self, link: str, program: subprocess.Popen[str]) -> None:
        self.link = link
        self.address = link.partition("/?")[0]
        self.program = program

    def list_studios(self) -> list[int]:
        children = psutil.Process(self.program.pid).children()
        return [each.pid for each in children if "studio" in each.cmdline()]

    def read_next_link(self) -> str:
        line = ""
        while not (found := _LINK.search(line)):
            line = self.program.stderr.readline()
            assert line, "the program has ended"
        return found[0]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, fresh_home: Callable[[Path], Path]) -> Path:
    return fresh_home(tmp_path_factory.mktemp("browser") / "home")


@pytest.fixture
def browser(home: Path) -> Iterator[Browser]:
    program = subprocess.Popen(
        [
            *(sys.executable, "-m", "localcdap.cli", "browser"),
            *("--no-open", "--json", "--home", str(home)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    link = ""
    while "}" not in link:
        line = program.stdout.readline()
        assert line, program.stderr.read()
        link += line
    try:
        yield Browser(json.loads(link)["url"], program)
    finally:
        program.send_signal(signal.SIGINT)
        program.wait(60)


@pytest.fixture
async def client(browser: Browser) -> AsyncIterator[aiohttp.ClientSession]:
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(browser.address, cookie_jar=jar) as client:
        async with client.get(browser.link.removeprefix(browser.address)) as answer:
            assert answer.status == 200
            assert "SameSite=Strict" in answer.headers["Set-Cookie"]
            assert "HttpOnly" in answer.headers["Set-Cookie"]
        yield client


def connect(browser: Browser, client: aiohttp.ClientSession, tab: str, **headers: str) -> Any:
    headers = {"Origin": browser.address} | headers
    return client.ws_connect(f"/ws/{tab}?width=100&height=30", headers=headers)


async def read_until(channel: aiohttp.ClientWebSocketResponse, text: bytes) -> bytes:
    """Return what is drawn until a text is there."""
    drawn = b""
    while text not in drawn:
        message = await channel.receive(timeout=60)
        assert message.type is aiohttp.WSMsgType.BINARY, (message, drawn)
        drawn += _SEQUENCES.sub(b"", message.data)
    return drawn


async def test_nobody_gets_in_without_the_cookie(browser: Browser):
    async with aiohttp.ClientSession(browser.address) as client:
        for path in ("/", "/?token=x", "/static/js/textual.js", f"/ws/{TABS[0]}", "/nothing"):
            async with client.get(path) as answer:
                assert answer.status == 403
    assert browser.list_studios() == []


async def test_other_pages_cannot_connect(browser: Browser, client: aiohttp.ClientSession):
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
    ):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await connect(browser, client, TABS[0], **headers)
        assert refused.value.status == 403
    async with client.get("/ws/" + TABS[0]) as answer:  # without Origin
        assert answer.status == 403
    async with client.get("/", headers={"Host": "evil.example"}) as answer:
        assert answer.status == 403
    async with client.get("/static/../access.py") as answer:
        assert answer.status == 404
    assert browser.list_studios() == []


async def test_the_page_loads_nothing_from_elsewhere(
    browser: Browser, client: aiohttp.ClientSession
):
    async with client.get("/?fontsize=<b>") as answer:
        page, policy = await answer.text(), answer.headers["Content-Security-Policy"]
    assert "<b>" not in page
    assert "https:" not in page
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    for file in re.findall(r'(?:src|href)="(/[^"]+)"', page):
        async with client.get(file) as answer:
            assert answer.status == 200


async def test_a_link_works_once_and_another_one_is_printed(
    browser: Browser, client: aiohttp.ClientSession
):
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as other:
        async with other.get(browser.link) as answer:
            assert answer.status == 403
            assert "was used" in await answer.text()
        async with other.get(browser.read_next_link()) as answer:
            assert answer.status == 200


async def test_a_reloaded_page_continues_where_it_was(
    browser: Browser, client: aiohttp.ClientSession
):
    async with connect(browser, client, TABS[0]) as channel:
        await read_until(channel, b"New pipeline")
        await channel.send_json(["stdin", "5"])
        await read_until(channel, b"where")
        for nonsense in ("", "7", "[]", '["stdin"]', '["resize", {"width": -1}]', "[[[["):
            await channel.send_str(nonsense)
    (studio,) = browser.list_studios()

    async with connect(browser, client, TABS[0]) as channel:
        drawn = await read_until(channel, b"where")
        assert b"New pipeline" not in drawn
        async with connect(browser, client, TABS[0]) as other:  # the tab was duplicated
            await read_until(other, b"where")
            while (message := await channel.receive(timeout=60)).type is aiohttp.WSMsgType.BINARY:
                pass
            assert message.type is aiohttp.WSMsgType.CLOSE
    assert browser.list_studios() == [studio]


async def test_a_studio_that_is_left_closes_its_page(
    browser: Browser, client: aiohttp.ClientSession
):
    async with connect(browser, client, TABS[0]) as channel:
        await read_until(channel, b"New pipeline")
        await channel.send_json(["stdin", "\x11"])
        while (message := await channel.receive(timeout=60)).type is aiohttp.WSMsgType.BINARY:
            pass
        assert message.type is aiohttp.WSMsgType.CLOSE
    assert browser.list_studios() == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_studios_end_with_the_server(
    browser: Browser, client: aiohttp.ClientSession, number: int
):
    async with connect(browser, client, TABS[0]) as channel:
        await read_until(channel, b"New pipeline")
        (studio,) = browser.list_studios()
        process = psutil.Process(studio)
        os.kill(browser.program.pid, number)
        browser.program.wait(60)
        await asyncio.to_thread(process.wait, 60)


@pytest.mark.slow
async def test_there_are_not_too_many_studios(browser: Browser, client: aiohttp.ClientSession):
    channels = [await connect(browser, client, tab) for tab in TABS]
    for channel in channels[:MOST_TABS]:
        await read_until(channel, b"New pipeline")
    await read_until(channels[-1], b"Close one of them")
    assert len(browser.list_studios()) == MOST_TABS


@pytest.mark.systems
@pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium on this machine")
async def test_the_page_works_in_a_browser(browser: Browser, tmp_path: Path):
    async with Chromium(tmp_path / "profile") as chromium:
        await chromium.call("Page.navigate", url=browser.link)
        classes = "document.body && document.body.classList"
        await chromium.wait_for(f"{classes}.contains('-first-byte')")
        assert await chromium.evaluate("location.href") == browser.address + "/"
        assert await chromium.evaluate("document.cookie") == ""
        await chromium.wait_for("document.activeElement.className == 'xterm-helper-textarea'")
        studios = browser.list_studios()
        await chromium.evaluate("window.isBefore = true, location.reload(), true")
        await chromium.wait_for(f"!window.isBefore && {classes}.contains('-first-byte')")
        await chromium.wait_for("document.activeElement.className == 'xterm-helper-textarea'")
        assert browser.list_studios() == studios
        assert len(studios) == 1
        await chromium.type("\x11")  # ctrl+q
        await chromium.wait_for(f"{classes}.contains('-closed')")
        assert "has ended" in await chromium.evaluate("document.getElementById('text').textContent")


@pytest.mark.systems
@pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium on this machine")
async def test_a_newcomer_opens_a_pipeline_and_asks_for_data_in_a_browser(
    browser: Browser, tmp_path: Path
):
    file = tmp_path / "shop.json"
    file.write_text((find_shipped_data() / "demo" / "pipeline.json").read_text())
    async with Chromium(tmp_path / "profile") as chromium:

        async def sees(*texts: str) -> None:
            """Wait until the studio has drawn texts; afterwards only what is drawn later counts."""
            for _ in range(1200):
                drawn = _SEQUENCES.sub(b"", chromium.received).decode("utf-8", "replace")
                if all(text in drawn for text in texts):
                    chromium.received = b""
                    return
                await chromium.evaluate("0")
                await asyncio.sleep(0.1)
            raise AssertionError(f"{texts} were not drawn: {drawn[-3000:]}")

        await chromium.listen()
        await chromium.call("Page.navigate", url=browser.link)
        await sees("New pipeline")
        await chromium.wait_for("document.activeElement.className == 'xterm-helper-textarea'")
        await chromium.type("o")
        await sees("path, or some letters of it")
        await chromium.type(f"{file}\r")
        await sees("Purchases", "valid")
        await chromium.type("5q")
        await sees("F5 runs the query")
        await chromium.type("select upper('rome') as loud")
        await chromium.press_f5()
        await sees("loud", "ROME")
