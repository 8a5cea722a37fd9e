"""Answers that pages of other sites may show, in a frame or as a picture. Headers forbid it for all other pages."""

from __future__ import annotations

from typing import TypeVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from arena_kit.environment.replay_file.page import page_policy, plain_page

Answer = TypeVar("Answer", bound=HttpResponseBase)
PATH = "/embed/"
"""Every address of this kind begins with it."""


def refusal(sentence: str, status: int) -> HttpResponse:
    """Return a page of one sentence that fits into the frame of another site."""
    return HttpResponse(plain_page(sentence), status=status, headers={"Cache-Control": "no-store"})


def embeddable(response: HttpResponseBase) -> HttpResponseBase:
    """Let other sites show an answer, with a policy that allows nothing but its own script, style and pictures."""
    response.headers["Content-Security-Policy"] = f"{page_policy()}; frame-ancestors *"
    response.xframe_options_exempt = True  # type: ignore[attr-defined]  # read by SitePages
    return loadable(response)


def loadable(response: Answer) -> Answer:
    """Let pages of other sites load an answer, such as a picture."""
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
