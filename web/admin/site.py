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

    Page = ModelAdmin[Any]
else:
    Page = object

FOR_SUPERUSERS = frozenset({"auth.group", "django_q.schedule"})
"""Pages on which somebody could give themselves every right: a group holds rights, a schedule calls any function."""


class ForSuperusers(Page):
    """Mixed into a page that nobody else may see, whatever rights they have been given."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return super().has_module_permission(request) and request.user.is_superuser

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_view_permission(request, obj) and request.user.is_superuser

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_change_permission(request, obj) and request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_delete_permission(request, obj) and request.user.is_superuser


class OrganiserConfig(AdminConfig):
    """Django's admin on the arena's own site."""

    default_site = "web.admin.site.OrganiserSite"

    def ready(self) -> None:
        # Before any other package registers pages: django_otp leaves those of its devices to us then.
        import web.admin.pages  # noqa: F401

        super().ready()


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

        from web.admin.audited import Audited

        page = admin_class or ModelAdmin
        for model in [model_or_iterable] if isinstance(model_or_iterable, type) else model_or_iterable:
            reserved = (ForSuperusers,) if model._meta.label_lower in FOR_SUPERUSERS else ()
            super().register(model, type(page.__name__, (Audited, *reserved, page), {}), **options)

    def has_permission(self, request: HttpRequest) -> bool:
        """Active staff that has shown its second factor, if it has or needs one."""
        from core.people.second_factor_selectors import second_factor_missing

        assert request.user.is_anonymous or hasattr(request.user, "is_staff")
        return super().has_permission(request) and not second_factor_missing(request.user)

    def password_change(  # type: ignore[override]  # the stubs know Django's page alone
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The site's own page."""
        return redirect("web:password_change")

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The site's own login, which asks for the second factor and counts wrong tries."""
        wanted = request.GET.get("next", "") or resolve_url("admin:index")
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated and not request.user.is_staff:
            raise PermissionDenied("These pages are for organisers, and your account is none.")
        return redirect(f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': wanted})}")
