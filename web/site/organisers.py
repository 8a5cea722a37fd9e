"""Who may see the organisers' pages: active staff with the right that a page needs, as in the admin.

The middleware `Sessions` has asked for the second factor before any view runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.utils.datastructures import MultiValueDict

from core.models import User
from core.people.rights import may

Arguments = ParamSpec("Arguments")
View = Callable[Concatenate[HttpRequest, Arguments], HttpResponseBase]


def organisers(right: str = "") -> Callable[[View[Arguments]], View[Arguments]]:
    """Decorate a view for organisers with a right; strangers are sent to the login."""

    def decorate(view: View[Arguments]) -> View[Arguments]:
        @wraps(view)
        def page(request: HttpRequest, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            check(request, right)
            return view(request, *args, **kwargs)

        return page

    return decorate


def check(request: HttpRequest, right: str, course: int | None = None) -> None:
    """Raise PermissionDenied for people without a right. course: the course whose roles may give it."""
    assert isinstance(request.user, User)
    if course is not None and may(request.user, right, course):
        return
    if not may(request.user):
        raise PermissionDenied("These pages are for organisers only.")
    if not may(request.user, right):
        raise PermissionDenied("Your account does not have the right that this page needs. Ask a superuser for it.")


def may_change_account(user: User, person: User) -> bool:
    """Return whether an organiser may change an account. Only superusers may change other organisers' accounts."""
    return user.is_superuser or person.pk == user.pk or not (person.is_staff or person.is_superuser)


def sent(request: HttpRequest) -> QueryDict | None:
    """Return what a form has sent; None for a request that only shows the form."""
    return request.POST if request.method == "POST" else None


def files_sent(request: HttpRequest) -> MultiValueDict[str, UploadedFile[bytes]] | None:
    """Return the files that a form has sent; None for a request that only shows the form."""
    return request.FILES if request.method == "POST" else None


def organiser(request: HttpRequest) -> User:
    """Return the organiser who sends a request."""
    assert isinstance(request.user, User)
    return request.user
