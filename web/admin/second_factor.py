"""Second factors. Deleting one lets a person who has lost phone and recovery codes log in again."""

from __future__ import annotations

from typing import TypeVar

from django.contrib import admin
from django.http import HttpRequest
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from web.admin.base import ModelAdmin

Device = TypeVar("Device", TOTPDevice, StaticDevice)


class DeviceAdmin(ModelAdmin[Device]):
    """A second factor. No page shows its secret, and only its owner can create it."""

    list_display = ("user", "name", "confirmed", "created_at", "last_used_at", "throttling_failure_count")
    list_filter = ("confirmed",)
    list_select_related = ("user",)
    search_fields = ("user__username", "user__email")
    fields = ("user", "name", "confirmed", "created_at", "last_used_at", "throttling_failure_count")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Device | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Device | None = None) -> bool:
        return request.user.is_active and request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Device | None = None) -> bool:
        return request.user.is_active and request.user.is_superuser


@admin.register(TOTPDevice)
class TOTPDeviceAdmin(DeviceAdmin[TOTPDevice]):
    """Authenticator apps."""


@admin.register(StaticDevice)
class StaticDeviceAdmin(DeviceAdmin[StaticDevice]):
    """Recovery codes."""
