"""Second factors and logins of providers. Deleting them lets a person who has lost everything log in again."""

from __future__ import annotations

from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from web.admin.base import ModelAdmin

# Addresses are changed on the page of their user. Providers come from LOGIN_PROVIDERS, and no token of theirs is kept.
for kind in (Authenticator, EmailAddress, EmailConfirmation, SocialAccount, SocialApp, SocialToken):
    if admin.site.is_registered(kind):
        admin.site.unregister(kind)


class OpensAccount:
    """What opens an account. Its page shows no secret, only its owner can create it, and superusers may delete it."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_active and request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_active and request.user.is_superuser


@admin.register(Authenticator)
class AuthenticatorAdmin(OpensAccount, ModelAdmin[Authenticator]):
    """Passkeys, authenticator apps and recovery codes."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    list_select_related = ("user",)
    search_fields = ("user__username", "user__email")
    fields = ("user", "type", "created_at", "last_used_at")


@admin.register(SocialAccount)
class SocialAccountAdmin(OpensAccount, ModelAdmin[SocialAccount]):
    """Logins of providers."""

    list_display = ("user", "provider", "uid", "date_joined", "last_login")
    list_filter = ("provider",)
    list_select_related = ("user",)
    search_fields = ("user__username", "user__email", "uid")
    fields = ("user", "provider", "uid", "date_joined", "last_login")
