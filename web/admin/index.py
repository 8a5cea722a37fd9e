"""The index of the admin: pages grouped by what they are for instead of by Django application."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from web.admin.rows import Table
from web.admin.tables import GROUPS

NAMES = {
    "axes.accessattempt": "Failed logins",
    "mfa.authenticator": "Second factors",
    "socialaccount.socialaccount": "Logins of providers",
}
"""Names on the index for models of other packages, whose own names mean little to organisers."""

App = dict[str, Any]


def grouped(apps: Iterable[App], address: str) -> list[App]:
    """Return Django's list of applications as groups; models without a group stay with their application.

    address: of the index, to which the titles of the groups lead.
    """
    apps = list(apps)
    models = {model["model"]._meta.label_lower: model for app in apps for model in app["models"]}
    for name in NAMES.keys() & models.keys():
        models[name] = {**models[name], "name": NAMES[name]}
    groups = [
        _group(title, slug, address, [models.pop(name) for name in labels(tables) if name in models])
        for title, slug, tables in GROUPS
    ]
    left = [{**app, "models": [model for model in app["models"] if model in models.values()]} for app in apps]
    return [group for group in (*groups, *left) if group["models"]]


def labels(tables: Iterable[Table | str]) -> list[str]:
    """Return the models of a group, as `app.model`."""
    return [table if isinstance(table, str) else table.model._meta.label_lower for table in tables]


def _group(title: str, slug: str, address: str, models: Sequence[App]) -> App:
    # The fragment keeps Django from taking every page below the index for a page of this group.
    return {
        "name": title,
        "app_label": slug,
        "app_url": f"{address}#{slug}",
        "has_module_perms": True,
        "models": list(models),
    }
