"""The audit log as a page, for superusers: by person, thing and time."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from core.models import AuditEntry
from core.people.rights import SUPERUSER
from web.site.organisers import organisers
from web.site.requests import page_number

A_PAGE = 50


class AuditFilter(forms.Form):
    """Which entries of the audit log are shown."""

    person = forms.CharField(required=False, max_length=200, help_text="User name.")
    thing = forms.CharField(required=False, max_length=200, help_text="A name, a kind, or e.g. duel 7.")
    action = forms.CharField(required=False, max_length=100)
    since = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))

    def rows(self) -> QuerySet[AuditEntry]:
        """Return the entries that fit the fields that are good, the newest first."""
        self.is_valid()
        data: dict[str, Any] = self.cleaned_data
        rows = AuditEntry.objects.all()
        if data.get("person"):
            rows = rows.filter(operator__icontains=data["person"])
        if data.get("thing"):
            rows = rows.filter(_about(data["thing"]))
        if data.get("action"):
            rows = rows.filter(action__icontains=data["action"])
        if data.get("since"):
            rows = rows.filter(at__gte=_at(data["since"], time.min))
        if data.get("until"):
            rows = rows.filter(at__lte=_at(data["until"], time.max))
        return rows


@organisers(SUPERUSER)
def audit(request: HttpRequest) -> HttpResponse:
    """Show what organisers did, newest first."""
    form = AuditFilter(request.GET)
    page = Paginator(form.rows(), A_PAGE).get_page(page_number(request.GET))
    return render(request, "web/organise/audit.html", {"tab": "organise_audit", "form": form, "page": page})


def _about(words: str) -> Q:
    """Match entries about a thing: its name, its kind, or its kind and number, e.g. “duel 7”."""
    kind, _, number = words.rpartition(" ")
    named = Q(object_name__icontains=words) | Q(model__endswith=f".{words.lower()}")
    return named | Q(model__endswith=f".{kind.lower()}", object_id=number) if kind else named


def _at(day: Any, clock: time) -> datetime:
    return timezone.make_aware(datetime.combine(day, clock))
