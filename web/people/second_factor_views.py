"""Pages that ask for the second factor after the password, set it up, renew its codes and remove it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import segno
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django_otp import login as verify
from django_otp.models import Device
from django_otp.plugins.otp_totp.models import TOTPDevice

from core.errors import Refused
from core.models import AuditEntry, User
from core.people import second_factor as services
from core.people.audit_log import account_record, audit_record, operator_of
from core.people.second_factor_selectors import (
    recovery_code_count,
    second_factor_begun,
    second_factor_get,
    second_factor_missing,
)
from web.people.forms import CodeForm
from web.site.forms import refuse

WAITING = "second_factor_waiting"
WAITING_SECONDS = 600


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """A person who has given the password in this session and not yet a code.

    hash: the session hash of that password, which may change meanwhile. since: Unix time. wanted: see `ask_for_code`.
    """

    user_id: int
    backend: str
    hash: str
    since: float
    wanted: str


def ask_for_code(request: HttpRequest, user: User, wanted: str) -> HttpResponse:
    """Remember who has given the right password, and ask for the code.

    wanted: address to go to after the login; it must be on this site.
    """
    waiting = PendingLogin(
        user.pk, str(getattr(user, "backend", "")), user.get_session_auth_hash(), time.time(), wanted
    )
    # An attacker may have prepared the session, so nothing of it is kept.
    request.session.flush()
    request.session[WAITING] = asdict(waiting)
    return redirect("web:login_code")


@sensitive_post_parameters()
@never_cache
def login_code(request: HttpRequest) -> HttpResponse:
    """Ask for the code as the second step of a login, also for organisers logged in by password alone."""
    user, backend, wanted = _who(request)
    if user is None:
        return redirect("web:login")
    if second_factor_get(user) is None:
        return redirect("web:second_factor")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            device = services.second_factor_check(user=user, code=form.cleaned_data["code"])
        except Refused as refusal:
            account_record(request, user, "log_in_failed", note="Wrong code.", is_known=False)
            refuse(form, refusal)
        else:
            request.session.pop(WAITING, None)
            if not request.user.is_authenticated:
                login(request, user, backend=backend)
            _verify(request, device)
            return redirect(wanted or resolve_url("web:home"))
    return render(request, "web/people/login_code.html", {"form": form, "next": wanted})


@sensitive_post_parameters()
@never_cache
@login_required
def second_factor(request: HttpRequest) -> HttpResponse:
    """Set up the second factor, renew its recovery codes or remove it, one step per request."""
    user = request.user
    assert isinstance(user, User)
    device = second_factor_get(user)
    if device is not None and second_factor_missing(user):
        return redirect("web:login_code")
    form = CodeForm()
    if request.method == "POST":
        step = STEPS.get(request.POST.get("step", ""))
        if step is None:
            raise Http404("There is no such step.")
        form = CodeForm(request.POST)
        if step is begin or form.is_valid():
            try:
                return step(request, user, "" if step is begin else form.cleaned_data["code"])
            except Refused as refusal:
                refuse(form, refusal)
    return _page(request, user, form, status=422 if form.errors else 200)


def begin(request: HttpRequest, user: User, code: str) -> HttpResponse:
    """Begin to set up the second factor, with a new key. The code is not used."""
    services.second_factor_begin(user=user)
    return redirect("web:second_factor")


def confirm(request: HttpRequest, user: User, code: str) -> HttpResponse:
    """Turn the second factor on. Only this answer shows the recovery codes."""
    device, codes = services.second_factor_confirm(user=user, code=code)
    _verify(request, device)
    _write_down(request, user, "set_up_second_factor", note="Earlier API tokens are revoked.")
    return _page(request, user, CodeForm(), codes=codes, is_new=True)


def renew(request: HttpRequest, user: User, code: str) -> HttpResponse:
    """Replace the recovery codes. Only this answer shows the new ones."""
    codes = services.recovery_codes_renew(user=user, code=code)
    _write_down(request, user, "renew_recovery_codes")
    return _page(request, user, CodeForm(), codes=codes)


def remove(request: HttpRequest, user: User, code: str) -> HttpResponse:
    """Remove the second factor."""
    services.second_factor_remove(user=user, code=code)
    _write_down(request, user, "remove_second_factor")
    messages.success(request, "Your second factor is removed. You now log in with your password alone.")
    return redirect("web:profile")


STEPS = {"begin": begin, "confirm": confirm, "renew": renew, "remove": remove}


def _verify(request: HttpRequest, device: Device) -> None:
    """Mark the session as verified, with a new key: people who know the old key gain nothing."""
    request.session.cycle_key()
    verify(request, device)


def _write_down(request: HttpRequest, user: User, action: str, note: str = "") -> None:
    audit_record(operator=operator_of(request, AuditEntry.Channel.SITE), action=action, row=user, note=note)


def _page(
    request: HttpRequest,
    user: User,
    form: CodeForm,
    *,
    codes: list[str] | None = None,
    is_new: bool = False,
    status: int = 200,
) -> HttpResponse:
    begun = second_factor_begun(user)
    context: dict[str, Any] = {
        "form": form,
        "device": second_factor_get(user),
        "begun": begun,
        "picture": qr_code(begun) if begun else "",
        "key": _in_groups(begun) if begun else "",
        "codes": codes,
        "is_new": is_new,
        "code_count": recovery_code_count(user),
    }
    return render(request, "web/people/second_factor.html", context, status=status)


def qr_code(device: TOTPDevice) -> SafeString:
    """Return the QR code that the app scans, as SVG without styles."""
    picture = segno.make(device.config_url, error="m", micro=False)
    return mark_safe(picture.svg_inline(border=4, omitsize=True, light="#fff", svgclass="qr"))  # noqa: S308  (squares)


def _in_groups(device: TOTPDevice) -> str:
    """Return the secret in groups of four letters, for people who have no camera."""
    key = device.config_url.partition("secret=")[2].partition("&")[0]
    return " ".join(key[start : start + 4] for start in range(0, len(key), 4))


def _who(request: HttpRequest) -> tuple[User | None, str, str]:
    """Return the user who must give a code, the backend that accepted the password, and the address to go to."""
    if isinstance(request.user, User):
        wanted = request.POST.get("next", "") or request.GET.get("next", "")
        is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
        return (request.user if second_factor_missing(request.user) else None), "", wanted if is_ours else ""
    data = request.session.get(WAITING)
    if not data:
        return None, "", ""
    waiting = PendingLogin(**data)
    user = User.objects.filter(pk=waiting.user_id, is_active=True).first()
    is_late = time.time() - waiting.since > WAITING_SECONDS
    if user is None or is_late or not constant_time_compare(waiting.hash, user.get_session_auth_hash()):
        del request.session[WAITING]
        return None, "", ""
    return user, waiting.backend, waiting.wanted
