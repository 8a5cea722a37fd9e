"""The organisers' site: who is let in, and that nothing is done there without being written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.admin.apps import AdminConfig
from django.contrib.admin.sites import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.contrib.admin import ModelAdmin
    from django.db.models import Model


class OrganiserConfig(AdminConfig):
    """Django's admin on the arena's own site."""

    default_site = "core.organisers.OrganiserSite"


class OrganiserSite(AdminSite):
    """Every page that is registered here, of whatever package, writes into the audit log."""

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: type[ModelAdmin[Any]] | None = None,
        **options: Any,
    ) -> None:
        # Here: this module is loaded before there are models.
        from django.contrib.admin import ModelAdmin

        from core.audited import Audited

        page = admin_class or ModelAdmin
        super().register(model_or_iterable, type(page.__name__, (Audited, page), {}), **options)

    def has_permission(self, request: HttpRequest) -> bool:
        """Active staff that has shown its second factor, if it has or needs one."""
        from core.selectors.second_factor import second_factor_missing

        assert request.user.is_anonymous or hasattr(request.user, "is_staff")
        return super().has_permission(request) and not second_factor_missing(request.user)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The site's own login, which asks for the second factor and counts wrong tries."""
        wanted = request.GET.get("next", "") or resolve_url("admin:index")
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated and not request.user.is_staff:
            raise PermissionDenied("These pages are for organisers, and your account is none.")
        return redirect(f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': wanted})}")
