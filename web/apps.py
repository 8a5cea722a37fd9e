"""The site as Django's app: what listens to logins, and the pages that e-mails, notices and alarms link to."""

from __future__ import annotations

from django.apps import AppConfig

PAGES = {
    "agent": "web:agent",
    "assignment": "web:assignment",
    "batch": "web:batch",
    "challenge": "web:challenge",
    "course": "web:course",
    "course_join": "web:course_join",
    "team_join": "web:team_join",
    "duel": "web:duel",
    "edition": "web:edition",
    "email_confirm": "account_confirm_email",
    "environment": "web:environment",
    "environment_settings": "web:organise_change_environment",
    "evaluation": "web:evaluation",
    "home": "web:home",
    "job": "web:organise_job",
    "language_models": "web:organise_models",
    "lenses": "admin:core_lens_changelist",
    "match_replay": "web:match_replay",
    "operations": "web:operations",
    "password_reset": "account_reset_password_from_key",
    "password_reset_begin": "account_reset_password",
    "profile": "web:profile",
    "sessions": "web:sessions",
    "sign_up": "account_signup",
    "ratings": "admin:core_ratingpool_changelist",
    "unsubscribe": "web:unsubscribe",
    "webhooks": "web:organise_webhooks",
    "workers": "web:organise_workers",
}
"""Names of addresses by what their page shows."""


class WebConfig(AppConfig):
    name = "web"

    def ready(self) -> None:
        # Listens to logins.
        import web.site.logins  # noqa: F401  (it connects signals)
        from core.links import pages_register

        pages_register(PAGES)
