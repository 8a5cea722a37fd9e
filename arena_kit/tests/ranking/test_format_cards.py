"""What forms say of formats is what the formats do."""

from __future__ import annotations

from itertools import product

import pytest

from arena_kit.errors import Refused
from arena_kit.ranking.format_settings import FORMATS as CARDS
from arena_kit.ranking.format_settings import fewest_participants, settings_checked
from arena_kit.ranking.formats import FORMATS, Impossible, format_make, settings_of


def test_forms_know_every_format_by_name_with_its_settings() -> None:
    assert {slug: card.name for slug, card in CARDS.items()} == {slug: kind.name for slug, kind in FORMATS.items()}
    for slug, kind in FORMATS.items():
        # Meetings are as long as those of the environment's editions, which forms do not know.
        assert {setting.name: setting.default for setting in CARDS[slug].settings} == {
            **settings_of(kind),
            "pairs": None,
        }


def test_a_form_can_have_one_box_for_every_setting() -> None:
    settings = {setting for card in CARDS.values() for setting in card.settings}
    assert len({setting.name for setting in settings}) == len(settings)
    # A box that is not ticked is one that is left out.
    assert not any(setting.default is True for setting in settings)


@pytest.mark.parametrize("slug", CARDS)
def test_a_form_takes_what_the_format_takes_and_knows_how_many_it_needs(slug: str) -> None:
    choices = [
        sorted({setting.least, min(setting.least + 2, setting.most), setting.most}) if setting.most else [False, True]
        for setting in CARDS[slug].settings
    ]
    names = [setting.name for setting in CARDS[slug].settings]
    for values in product(*choices):
        settings = dict(zip(names, values, strict=True))
        try:
            fewest = fewest_participants(slug, settings)
        except Refused:
            with pytest.raises(Impossible):
                format_make(slug, settings)
            continue
        played = format_make(slug, settings)
        # Formats also refuse what would be too much to play, which plans may.
        if fewest <= 30:
            played.check(fewest)
        with pytest.raises(Impossible):
            played.check(fewest - 1)


@pytest.mark.parametrize(
    ("slug", "settings", "sentence"),
    [
        ("chess", {}, "There is no format 'chess'; take one of round-robin, swiss"),
        ("swiss", {"legs": 2}, "Swiss has no setting 'legs'; it has pairs, stops_early, rounds."),
        ("swiss", {"rounds": 0}, "rounds is 0; make it a whole number from 1 to 100."),
        ("swiss", {"rounds": True}, "rounds is True; make it a whole number"),
        ("round-robin", {"legs": "2"}, "legs is '2'; make it a whole number from 1 to 2."),
        ("single-elimination", {"third_place": 1}, "third_place is 1; make it true or false."),
        ("round-robin", {"stops_early": 1}, "stops_early is 1; make it true or false."),
        ("groups-knock-out", {"groups": 2, "advance": 1, "third_place": True}, "needs 4 who go on from the groups"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_what_to_do(
    slug: str, settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(Refused) as refusal:
        settings_checked(slug, settings)
    assert sentence in str(refusal.value)
    with pytest.raises(Impossible):
        format_make(slug, settings)
