"""Accounts, failed logins and API tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import admin as auth
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from core.models import ApiToken, InviteLink, User
from core.models.quota import QUOTA_FIELDS
from core.people.emails import email_changed_by_organiser
from core.people.second_factor_selectors import has_second_factor
from web.admin.base import ModelAdmin, ReadOnlyAdmin, admin_action
from web.organise.actions.people import BAN, UNBAN, UNLOCK
from web.site.organisers import may_change_account

if TYPE_CHECKING:
    BaseUserAdmin = auth.UserAdmin[User]
else:
    BaseUserAdmin = auth.UserAdmin  # not generic at run time


QUOTAS = ("is_quota_exempt", *QUOTA_FIELDS)
RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")


@admin.register(User)
class UserAdmin(BaseUserAdmin):
    """Django's own page of users, with the arena's fields and actions."""

    list_display = ("username", "email", "email_confirmed_at", "team", "github", "is_active", "is_staff", "date_joined",
                    "last_login")  # fmt: skip
    list_filter = ("is_active", "is_quota_exempt", "is_staff", "team")
    actions = ("ban", "unban", "unlock_logins")
    search_fields = ("username", "email", "team", "github")
    date_hierarchy = "date_joined"
    ordering = ("username",)
    fieldsets = (
        (None, {"fields": ("email", "username", "password", "team", "github")}),
        ("Ban", {"fields": ("is_active", "ban_reason")}),
        (
            "Quotas",
            {
                "fields": QUOTAS,
                "description": "They apply to every environment. For the account of anonymous clients, they apply to "
                "all these clients together.",
            },
        ),
        ("Rights", {"fields": RIGHTS}),
        ("Times", {"fields": ("email_confirmed_at", "date_joined", "last_login")}),
    )
    # Banning does more than set this flag, so it is an action of the list.
    readonly_fields = ("is_active", "ban_reason", "email_confirmed_at", "date_joined", "last_login")
    add_fieldsets = (
        (None, {"fields": ("email", "username", "team", "github", "usable_password", "password1", "password2")}),
    )

    def view_on_site(self, user: User) -> str:
        return reverse("web:user", args=[user.username])

    # Otherwise an organiser who may change accounts could gain every right: by giving it to their own account, or by
    # changing the password or e-mail of an account that has it.
    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """Make rights read-only for all but superusers, and the address of an account with a second factor."""
        fixed = tuple(super().get_readonly_fields(request, obj))
        if request.user.is_superuser:
            return fixed
        # Who has the mailbox of an unconfirmed address removes second factors by a new password, and only superusers
        # may remove those of others.
        is_guarded = obj is not None and has_second_factor(obj)
        return (*fixed, *RIGHTS, *(("email",) if is_guarded else ()))

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and _may_change(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_change(request, obj)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002  (Django's name)
        # One transaction with the entry in the audit log; Django has one on its other pages, but not here.
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Ask for confirmation of a changed e-mail address, as for the first one."""
        super().save_model(request, obj, form, change)
        if "email" in form.changed_data:
            email_changed_by_organiser(user=obj)

    ban = admin_action(BAN)
    unban = admin_action(UNBAN)
    unlock_logins = admin_action(UNLOCK)


def _may_change(request: HttpRequest, person: User | None) -> bool:
    return person is None or (isinstance(request.user, User) and may_change_account(request.user, person))


@admin.register(AccessAttempt)
class LoginFailureAdmin(ReadOnlyAdmin[AccessAttempt]):
    """Wrong passwords that still count, by account and address. Deleting a row unlocks this pair."""

    list_display = ("username", "ip_address", "failures_since_start", "is_locked", "attempt_time", "path_info")
    search_fields = ("username", "ip_address")
    date_hierarchy = "attempt_time"
    ordering = ("-attempt_time",)
    exclude = ("get_data", "post_data", "http_accept")

    @admin.display(description="locked", boolean=True)
    def is_locked(self, row: AccessAttempt) -> bool:
        is_recent = row.attempt_time > timezone.now() - settings.AXES_COOLOFF_TIME
        return bool(is_recent and row.failures_since_start >= settings.AXES_FAILURE_LIMIT)

    def has_delete_permission(self, request: HttpRequest, obj: AccessAttempt | None = None) -> bool:
        return admin.ModelAdmin.has_delete_permission(self, request, obj)


@admin.register(InviteLink)
class InviteLinkAdmin(ReadOnlyAdmin[InviteLink]):
    """Links with which people create accounts. They are made and ended under Organise on the site."""

    list_display = ("name", "team", "tournament", "account_count", "most_accounts", "expires_at", "created_by")
    list_select_related = ("tournament__environment", "created_by")
    search_fields = ("name", "team")
    date_hierarchy = "created_at"


@admin.register(ApiToken)
class ApiTokenAdmin(ModelAdmin[ApiToken]):
    """API tokens. Organisers can see and delete (revoke) them; only owners create them."""

    list_display = ("name", "owner", "scope", "hint", "created_at", "expires_at", "last_used_at")
    search_fields = ("name", "owner__username", "owner__email")
    list_select_related = ("owner",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False
