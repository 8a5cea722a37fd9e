"""Registers all admin pages."""

from __future__ import annotations

from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin

from core.models import User
from web.admin.rows import Table
from web.admin.tables import GROUPS
from web.admin.users import UserAdmin

# Addresses are changed on the page of their user. Providers come from LOGIN_PROVIDERS, and no token of theirs is kept.
OTHERS = (
    Authenticator,
    EmailAddress,
    EmailConfirmation,
    SocialAccount,
    SocialApp,
    SocialToken,
    AccessAttempt,
    UserSession,
)
"""Models whose pages of other packages are replaced or left out."""

for model in OTHERS:
    if admin.site.is_registered(model):
        admin.site.unregister(model)
for _, _, tables in GROUPS:
    for table in tables:
        if isinstance(table, Table):
            admin.site.register(table.model, table.page())
admin.site.register(User, UserAdmin)

admin.site.site_header = f"{settings.SITE_NAME}: tables"
admin.site.site_title = settings.SITE_NAME
admin.site.index_title = "Tables"
