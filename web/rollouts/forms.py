"""Forms of applications: a file of tasks, the filter of tasks, and what a batch of rollouts is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import QueryDict

from arena_kit.rollout.tasks.file import MOST_BYTES
from core.models import Acceptance, Environment, Submission, Task, TaskSplit, User
from core.people.rights import may
from core.rollouts.batches import MOST_ATTEMPTS, MOST_PROMPT, Options
from core.rollouts.choosing import AGENT, NOTHING, ORACLE
from core.rollouts.permissions import OTHERS, models_for
from core.rollouts.selectors import TaskFilter
from core.rollouts.sets import ranking_tasks, task_set_get, tasks_that_may_rank

ANY = ("", "any")
DIFFICULTIES = (ANY, ("easy", "easy"), ("medium", "medium"), ("hard", "hard"))
OFTEN = (ANY, ("always", "always"), ("sometimes", "sometimes"), ("never", "never"))


class TaskFileForm(forms.Form):
    """Upload a `tasks.json`."""

    file = forms.FileField(label="tasks.json", widget=forms.ClearableFileInput(attrs={"accept": ".json"}))
    allow_duplicates = forms.BooleanField(
        required=False, label="Keep duplicates", help_text="Also write tasks that are equal to one that is there."
    )

    def data_sent(self) -> bytes:
        """Return the file, or one byte more than it may have."""
        data: bytes = self.cleaned_data["file"].read(MOST_BYTES + 1)
        return data


class TaskFilterForm(forms.Form):
    """The filter of a list of tasks, with the API's names. A wrong value is reported and not applied."""

    query = forms.CharField(required=False, max_length=200, label="Words")
    tag = forms.ChoiceField(required=False)
    difficulty = forms.ChoiceField(required=False, choices=DIFFICULTIES)
    split = forms.ChoiceField(required=False, choices=(ANY, *TaskSplit.choices))
    often = forms.ChoiceField(required=False, choices=OFTEN, label="Solved")
    acceptance = forms.ChoiceField(required=False, choices=(ANY, *Acceptance.choices[1:]), label="Tested")
    duplicates = forms.BooleanField(required=False, label="Only duplicates of others")
    archived = forms.BooleanField(required=False, label="Only archived ones")

    def __init__(self, *args: Any, tags: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.auto_id = "tasks_%s"
        tag = self.fields["tag"]
        assert isinstance(tag, forms.ChoiceField)
        tag.choices = [ANY, *((name, name) for name in tags)]

    @property
    def wanted(self) -> TaskFilter:
        """The filter, without values that are wrong."""
        self.full_clean()
        return TaskFilter(**{name: value for name, value in self.cleaned_data.items() if value})


class TaskSetForm(forms.Form):
    """The choice of the tasks that rank agents."""

    board = forms.TypedMultipleChoiceField(
        coerce=int, label="Tasks that rank agents", widget=forms.CheckboxSelectMultiple, required=False
    )

    def __init__(self, data: QueryDict | None = None, *, environment: Environment) -> None:
        self.rows = {task.pk: task for task in tasks_that_may_rank(environment)}
        chosen = {task.pk for task in ranking_tasks(task_set_get(environment))}
        super().__init__(data, initial={"board": [pk for pk in self.rows if pk in chosen]})
        field = self.fields["board"]
        assert isinstance(field, forms.TypedMultipleChoiceField)
        field.choices = [(pk, f"{task}, {task.get_split_display()}") for pk, task in self.rows.items()]

    @property
    def tasks(self) -> list[Task]:
        """The tasks that were chosen."""
        return [self.rows[pk] for pk in self.cleaned_data["board"]]


class BatchForm(forms.Form):
    """The form of a batch of rollouts."""

    agent = forms.ChoiceField()
    model = forms.ChoiceField(required=False, label="Its model", help_text="Only for agents that use a language model.")
    attempts = forms.IntegerField(min_value=1, max_value=MOST_ATTEMPTS, initial=1, label="Attempts at each task")
    vision = forms.BooleanField(required=False, label="Pictures", help_text="The agent gets a picture of every page.")
    temperature = forms.FloatField(required=False, min_value=0, max_value=2)
    steps = forms.IntegerField(required=False, min_value=1, label="Steps at most")
    tokens = forms.IntegerField(required=False, min_value=1, label="Tokens at most")
    prompt = forms.CharField(
        required=False, max_length=MOST_PROMPT, label="Addition to the prompt", widget=forms.Textarea(attrs={"rows": 3})
    )
    note = forms.CharField(required=False, max_length=200)

    def __init__(self, *args: Any, user: User, environment: Environment, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        models = list(models_for(user).values_list("name", flat=True))
        built = Submission.objects.filter(agent__environment=environment, deleted_at=None).exclude(image="")
        if not may(user, OTHERS):
            built = built.filter(agent__owner=user)
        names = sorted(set(built.values_list("agent__name", flat=True)), key=str.lower)
        agent, model = self.fields["agent"], self.fields["model"]
        assert isinstance(agent, forms.ChoiceField)
        assert isinstance(model, forms.ChoiceField)
        agent.choices = [
            ("Language models", [(name, name) for name in models]),
            ("Agents", [(AGENT + name, name) for name in names]),
            ("To try tasks", [(ORACLE, "the oracle of each task"), (NOTHING, "nothing")]),
        ]
        model.choices = [("", "none"), *((name, name) for name in models)]

    @property
    def word(self) -> str:
        """Return the word that `agent_chosen` understands."""
        agent, model = self.cleaned_data["agent"], self.cleaned_data["model"]
        return f"{agent}@{model}" if model and agent.startswith(AGENT) else str(agent)

    @property
    def config(self) -> dict[str, Any]:
        """Return the configuration with which the agent is started."""
        return {name: self.cleaned_data[name] for name in ("vision", "temperature", "prompt")}

    @property
    def batch_options(self) -> Options:
        """How the rollouts are made."""
        sent = self.cleaned_data
        limits = {name: sent[name] for name in ("steps", "tokens") if sent[name]}
        return Options(attempts=sent["attempts"], limits=limits, note=sent["note"])
