"""Rate limits, which pages and programs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from core.errors import QuotaExceeded, Refused
from web.site.throttling import (
    AccountThrottle,
    BoardThrottle,
    ChangeThrottle,
    CodeAccountThrottle,
    LeaderboardThrottle,
    LoginAccountThrottle,
    LoginDayThrottle,
    LoginThrottle,
    PackedThrottle,
    PasswordResetMailThrottle,
    PasswordResetThrottle,
    ReplayFileThrottle,
    ReplayThrottle,
    ResultsThrottle,
    SearchThrottle,
    SignUpThrottle,
    StrangerThrottle,
    Throttle,
    UploadThrottle,
    ValidateThrottle,
)
from web.site.too_many import TooMany, too_many

LOGIN_ADDRESS = (LoginThrottle, LoginDayThrottle)
LOGIN = (*LOGIN_ADDRESS, LoginAccountThrottle)
LIMITED: dict[str, Sequence[type[Throttle]]] = {
    "account_login": LOGIN,
    "mfa_login_webauthn": LOGIN_ADDRESS,
    "mfa_authenticate": (*LOGIN_ADDRESS, CodeAccountThrottle),
    "github_login": LOGIN_ADDRESS,
    "openid_connect_login": LOGIN_ADDRESS,
    "account_reauthenticate": LOGIN_ADDRESS,
    "mfa_reauthenticate": LOGIN_ADDRESS,
    "mfa_reauthenticate_webauthn": LOGIN_ADDRESS,
    "mfa_activate_totp": LOGIN_ADDRESS,
    "mfa_add_webauthn": LOGIN_ADDRESS,
    "account_change_password": LOGIN_ADDRESS,
    "first_login": LOGIN,
    "account_signup": (SignUpThrottle,),
    "socialaccount_signup": (SignUpThrottle,),
    "account_reset_password": (PasswordResetThrottle, PasswordResetMailThrottle),
    "account_reset_password_from_key": (PasswordResetThrottle,),
    "account_email": (PasswordResetThrottle,),
    "web:account_export": (ResultsThrottle,),
    "web:agent_describe": (ChangeThrottle,),
    "web:agent_create": (UploadThrottle,),
    "web:agent_check": (ValidateThrottle,),
    "web:agent_delete": (ChangeThrottle,),
    "web:agent_random": (UploadThrottle,),
    "web:submit": (StrangerThrottle, AccountThrottle, UploadThrottle),
    "web:submission_create": (UploadThrottle,),
    "web:agent_rest": (ChangeThrottle,),
    "web:agent_play": (ChangeThrottle,),
    "web:submission_activate": (ChangeThrottle,),
    "web:submission_bench": (ChangeThrottle,),
    "web:submission_cancel": (ChangeThrottle,),
    "web:challenge_cancel": (ChangeThrottle,),
    "web:register": (ChangeThrottle,),
    "web:withdraw": (ChangeThrottle,),
    "web:play": (ReplayThrottle,),
    "web:sit": (ReplayThrottle,),
    "web:go_on": (ReplayThrottle,),
    "web:go_on_sit": (ReplayThrottle,),
    "web:go_on_play": (ReplayThrottle,),
    "web:agent_opponents": (ChangeThrottle,),
    "web:invitation": (ReplayThrottle,),
    "web:sitting": (BoardThrottle,),
    "web:sitting_move": (BoardThrottle,),
    "web:sitting_help": (BoardThrottle,),
    "web:sitting_frames": (ReplayThrottle,),
    "web:sitting_replay": (ReplayFileThrottle,),
    "web:sitting_card": (ReplayFileThrottle,),
    "web:match": (ReplayThrottle,),
    "web:match_frames": (ReplayThrottle,),
    "web:match_analysis": (ReplayThrottle,),
    "web:match_analyse": (ChangeThrottle,),
    "web:duel_why": (ChangeThrottle,),
    "web:agent_blunders": (ReplayThrottle,),
    "web:validation_match": (ReplayThrottle,),
    "web:validation_frames": (ReplayThrottle,),
    "web:match_replay": (ReplayFileThrottle,),
    "web:validation_replay": (ReplayFileThrottle,),
    "web:embedded_match": (ReplayThrottle,),
    "web:match_card": (ReplayFileThrottle,),
    "web:recording_replay": (ReplayFileThrottle,),
    "web:compare": (ReplayThrottle,),
    "web:search": (SearchThrottle,),
    "web:organise_people": (SearchThrottle,),
    "web:organise_agents": (SearchThrottle,),
    "web:organise_audit": (SearchThrottle,),
    "web:submission_source": (ReplayThrottle,),
    "web:episode": (ReplayThrottle,),
    "web:episode_frames": (ReplayThrottle,),
    "web:duel_results": (ResultsThrottle,),
    "web:duel_records": (ResultsThrottle,),
    "web:rules": (PackedThrottle,),
    "web:starter": (PackedThrottle,),
    "web:starter_kit": (PackedThrottle,),
    "web:leaderboard_file": (LeaderboardThrottle,),
    "web:cite": (LeaderboardThrottle,),
    "web:cite_results": (LeaderboardThrottle,),
}
"""Limits by the name of a page's address: for posts that try or create something, and for pages that are slow to draw.

The API's views name their own limits.
"""


def limits_count(request: HttpRequest) -> HttpResponse | None:
    """Count a request towards the limits of its page, see LIMITED; return the refusal if there were too many."""
    name = request.resolver_match.view_name if request.resolver_match else ""
    for kind in LIMITED.get(name, ()):
        throttle = kind()
        if not throttle.allow(request):
            seconds = throttle.seconds_left()
            refusal = TooMany(throttle.refusal(), code="too_many_requests", retry_after_seconds=seconds)
            return too_many(request, refusal)
    return None


def limits_state(request: HttpRequest, response: HttpResponseBase) -> None:
    """Say in the headers of an answer how much is left of the tightest limit that its request counted towards."""
    allowance = Throttle.allowance_of(request)
    if allowance is not None:
        response.headers.setdefault("X-RateLimit-Limit", str(allowance.limit))
        response.headers.setdefault("X-RateLimit-Remaining", str(allowance.remaining))
        response.headers.setdefault("X-RateLimit-Reset", str(allowance.resets_at))


def answer_refused(refusal: Refused | None, page: Callable[[int], HttpResponse]) -> HttpResponse:
    """Render the page of a refused form: with status 429 and Retry-After if waiting helps, else with 422."""
    seconds = refusal.retry_after_seconds if isinstance(refusal, QuotaExceeded) else None
    response = page(422 if seconds is None else 429)
    if seconds is not None:
        response.headers["Retry-After"] = str(seconds)
    return response
