"""Addresses of the pages of notices, and of their API."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.notices import api, mail_views
from web.notices import views as inbox

pages = [
    path("profile/notices/", inbox.choices, name="notice_choices"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/read/", inbox.read_all, name="inbox_read"),
    path("inbox/<int:notice_id>/read/", inbox.read, name="notice_read"),
    path("demo/mail/", mail_views.mails, name="mails"),
    path("unsubscribe/<str:token>/", inbox.unsubscribe, name="unsubscribe"),
]

routes = [
    *native("me/inbox/", api.Inbox, "my_inbox"),
    *native("me/inbox/<int:pk>/", api.NoticeRead, "my_notice"),
]
