"""The browser of one rollout: its tabs, what it may open, who is logged in, and one action after the other."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from playwright.async_api import Dialog, Error, Page, Playwright

from . import seeing
from .doing import ELEMENT_MS, NotDone, do
from .launching import GOTO_MS, OPENING_MS, CannotOpen, context_of, launched, log_in
from .noting import Frames, Requests

MOST_TABS = 8
LOAD_MS, QUIET_SECONDS, ACT_SECONDS = 5_000, 1.5, 30.0
TRACE = Path(tempfile.gettempdir()) / "trace.zip"
MOST_TRACE_BYTES = 64 << 20
MOST_MESSAGE = 2_000


class Session:
    """A browser, from `open` on. One order is carried out at a time."""

    def __init__(self, playwright: Playwright, order: Mapping[str, Any], uploads: Mapping[str, bytes]) -> None:
        """order: what the other side says about the world: `origins`, `home`, `viewport`, `login` and so on."""
        self._playwright, self._order, self._uploads = playwright, order, uploads
        self._origins: tuple[str, ...] = tuple(order["origins"])
        self._size = order["viewport"]
        self._tabs: list[Page] = []
        self._dialogs: dict[Page, Dialog] = {}
        self._changed = asyncio.Event()
        self._unfinished: asyncio.Task[None] | None = None
        self._remarks: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_trace = False
        self.requests, self.frames = Requests(), Frames(self._size[0], self._size[1])

    async def open(self) -> None:
        """Start Chromium, log in, and go to the first page. Raises CannotOpen."""
        order = self._order
        try:
            self._browser = await launched(self._playwright, self._origins, order.get("proxy", 0))
            self._context = await context_of(self._browser, order)
            self._context.on("page", self._on_page)
            self.requests.listen(self._context)
            page = await self._context.new_page()
            if order.get("login"):
                await log_in(page, order["login"])
                await self._settle(page)
            if order.get("trace"):
                await self._context.tracing.start(snapshots=True, screenshots=False)
                self._has_trace = True
            self.requests.is_on = True
            await page.goto(order["start_url"], timeout=OPENING_MS)
            await self._settle(page)
        except (Error, TimeoutError) as error:
            raise CannotOpen(str(error)[:500], code="browser_failed") from None

    async def act(self, name: str, given: Mapping[str, Any]) -> str:
        """Carry out an action; return an empty text or a sentence about why it did not work."""
        page = self._active()
        dialog = self._dialogs.get(page) if page else None
        try:
            if name == "dialog":
                await self._answer_dialog(page, dialog, given)
            elif dialog is not None and name not in ("wait", "switch_tab", "close_tab", "screenshot"):
                raise NotDone("A dialog waits: answer it with the action dialog first.")
            else:
                await self._until_dialog(self._carry_out(page, name, given))
            if (page := self._active()) and page not in self._dialogs:
                await self._settle(page)
        except NotDone as error:
            return str(error)
        except (Error, TimeoutError) as error:
            return str(error).splitlines()[0][:500]
        return ""

    async def see(self, wanted: Mapping[str, Any]) -> tuple[dict[str, Any], bytes | None]:
        """Return what there is to see, and a picture if `wanted` says so."""
        page = self._active()
        if page is None:
            page = await self._context.new_page()
        self.frames.active = page
        dialog = self._dialogs.get(page)
        text, silent, image, title = "", "", None, ""
        if dialog is None:
            text, silent = await seeing.snapshot(page)
            image = await seeing.picture(page, wanted) if wanted.get("picture") else None
            title = await seeing.title(page)
        tabs = [
            {"title": title if tab is page else "", "url": tab.url[: seeing.MOST_URL], "active": tab is page}
            for tab in self._tabs
        ]
        remarks, self._remarks = [*self._remarks, *([silent] if silent else [])], []
        return {
            "url": page.url[: seeing.MOST_URL],
            "title": title,
            "tabs": tabs,
            "snapshot": text,
            "dialog": None if dialog is None else f"{dialog.type}: {dialog.message[:MOST_MESSAGE]}",
            "remarks": remarks[:5],
        }, image

    async def end(self) -> bytes | None:
        """Return the trace, if one was kept and is not too large. Nothing more happens in the browser."""
        if not self._has_trace:
            return None
        with contextlib.suppress(Error, TimeoutError, OSError):
            await asyncio.wait_for(self._context.tracing.stop(path=TRACE), 20.0)
            return _read_trace()
        return None

    def _active(self) -> Page | None:
        """Return the tab that the agent sees; the last one if that was closed, None without any."""
        if self.frames.active in self._tabs:
            return self.frames.active
        self.frames.active = self._tabs[-1] if self._tabs else None
        return self.frames.active

    def _on_page(self, page: Page) -> None:
        if len(self._tabs) >= MOST_TABS:
            self._remark(f"A new tab was closed, because at most {MOST_TABS} tabs may be open.")
            self._later(page.close())
            return
        self._tabs.append(page)
        self.frames.active = page
        page.on("dialog", lambda dialog: self._on_dialog(page, dialog))
        page.on("close", lambda _: self._tabs.remove(page) if page in self._tabs else None)
        page.on("crash", lambda _: self._remark("The page has crashed: go to another one, or reload it."))
        page.on("download", lambda found: self._remark(f"{found.suggested_filename[:100]!r} is not downloaded here."))
        if self._order.get("video"):
            self._later(self.frames.listen(page))

    def _on_dialog(self, page: Page, dialog: Dialog) -> None:
        self._dialogs[page] = dialog
        self._changed.set()

    def _remark(self, sentence: str) -> None:
        if len(self._remarks) < 5 and sentence not in self._remarks:
            self._remarks.append(sentence)

    def _later(self, work: Awaitable[object]) -> None:
        """Do something beside; that it fails does not matter."""

        async def quiet() -> None:
            with contextlib.suppress(Error, TimeoutError):
                await work

        task = asyncio.create_task(quiet())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _until_dialog(self, work: Awaitable[None]) -> None:
        """Do something until it is done or a dialog appears, which would hold it up until it is answered."""
        self._changed.clear()
        task, changed = asyncio.ensure_future(work), asyncio.create_task(self._changed.wait())
        await asyncio.wait({task, changed}, timeout=ACT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        changed.cancel()
        if task.done():
            task.result()
        elif self._changed.is_set():
            self._unfinished = asyncio.ensure_future(self._silently(task))
        else:
            task.cancel()
            raise NotDone("The action took too long.")

    async def _silently(self, task: asyncio.Future[None]) -> None:
        with contextlib.suppress(NotDone, Error, TimeoutError):
            await task

    async def _answer_dialog(self, page: Page | None, dialog: Dialog | None, given: Mapping[str, Any]) -> None:
        if page is None or dialog is None:
            raise NotDone("There is no dialog.")
        self._dialogs.pop(page, None)
        self._changed.clear()
        if given["accept"]:
            await dialog.accept(given.get("text"))
        else:
            await dialog.dismiss()
        if self._unfinished is not None:
            # What had opened the dialog goes on, to its end or to the next dialog.
            changed = asyncio.create_task(self._changed.wait())
            await asyncio.wait(
                {self._unfinished, changed}, timeout=ELEMENT_MS / 1000, return_when=asyncio.FIRST_COMPLETED
            )
            changed.cancel()

    async def _carry_out(self, page: Page | None, name: str, given: Mapping[str, Any]) -> None:
        if name == "new_tab":
            if len(self._tabs) >= MOST_TABS:
                raise NotDone(f"At most {MOST_TABS} tabs may be open.")
            address = self._allowed(given.get("url", self._order["home"]), page)
            await (await self._context.new_page()).goto(address, timeout=GOTO_MS, wait_until="commit")
        elif name in ("switch_tab", "close_tab"):
            await self._change_tab(page, name, given)
        elif page is None:
            raise NotDone("There is no tab: open one with the action new_tab.")
        elif name == "goto":
            await page.goto(self._allowed(given["url"], page), timeout=GOTO_MS, wait_until="commit")
        elif name in ("back", "forward"):
            await (page.go_back if name == "back" else page.go_forward)(timeout=GOTO_MS, wait_until="commit")
            if page.url == "about:blank":
                await page.go_forward(timeout=GOTO_MS, wait_until="commit")
                raise NotDone("There is no page before this one.")
        elif name == "reload":
            await page.reload(timeout=GOTO_MS, wait_until="commit")
        elif name != "screenshot":
            await do(page, name, given, self._uploads)

    async def _change_tab(self, page: Page | None, name: str, given: Mapping[str, Any]) -> None:
        index = given.get("index", self._tabs.index(page) if page in self._tabs else 0)
        if index not in range(len(self._tabs)):
            raise NotDone(f"There are {len(self._tabs)} tabs, numbered from 0.")
        tab = self._tabs[int(index)]
        if name == "switch_tab":
            self.frames.active = tab
            await tab.bring_to_front()
        elif len(self._tabs) == 1:
            raise NotDone("The last tab cannot be closed.")
        else:
            self._dialogs.pop(tab, None)
            await tab.close()

    def _allowed(self, url: str, page: Page | None) -> str:
        """Return an address as it is opened. Raises NotDone for what is not of the application."""
        here = page.url if page and page.url.startswith("http") else self._order["home"]
        try:
            whole = urljoin(here, url.strip())
            parts = urlsplit(whole)
            origin = f"{parts.scheme}://{parts.netloc}".lower()
        except ValueError:
            origin = ""
        if origin not in self._origins:
            raise NotDone(f"Only addresses of the application can be opened: {', '.join(self._origins)}.")
        return whole

    async def _settle(self, page: Page) -> None:
        """Wait until a page has loaded and asks for nothing any more, but not for ever."""
        with contextlib.suppress(Error, TimeoutError):
            await asyncio.sleep(0.02)
            await page.wait_for_load_state("load", timeout=LOAD_MS)
            loop = asyncio.get_running_loop()
            until = loop.time() + QUIET_SECONDS
            while self.requests.pending and loop.time() < until and page not in self._dialogs:  # noqa: ASYNC110  # no event says it
                await asyncio.sleep(0.02)


def _read_trace() -> bytes | None:
    return TRACE.read_bytes() if TRACE.stat().st_size <= MOST_TRACE_BYTES else None
