"""The organisers' pages of webhooks: the list with the last answers."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.models import Delivery, Webhook
from web.site.organisers import organisers
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
