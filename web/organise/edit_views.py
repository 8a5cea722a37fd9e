"""The page of every form of a row: it adds or changes one."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from core.errors import Refused
from web.organise.acting import record
from web.organise.audits import form_changes
from web.organise.editors import EDITORS, Editor
from web.organise.forms import PartedForm, zoned
from web.site.forms import refuse
from web.site.organisers import check, files_sent, organiser, organisers, sent


@organisers()
def add(request: HttpRequest, kind: str) -> HttpResponse:
    """Add a row."""
    editor = EDITORS[kind]
    check(request, editor.right("add"))
    with zoned(request):
        return _page(request, editor, editor.form(sent(request), files_sent(request)))


@organisers()
def change(request: HttpRequest, kind: str, row_id: int) -> HttpResponse:
    """Change a row."""
    editor = EDITORS[kind]
    check(request, editor.right("change"))
    row = get_object_or_404(editor.model, pk=row_id)
    if objection := editor.objection(organiser(request), row):
        raise PermissionDenied(objection)
    with zoned(request, row):
        return _page(request, editor, editor.form(sent(request), files_sent(request), instance=row))


def _page(request: HttpRequest, editor: Editor, form: PartedForm) -> HttpResponse:
    """Save the form, or show it with what is wrong."""
    is_new = form.instance.pk is None
    title = f"Add a {editor.model._meta.verbose_name}" if is_new else f"Change {form.instance}"
    if form.is_valid() and (sentence := _saved(request, editor, form)) is not None:
        said = f"{form.instance} is saved"
        if sentence and is_new:
            # In this answer alone, which no cache keeps: it may hold a secret.
            shown = {"title": said, "sentence": sentence, "back": editor.back, "tab": editor.tab}
            return render(request, "web/organise/saved.html", shown)
        (messages.warning if sentence else messages.success)(request, f"{said}. {sentence}".strip())
        return redirect("web:organise_job", editor.kind, form.instance.pk) if editor.leads else redirect(editor.back)
    context = {"form": form, "title": title, "about": editor.about, "back": editor.back, "tab": editor.tab}
    context |= {"button": editor.button if is_new else "Save"}
    return render(request, "web/organise/change.html", context, status=422 if form.errors else 200)


def _saved(request: HttpRequest, editor: Editor, form: PartedForm) -> str | None:
    """Save a valid form with its entry in the audit log; return a sentence that has to be shown, mostly none.

    None is a refusal, which the form shows.
    """
    is_new = form.instance.pk is None
    try:
        with transaction.atomic():
            sentence = editor.saved(form, organiser(request))
            record(request, "add" if is_new else "change", form.instance, changes=form_changes(form, ()))
    except Refused as refusal:
        if is_new:
            form.instance.pk = None
        refuse(form, refusal)
        return None
    return sentence
