"""Seed lists of environments with one seat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from core.evaluations.seeds import seed_list_reveal
from core.models import Environment, SeedList
from web.admin.base import ReadOnlyAdmin, ask_and_do
from web.organise.action import OrganiserAnswer, OrganiserQuestion

if TYPE_CHECKING:
    EnvironmentModelForm = forms.ModelForm[Environment]
else:
    EnvironmentModelForm = forms.ModelForm  # not generic at run time


REVEAL = OrganiserQuestion(
    title="Reveal seeds",
    consequence="Everyone can read these seeds from then on. This cannot be undone.",
    button="Reveal the seeds",
)


@admin.register(SeedList)
class SeedListAdmin(ReadOnlyAdmin[SeedList]):
    """Seed lists. Only superusers see hidden seeds; every organiser sees the hash that the arena is committed to."""

    list_display = ("id", "environment", "purpose", "length", "is_public", "sha256", "created_by", "created_at",
                    "revealed_at")  # fmt: skip
    list_filter = ("purpose", ("revealed_at", admin.EmptyFieldListFilter), "environment")
    list_select_related = ("environment", "created_by")
    search_fields = ("environment__name", "environment__slug", "sha256")
    date_hierarchy = "created_at"
    ordering = ("-pk",)
    readonly_fields = ("length", "is_public")
    actions = ("reveal",)

    def get_exclude(self, request: HttpRequest, obj: SeedList | None = None) -> tuple[str, ...]:
        is_shown = request.user.is_superuser or (obj is not None and obj.is_public)
        return () if is_shown else ("seeds",)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        # With filters in the address, such as seeds__0__gt, organisers could find hidden seeds.
        return lookup.partition("__")[0] != "seeds" and super().lookup_allowed(lookup, value, request)

    def get_readonly_fields(self, request: HttpRequest, obj: SeedList | None = None) -> list[str]:
        hidden = self.get_exclude(request, obj)
        return [name for name in super().get_readonly_fields(request, obj) if name not in hidden]

    def view_on_site(self, seed_list: SeedList) -> str:
        return reverse("web:environment", args=[seed_list.environment.slug])

    @admin.display
    def length(self, seed_list: SeedList) -> int:
        return len(seed_list.seeds)

    @admin.display(description="public", boolean=True)
    def is_public(self, seed_list: SeedList) -> bool:
        return seed_list.is_public

    @admin.action(description="Reveal the seeds of a list that no longer ranks", permissions=["change"])
    def reveal(self, request: HttpRequest, queryset: QuerySet[SeedList]) -> HttpResponse | None:
        def action(seed_list: SeedList, answer: OrganiserAnswer) -> str:
            seed_list_reveal(seed_list=seed_list)
            return "everyone can now read its seeds."

        return ask_and_do(self, request, queryset, REVEAL, action)
