"""People."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.auth import admin as auth
from django.http import HttpRequest
from django.urls import reverse

from core.admin.base import ModelAdmin
from core.models import ApiToken, User

if TYPE_CHECKING:
    BaseUserAdmin = auth.UserAdmin[User]
else:
    BaseUserAdmin = auth.UserAdmin  # not generic at run time


@admin.register(User)
class UserAdmin(BaseUserAdmin):
    """Django's own page, with what the arena knows about a person."""

    list_display = ("username", "email", "team", "github", "is_active", "is_staff", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff", "team")
    search_fields = ("username", "email", "team", "github")
    date_hierarchy = "date_joined"
    ordering = ("username",)
    fieldsets = (
        (None, {"fields": ("email", "username", "password", "team", "github")}),
        ("Rights", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Times", {"fields": ("date_joined", "last_login")}),
    )
    readonly_fields = ("date_joined", "last_login")
    add_fieldsets = (
        (None, {"fields": ("email", "username", "team", "github", "usable_password", "password1", "password2")}),
    )

    def view_on_site(self, user: User) -> str:
        return reverse("web:user", args=[user.username])


@admin.register(ApiToken)
class ApiTokenAdmin(ModelAdmin[ApiToken]):
    """Tokens can be looked at and revoked (deleted) here; only their owners make them."""

    list_display = ("name", "owner", "hint", "created_at", "expires_at", "last_used_at")
    search_fields = ("name", "owner__username", "owner__email")
    list_select_related = ("owner",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False
