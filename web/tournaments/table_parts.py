"""The form that filters the table of an edition."""

from __future__ import annotations

from django import forms

from core.tournaments.tables import DEFAULT_SORT, LARGEST_COUNT, SORTS, TableFilter

SORT_TITLES = dict(zip(SORTS, ("Rank", "Rating", "Name", "Owner", "Most matches", "Newest"), strict=True))
TEXT = {"autocomplete": "off"}


class TableForm(forms.Form):
    """The filter with the names of the API; wrong values are reported and not applied."""

    q = forms.CharField(required=False, max_length=100, label="Search", widget=forms.TextInput(attrs=TEXT))
    owner = forms.CharField(required=False, max_length=100, widget=forms.TextInput(attrs=TEXT))
    team = forms.CharField(required=False, max_length=100, widget=forms.TextInput(attrs=TEXT))
    matches_min = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_COUNT, label="Rated matches from")

    @property
    def wanted(self) -> TableFilter:
        """The filter of the values that are valid."""
        self.full_clean()
        found = {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}
        sort = self.data.get("sort", "")
        return TableFilter(**found, sort=sort if sort in SORTS else DEFAULT_SORT)
