"""The forms of rows, as a table: who may change what, and the service that saves it.

The pages of organisers and the tables of the admin use the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils import timezone

from core.environments.services import environment_settings_save
from core.environments.trials import environment_upload
from core.errors import Refused
from core.models import (
    Agent,
    Environment,
    EnvironmentTrial,
    LanguageModel,
    Package,
    Season,
    TournamentSchedule,
    User,
    Webhook,
)
from core.notices.deliveries import webhook_prepare
from core.people.acting import owner_told
from core.people.second_factor_selectors import has_second_factor
from core.people.services import profile_save
from core.rollouts.packages import package_upload
from core.submissions.existing import agent_settings_save
from core.tournaments.schedules import schedule_save
from web.organise.environment_forms import EnvironmentForm
from web.organise.forms import PartedForm
from web.organise.season_forms import ScheduleForm, SeasonForm
from web.organise.thing_forms import AgentFieldsForm, FolderForm, LanguageModelForm, PackageForm, ProfileFieldsForm
from web.organise.webhook_forms import WebhookForm
from web.site.organisers import may_change_account

TABS = {
    "environmenttrial": "organise_environments",
    "languagemodel": "organise_applications",
    "package": "organise_applications",
    "season": "organise_tournaments",
    "tournamentschedule": "organise_tournaments",
}
"""The tab of each form whose list stands below a tab."""
Save = Callable[[Any, User, Collection[str]], str]


def anyone(user: User, row: Any) -> str:
    """Return no objection: every organiser with the right may change the row."""
    return ""


@dataclass(frozen=True, slots=True)
class Editor:
    """The form of the rows of a model. back: the name of the page that lists them.

    save: stores the columns of a row that have changed, and returns a sentence that has to be shown, or raises Refused.
    may_add, may_change: whether there is a form for a new row, and for one that is there. objection: why this organiser
    may not change a row. button: the word on it. leads: whether it leads to the job's own page, not to the list.
    """

    model: type[Model]
    form: type[PartedForm]
    save: Save
    back: str
    about: str = ""
    may_add: bool = False
    may_change: bool = True
    objection: Callable[[User, Any], str] = anyone
    button: str = "Save"
    leads: bool = False

    @property
    def kind(self) -> str:
        """The name of its model, in small letters."""
        return str(self.model._meta.model_name)

    @property
    def tab(self) -> str:
        """The name of the tab that its page belongs to."""
        return TABS.get(self.kind, self.back.partition(":")[2])

    def right(self, verb: str) -> str:
        """Return the right to change or to add a row."""
        return f"core.{verb}_{self.kind}"

    def saved(self, form: PartedForm, user: User) -> str:
        """Save a valid form and tell the owner; return a sentence that has to be shown, mostly none. Raises Refused.

        A form leaves out constraints over columns that it does not have, and two forms may be sent at once.
        """
        columns = {column.name for column in self.model._meta.concrete_fields}
        changed = {"settings" if name.startswith("settings.") else name for name in form.changed_data}
        try:
            with transaction.atomic():
                sentence = self.save(form.instance, user, columns & changed)
                if changes := ", ".join(filter(None, map(form.told, form.changed_data))):
                    owner_told(by=user, row=form.instance, sentence=f"was changed: {changes}")
                return sentence
        except IntegrityError:
            raise Refused(f"There is already one {self.model._meta.verbose_name} with this name or address.") from None


def _agent(agent: Agent, user: User, fields: Collection[str]) -> str:
    agent_settings_save(agent=agent, fields=fields, by=user)
    return ""


def _environment(environment: Environment, user: User, fields: Collection[str]) -> str:
    environment_settings_save(environment=environment, fields=fields)
    return ""


def _profile(person: User, user: User, fields: Collection[str]) -> str:
    if "email" in fields and has_second_factor(person) and not user.is_superuser:
        # The owner of the mailbox of an unconfirmed address removes second factors by a new password, and only
        # superusers may remove those of others.
        raise Refused("Only superusers may change the e-mail of an account with a second factor.", field="email")
    profile_save(user=person, fields=fields)
    return f"A link that confirms the address goes to {person.email}." if "email" in fields else ""


def _model(model: LanguageModel, user: User, fields: Collection[str]) -> str:
    _store(model, fields)
    return f"Its key is read by the workers from {model.key_name} in MODEL_KEYS." if model.key_name else ""


def _package(package: Package, user: User, fields: Collection[str]) -> str:
    if not package._state.adding:
        _store(package, fields)
        return ""
    archive: Any = package.archive.file
    made, is_new = package_upload(owner=user, archive=archive, is_public=package.is_public, note=package.note)
    package.pk = made.pk
    package.refresh_from_db()
    return "" if is_new else "The arena had this zip already, and nothing has changed."


def _folder(trial: EnvironmentTrial, user: User, fields: Collection[str]) -> str:
    archive: Any = trial.archive.file
    made = environment_upload(owner=user, archive=archive)
    trial.pk = made.pk
    trial.refresh_from_db()
    return ""


def _season(season: Season, user: User, fields: Collection[str]) -> str:
    _store(season, fields)
    return ""


def _schedule(schedule: TournamentSchedule, user: User, fields: Collection[str]) -> str:
    if schedule._state.adding:
        schedule.created_by = user
    schedule_save(schedule=schedule, now=timezone.now())
    return ""


def _webhook(webhook: Webhook, user: User, fields: Collection[str]) -> str:
    if not webhook._state.adding:
        _store(webhook, fields)
        return ""
    secret = webhook_prepare(webhook=webhook, created_by=user)
    webhook.save()
    return f"The secret of this webhook is {secret}. Copy it now: it is never shown again."


def _store(row: Model, fields: Collection[str]) -> None:
    """Save a new row, or the columns of an old one that have changed: the form may be older than the others."""
    row.save(update_fields=None if row._state.adding else fields)


def _not_theirs(user: User, person: User) -> str:
    return "" if may_change_account(user, person) else "Only superusers may change the accounts of organisers."


EDITORS = {
    editor.kind: editor
    for editor in (
        Editor(Agent, AgentFieldsForm, _agent, "web:organise_agents"),
        Editor(Environment, EnvironmentForm, _environment, "web:organise_environments"),
        Editor(User, ProfileFieldsForm, _profile, "web:organise_people", objection=_not_theirs,
               about="A changed address has to be confirmed by a link that is mailed there."),
        Editor(Package, PackageForm, _package, "web:organise_packages", may_add=True, button="Upload",
               about="A package runs programs of its own. The arena builds it, then tries its tasks."),
        Editor(EnvironmentTrial, FolderForm, _folder, "web:organise_jobs_environmenttrial", may_add=True,
               may_change=False, button="Upload", leads=True,
               about="The folder is tried in a container without a network; a superuser then puts it live. Only "
               "organisers to whom a superuser gave the right may upload one."),
        Editor(LanguageModel, LanguageModelForm, _model, "web:organise_models", may_add=True,
               about="A model stays, because rollouts name it; one that is not active can no longer be chosen."),
        Editor(Season, SeasonForm, _season, "web:organise_seasons", may_add=True),
        Editor(TournamentSchedule, ScheduleForm, _schedule, "web:organise_schedules", may_add=True),
        Editor(Webhook, WebhookForm, _webhook, "web:organise_webhooks", may_add=True),
    )
}  # fmt: skip
"""By the name of the model, in small letters."""
