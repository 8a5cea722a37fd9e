"""The page that submits to an environment by its id, as the API does, with an account or without."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from core.environments.additions import addable_ids
from core.errors import Refused
from core.evaluations.board import environments_with_boards
from core.models import Submission
from core.submissions.client_selectors import scored_environment
from core.submissions.clients import client_submit
from web.site.forms import refuse
from web.site.limits import answer_refused
from web.site.requests import account_of, client_network, viewer_of
from web.site.uploads import allow_strangers, environment_first
from web.submissions.forms import Offered, SubmitForm
from web.submissions.status_views import last_keep

KEEP_IT = "Submitted. Without an account this id is the only way back to your submission: keep it."
MOST_OFFERED = 300


@csrf_exempt
def submit(request: HttpRequest) -> HttpResponse:
    """Show the form, or submit and show the status.

    The token of the form is checked by `_submit`: reading it reads the files too, and those of people without an
    account have to be let in first.
    """
    if account_of(request) is None:
        if not settings.ANONYMOUS_SUBMISSIONS:
            return redirect_to_login(request.get_full_path())
        allow_strangers(request)
    return _submit(request)


@csrf_protect
def _submit(request: HttpRequest) -> HttpResponse:
    wanted = request.POST.get("env_id", "") or request.GET.get("env_id", "")[:100]
    options: dict[str, Any] = {"offered": _offered(request, wanted), "viewer": viewer_of(request)}
    if request.method != "POST":
        return _page(request, SubmitForm(initial={"env_id": request.GET.get("env_id", "")[:100]}, **options))
    form = SubmitForm(request.POST, request.FILES, **options)
    refused: Refused | None = None
    if form.is_valid():
        try:
            submission = _submitted(request, form)
        except Refused as refusal:
            refused = refusal
            refuse(form, refusal)
        else:
            return _done(request, submission)
    return answer_refused(refused, lambda status: _page(request, form, status))


def _submitted(request: HttpRequest, form: SubmitForm) -> Submission:
    """Submit what a valid form holds. Raises Refused."""
    archive, env_id, labels = form.cleaned_data["archive"], form.cleaned_data["env_id"], form.labels
    environment = scored_environment(env_id, viewer_of(request)) or environment_first(
        request, env_id=env_id, archive=archive
    )
    return client_submit(
        owner=account_of(request),
        environment=environment,
        archive=archive,
        algorithm=labels.algorithm,
        user_label=labels.user,
        public_id=None,
        is_script=False,
        address=client_network(request) or "",
        mode=labels.mode,
    )


def _done(request: HttpRequest, submission: Submission) -> HttpResponse:
    messages.success(request, "Submitted." if account_of(request) else KEEP_IT)
    response = redirect(f"{reverse('web:status')}?id={submission.public_id}")
    last_keep(response, submission.public_id)
    return response


def _offered(request: HttpRequest, wanted: str) -> Offered:
    """Return the environments that the form offers, by name. wanted: an id that was asked for, offered in any case."""
    here = [(row.env_id, row.name) for row in environments_with_boards(viewer_of(request))]
    more = [(env_id, env_id) for env_id in addable_ids()][:MOST_OFFERED]
    known = {env_id for env_id, _ in (*here, *more)}
    if wanted and wanted not in known:
        more.append((wanted, wanted))
    return [("On this arena", here), ("Of Gymnasium, added when first submitted to", more)] if more else [("", here)]


def _page(request: HttpRequest, form: SubmitForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "script": settings.SCRIPT_LIMITS, "is_open": settings.OPEN_ENVIRONMENTS != "false"}
    return render(request, "web/submissions/submit.html", context, status=status)
