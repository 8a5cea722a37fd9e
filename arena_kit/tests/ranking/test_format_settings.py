"""Settings of formats: what forms may ask of them, and what they refuse."""

from __future__ import annotations

from itertools import product

import pytest

from arena_kit.ranking.formats import FORMATS, Impossible, format_make, settings_checked, settings_of


def test_a_form_can_have_one_box_for_every_setting() -> None:
    settings = {setting for kind in FORMATS.values() for setting in settings_of(kind)}
    assert len({setting.name for setting in settings}) == len(settings)
    assert all(setting.meaning.endswith(".") for setting in settings)
    # A box that is not ticked is one that is left out.
    assert not any(setting.default is True for setting in settings)


@pytest.mark.parametrize("slug", FORMATS)
def test_a_format_knows_how_many_participants_it_needs(slug: str) -> None:
    kind = settings_of(FORMATS[slug])
    choices = [
        sorted({setting.least, min(setting.least + 2, setting.most), setting.most}) if setting.most else [False, True]
        for setting in kind
    ]
    played = []
    for values in product(*choices):
        settings = {setting.name: value for setting, value in zip(kind, values, strict=True)}
        if settings.get("third_place") and settings.get("groups", 4) * settings.get("advance", 1) < 4:
            with pytest.raises(Impossible):
                format_make(slug, settings)
            continue
        played.append(format_make(slug, settings))
    assert played
    for form in played:
        # Formats also refuse what would be too much to play, which plans may.
        if form.fewest <= 30:
            form.check(form.fewest)
        with pytest.raises(Impossible):
            form.check(form.fewest - 1)


def test_only_what_is_given_is_stored() -> None:
    given = {"pairs": None, "legs": 2, "stops_early": False}
    assert settings_checked("round-robin", given) == {"legs": 2, "stops_early": False}


@pytest.mark.parametrize(
    ("slug", "settings", "sentence"),
    [
        ("chess", {}, "There is no format 'chess'; take one of round-robin, swiss"),
        ("swiss", {"legs": 2}, "Swiss has no setting 'legs'. Its settings are pairs, stops_early, rounds."),
        ("swiss", {"rounds": 0}, "rounds is 0; make it a whole number from 1 to 100."),
        ("swiss", {"rounds": True}, "rounds is True; make it a whole number"),
        ("round-robin", {"legs": "2"}, "legs is '2'; make it a whole number from 1 to 2."),
        ("single-elimination", {"third_place": 1}, "third_place is 1; make it true or false."),
        ("round-robin", {"stops_early": 1}, "stops_early is 1; make it true or false."),
        ("groups-knock-out", {"groups": 2, "advance": 1, "third_place": True}, "needs 4 participants in the knock-out"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_what_to_do(
    slug: str, settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(Impossible) as refusal:
        settings_checked(slug, settings)
    assert sentence in str(refusal.value)
    assert refusal.value.field == ("format" if slug == "chess" else f"settings.{list(settings)[-1]}")
