"""The site of the admin: access, and an audit log of everything done there."""

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

FOR_SUPERUSERS = frozenset({
    "auth.group", "core.auditentry", "django_q.schedule", "mfa.authenticator", "socialaccount.socialaccount",
})  # fmt: skip
"""Pages on which organisers could give themselves any right, or see how others guard theirs: groups hold rights,
schedules call any function, second factors open accounts."""


class ForSuperusers(Page):
    """Restricts a page to superusers, regardless of other rights."""

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
    """Makes Django's admin use the arena's own site."""

    default_site = "web.admin.site.OrganiserSite"

    def ready(self) -> None:
        super().ready()
        # After other packages have registered their pages: some are replaced.
        import web.admin.pages  # noqa: F401  (it registers pages)


class OrganiserSite(AdminSite):
    """An admin site whose pages, of all packages, write into the audit log."""

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: type[ModelAdmin[Any]] | None = None,
        **options: Any,
    ) -> None:
        # Imported here because this module is loaded before the models.
        from django.contrib.admin import ModelAdmin

        # Late: it needs the rows, which are ready only now.
        from web.admin.audited import Audited

        page = admin_class or ModelAdmin
        for model in [model_or_iterable] if isinstance(model_or_iterable, type) else model_or_iterable:
            reserved = (ForSuperusers,) if model._meta.label_lower in FOR_SUPERUSERS else ()
            super().register(model, type(page.__name__, (Audited, *reserved, page), {}), **options)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return the pages grouped by what they are for; those of one application unchanged."""
        # Late: it needs the rows, which are ready only now.
        from web.admin.index import grouped

        found = super().get_app_list(request, app_label)
        return found if app_label else grouped(found, resolve_url("admin:index"))

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether the user is active staff and has passed the second factor, if one is set or required."""
        # Late: it needs the rows, which are ready only now.
        from core.people.second_factor_selectors import second_factor_missing

        assert request.user.is_anonymous or hasattr(request.user, "is_staff")
        return super().has_permission(request) and not second_factor_missing(request)

    def password_change(  # type: ignore[override]  # the stubs expect Django's own page
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the site's own page."""
        return redirect("account_change_password")

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Redirect to the site's own login, which asks for the second factor and counts failed attempts."""
        wanted = request.GET.get("next", "") or resolve_url("admin:index")
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated and not request.user.is_staff:
            raise PermissionDenied("These pages are for organisers only.")
        return redirect(f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': wanted})}")
