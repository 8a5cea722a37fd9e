"""Forms about people: their quotas, links that invite them, and lists of a class."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from core.models import InviteLink, Tournament, TournamentState, User
from core.models.quota import QUOTA_FIELDS
from web.organise.forms import QUOTA_LABELS

INVITES = "core.change_tournament"
"""The right to invite people to a tournament."""
MOST_BYTES = 200_000
"""The largest list of people."""

if TYPE_CHECKING:
    UserModelForm = forms.ModelForm[User]
    LinkModelForm = forms.ModelForm[InviteLink]
    TournamentChoiceField = forms.ModelChoiceField[Tournament]
else:
    # Not generic at run time.
    UserModelForm = LinkModelForm = forms.ModelForm
    TournamentChoiceField = forms.ModelChoiceField


class QuotasForm(UserModelForm):
    """The quotas of a person."""

    class Meta:
        model = User
        fields = ("is_quota_exempt", *QUOTA_FIELDS)
        labels = QUOTA_LABELS


class TournamentField(TournamentChoiceField):
    """A planned tournament to invite people to."""

    def __init__(self) -> None:
        rows = Tournament.objects.select_related("environment").filter(state=TournamentState.PLANNED)
        super().__init__(rows, required=False, empty_label="None", label="Invite them to")


class Inviting(forms.BaseForm):
    """A form that can invite people to a tournament. may_invite: whether this organiser may change tournaments."""

    def __init__(self, *args: Any, may_invite: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not may_invite:
            del self.fields["tournament"]


class LinkForm(Inviting, LinkModelForm):
    """A new link with which people create accounts."""

    days = forms.IntegerField(label="Days until it expires", min_value=1, max_value=366, initial=14)
    tournament = TournamentField()

    class Meta:
        model = InviteLink
        fields = ("name", "team", "most_accounts", "tournament")
        labels = {"name": "Who it is for", "most_accounts": "Accounts, at most"}
        help_texts = {"name": "Shown on the sign-up page, e.g. the name of a class.", "most_accounts": ""}

    field_order = ("name", "most_accounts", "days", "team", "tournament")

    def clean_most_accounts(self) -> int:
        count: int = self.cleaned_data["most_accounts"]
        if not 1 <= count <= 1000:
            raise ValidationError("Enter a number from 1 to 1000.")
        return count

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        self.instance.expires_at = timezone.now() + timedelta(days=data.get("days") or 1)
        return data


class ClassForm(Inviting, forms.Form):
    """A list of people, as a file or as text."""

    file = forms.FileField(
        label="CSV file",
        required=False,
        help_text="A line for each person: e-mail, user name, team, name. Only the e-mail is needed. For people "
        "without one begin with a line of these headings: they get codes on paper.",
        widget=forms.FileInput(attrs={"accept": ".csv,.txt,text/csv,text/plain"}),
    )
    text = forms.CharField(
        label="Or paste the list",
        required=False,
        max_length=MOST_BYTES,
        widget=forms.Textarea(attrs={"rows": 8, "class": "csv", "spellcheck": "false"}),
    )
    tournament = TournamentField()

    def clean_file(self) -> str:
        """Return the text of the file."""
        file = self.cleaned_data["file"]
        if file is None:
            return ""
        if file.size > MOST_BYTES:
            raise ValidationError(f"The file has {file.size} bytes; a list has at most {MOST_BYTES}.")
        try:
            text: str = file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValidationError("The file is not text in UTF-8. Save it as “CSV UTF-8”.") from None
        return text

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors and not (data.get("file") or data.get("text", "").strip()):
            raise ValidationError("Choose a file or paste a list.")
        data["text"] = data.get("file") or data.get("text", "")
        return data
