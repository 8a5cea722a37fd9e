"""The changes of a form, as the audit log shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.forms import BaseModelForm

from core.people.audit_log import Changes, names_of, shown


def form_changes(form: BaseModelForm[Any], formsets: Iterable[Any]) -> Changes:
    """Return what a form and its formsets have changed."""
    changes: Changes = {
        name: [shown(name, form.initial.get(name)), shown(name, form.cleaned_data.get(name))]
        for name in form.changed_data
    }
    for formset in formsets:
        name = str(formset.model._meta.verbose_name_plural)
        lists = (formset.deleted_objects, formset.new_objects, [row for row, _ in formset.changed_objects])
        gone, new, changed = (names_of(rows) for rows in lists)
        if gone or new or changed:
            changes[name] = [gone, [*new, *(f"changed: {one}" for one in changed)]]
    return changes
