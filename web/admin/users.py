"""Accounts: their rights, which superusers set here. All else about people is done under Organise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth import admin as auth
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from core.models import LetterKind, User
from core.models.quota import QUOTA_FIELDS
from core.notices.letters import letter_write
from core.people.acting import owner_told
from core.people.rights import SUPERUSER, may

if TYPE_CHECKING:
    BaseUserAdmin = auth.UserAdmin[User]
else:
    BaseUserAdmin = auth.UserAdmin  # not generic at run time

RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")
PROFILE = ("email", "username", "team", "github")
FACTS = ("is_active", "ban_reason", "email_confirmed_at", "date_joined", "last_login", "is_quota_exempt", *QUOTA_FIELDS)


class UserAdmin(BaseUserAdmin):
    """Django's own page of users. Only superusers change anything: each right could give all others."""

    list_display = ("username", "email", "email_confirmed_at", "team", "github", "is_active", "is_staff", "date_joined",
                    "last_login")  # fmt: skip
    list_filter = ("is_active", "is_quota_exempt", "is_staff", "team")
    actions = None
    search_fields = ("username", "email", "team", "github")
    date_hierarchy = "date_joined"
    ordering = ("username",)
    fieldsets = (
        ("Rights", {"fields": RIGHTS}),
        ("Set under Organise", {"fields": (*PROFILE, *FACTS)}),
    )
    add_form = forms.ModelForm
    add_fieldsets = ((None, {"fields": PROFILE, "description": "A link to choose a password is mailed."}),)

    def view_on_site(self, obj: User) -> str:
        return reverse("web:organise_person", args=[obj.pk])

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        return () if obj is None else (*PROFILE, *FACTS)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_change_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return may(request.user, SUPERUSER)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False  # an account is closed under Organise, because its results are part of others' history

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002  (Django's name)
        raise PermissionDenied("People choose their passwords themselves. Mail a link for a new one under Organise.")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Mail the owner of a new account a link to choose a password, and tell others of their new rights."""
        if not change:
            obj.set_unusable_password()
        super().save_model(request, obj, form, change)
        if not change:
            letter_write(kind=LetterKind.INVITATION, email=obj.email)
        elif form.changed_data:
            names = ", ".join(str(form.fields[name].label).lower() for name in form.changed_data)
            owner_told(by=request.user, row=obj, sentence=f"has other rights: {names}")
