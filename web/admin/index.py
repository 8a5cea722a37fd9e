"""The organisers' index: pages grouped by what they are for instead of by Django application."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

GROUPS = (
    ("Tournaments and duels", "play", (
        "core.environment", "core.tournament", "core.tournamentschedule", "core.season", "core.registration",
        "core.participant", "core.duel", "core.analysis", "core.challenge", "core.sitting", "core.run",
        "core.promotion", "core.seedlist",
    )),
    ("Agents and their versions", "agents", (
        "core.agent", "core.submission", "core.build", "core.validation", "core.evaluation", "core.recording",
        "core.publication",
    )),
    ("Applications", "applications", (
        "core.package", "core.packagebuild", "core.taskfile", "core.task", "core.batch", "core.rollout",
        "core.rolloutverdict", "core.worldlease", "core.languagemodel",
    )),
    ("People", "people", (
        "core.user", "auth.group", "core.invitelink", "core.apitoken", "mfa.authenticator",
        "socialaccount.socialaccount", "axes.accessattempt", "core.notice", "core.noticechoice", "core.letter",
    )),
    ("Results", "results", (
        "core.ledgerentry", "core.ledgervoid", "core.rating", "core.ratingpoint", "core.ratingpool", "core.lens",
    )),
    ("Operation", "operation", (
        "core.alarm", "core.worker", "core.workerhost", "core.duty", "core.auditentry", "core.webhook", "core.delivery",
        "django_q.ormq", "django_q.schedule", "django_q.success", "django_q.failure",
    )),
)  # fmt: skip
"""Title, slug and models of each group, in the order of the page."""
NAMES = {
    "axes.accessattempt": "Failed logins",
    "mfa.authenticator": "Second factors",
    "socialaccount.socialaccount": "Logins of providers",
}
"""Names on the index for models of other packages, whose own names say little to organisers."""

App = dict[str, Any]


def grouped(apps: Iterable[App], address: str) -> list[App]:
    """Return Django's list of applications as groups; models without a group stay with their application.

    address: of the index, to which the titles of the groups lead.
    """
    apps = list(apps)
    models = {model["model"]._meta.label_lower: model for app in apps for model in app["models"]}
    for name in NAMES.keys() & models.keys():
        models[name] = {**models[name], "name": NAMES[name]}
    groups = [_group(title, slug, address, [models.pop(name) for name in names if name in models])
              for title, slug, names in GROUPS]  # fmt: skip
    left = [{**app, "models": [model for model in app["models"] if model in models.values()]} for app in apps]
    return [group for group in (*groups, *left) if group["models"]]


def _group(title: str, slug: str, address: str, models: Sequence[App]) -> App:
    # The fragment keeps Django from taking every page below the index for a page of this group.
    return {
        "name": title,
        "app_label": slug,
        "app_url": f"{address}#{slug}",
        "has_module_perms": True,
        "models": list(models),
    }
