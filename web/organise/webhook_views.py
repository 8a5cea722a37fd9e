"""The organisers' pages of webhooks: the list with the last answers, and the form of one."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from core.models import Delivery, Webhook
from core.notices.deliveries import webhook_prepare
from web.organise.acting import record
from web.organise.audits import form_changes
from web.organise.webhook_forms import WebhookForm
from web.site.organisers import organiser, organisers, sent
from web.site.requests import page_number

DELIVERIES_A_PAGE = 30


@organisers("core.view_webhook")
def webhooks(request: HttpRequest) -> HttpResponse:
    """Show the webhooks and the last deliveries of all."""
    deliveries = Delivery.objects.select_related("webhook").defer("body")
    context = {
        "tab": "organise_webhooks",
        "webhooks": Webhook.objects.select_related("environment"),
        "page": Paginator(deliveries, DELIVERIES_A_PAGE).get_page(page_number(request.GET)),
    }
    return render(request, "web/organise/webhooks.html", context)


@organisers("core.add_webhook")
def webhook_add(request: HttpRequest) -> HttpResponse:
    """Add a webhook; its secret is shown once."""
    form = WebhookForm(sent(request))
    if form.is_valid():
        with transaction.atomic():
            secret = webhook_prepare(webhook=form.instance, created_by=organiser(request))
            form.save()
            record(request, "add", form.instance, changes=form_changes(form, ()))
        messages.warning(request, f"The secret of this webhook is {secret}. Copy it now: it is never shown again.")
        return redirect("web:organise_webhooks")
    return _page(request, form)


@organisers("core.change_webhook")
def webhook_change(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Change a webhook, or switch it on or off."""
    form = WebhookForm(sent(request), instance=get_object_or_404(Webhook, pk=webhook_id))
    if form.is_valid():
        with transaction.atomic():
            form.save()
            record(request, "change", form.instance, changes=form_changes(form, ()))
        messages.success(request, f"{form.instance} is saved.")
        return redirect("web:organise_webhooks")
    return _page(request, form)


def _page(request: HttpRequest, form: WebhookForm) -> HttpResponse:
    context = {"tab": "organise_webhooks", "form": form, "is_new": form.instance.pk is None}
    return render(request, "web/organise/webhook.html", context, status=422 if form.errors else 200)
