"""Starts Chromium with what it may do, and logs in before anything is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, Error, Page, Playwright

from .doing import located

CHROMIUM = "/usr/lib/chromium/chromium"
FLAGS = (
    "--no-sandbox", "--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync",
    "--metrics-recording-only", "--password-store=basic", "--force-color-profile=srgb", "--disable-gpu",
    "--disable-component-update", "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)  # fmt: skip
LOOPBACK = "127.0.0.1"
START_MS, GOTO_MS, OPENING_MS = 90_000, 15_000, 60_000
"""Before the agent has begun, a busy host may take its time, which is not charged."""


class CannotOpen(Exception):
    """The browser or the login did not work; the platform is at fault. code: typed reason."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


async def launched(playwright: Playwright, origins: Sequence[str], proxy: int = 0) -> Browser:
    """Start Chromium, which finds no names but those of the application. Raises Playwright's errors.

    proxy: the port of the world's proxy, which all requests go through; 0 without one.
    """
    names = sorted({urlsplit(origin).hostname or "" for origin in origins})
    way = ["--no-proxy-server"]
    if proxy:
        names.append(LOOPBACK)
        # Chromium would pass the proxy by for names that it takes for this machine's own.
        way = [f"--proxy-server=http://{LOOPBACK}:{proxy}", "--proxy-bypass-list=<-loopback>"]
    rules = ", ".join(["MAP * ~NOTFOUND", *(f"EXCLUDE {name}" for name in names)])
    return await playwright.chromium.launch(
        executable_path=CHROMIUM,
        headless=True,
        args=[*FLAGS, *way, f"--host-resolver-rules={rules}"],
        ignore_default_args=["--disable-popup-blocking"],
        timeout=START_MS,
    )


async def context_of(browser: Browser, order: Mapping[str, Any]) -> BrowserContext:
    """Return a fresh profile, whose requests to other addresses than those of the application are ended."""
    width, height = order["viewport"]
    context = await browser.new_context(
        viewport={"width": width, "height": height}, device_scale_factor=1, locale="en-GB", timezone_id="UTC",
        reduced_motion="reduce", accept_downloads=False, service_workers="block", base_url=order["home"],
    )  # fmt: skip
    own = "|".join(re.escape(origin) for origin in order["origins"])
    await context.route(re.compile(rf"^(?!(?:{own})(?:[/?#]|$))"), lambda route: route.abort())
    if order.get("clock"):
        await context.clock.set_fixed_time(order["clock"])
    return context


async def log_in(page: Page, login: Mapping[str, Any]) -> None:
    """Fill in a form and send it. Raises CannotOpen."""
    try:
        await page.goto(login["url"], timeout=OPENING_MS)
        for selector, text in login["fields"].items():
            await (await located(page, selector, OPENING_MS)).fill(text, timeout=OPENING_MS)
        if login["submit"]:
            await (await located(page, login["submit"], OPENING_MS)).click(timeout=OPENING_MS)
        else:
            await page.keyboard.press("Enter")
        if login["done"]:
            await page.wait_for_url(lambda url: urlsplit(url).path == login["done"], timeout=OPENING_MS)
    except (Error, TimeoutError) as error:
        raise CannotOpen(f"The login {login['name']} failed: {str(error)[:400]}", code="login_failed") from None
