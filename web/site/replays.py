"""Replays as files, for pages and programs."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response

from arena_kit.environment.replay_file.document import EVERYTHING, ReplayOptions
from core.duels.replays import Replayable, ReplayFile, ReplayForm, replay_file_make, replay_tag


def replay_response(request: HttpRequest, tag: str, make: Callable[[], ReplayFile]) -> HttpResponseBase:
    """Answer with a replay file as an attachment, or with 304 if the browser has it already. tag: the file's ETag."""
    response = get_conditional_response(request, etag=tag)
    if response is None:
        file = make()
        response = HttpResponse(file.content, content_type=file.kind)
        response["Content-Disposition"] = f'attachment; filename="{file.name}"'
    response["ETag"] = tag
    # Who may see a result can change, so the browser revalidates each time; the answer is then short.
    response["Cache-Control"] = "private, no-cache"
    return response


def form_of(word: str) -> ReplayForm:
    """Return the form that an address asks for. Raises Http404."""
    try:
        return ReplayForm(word)
    except ValueError:
        raise Http404("A replay is a file of the form html or json.") from None


def match_response(
    request: HttpRequest,
    job: Replayable,
    number: int,
    form: ReplayForm,
    options: ReplayOptions = EVERYTHING,
    *,
    compress: bool = False,
) -> HttpResponseBase:
    """Answer with the replay file of a match. Raises NotStored."""
    return replay_response(
        request,
        replay_tag(job, number, form, options, compress),
        lambda: replay_file_make(job=job, number=number, form=form, options=options, compress=compress),
    )
