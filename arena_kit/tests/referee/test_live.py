"""What another thread sees of a duel while it is played."""

from __future__ import annotations

from arena_kit.referee.live import LiveView
from arena_kit.tests.duels import mixed, outline, play

MATCHES = 60
"""Both matches of a pair may end before a look; not all pairs do."""


def test_a_look_at_a_duel_shows_the_beginnings_of_its_records_and_changes_nothing() -> None:
    view = LiveView()
    seen: dict[int, list[tuple[int, ...]]] = {}
    ended: set[int] = set()

    def look(_: int) -> None:
        ended.update(record.number for record in view.over(ended))
        for number in view.running():
            if actions := view.actions(number):
                seen.setdefault(number, []).append(actions)

    record = play(mixed, matches=MATCHES, parallel=2, live=view, on_progress=look).record
    look(MATCHES)
    matches = {match.number: match for match in record.matches}
    assert ended == set(matches)
    assert seen, "no match was seen while it was played"
    for number, looks in seen.items():
        assert all(matches[number].actions[: len(actions)] == actions for actions in looks)
        assert looks == sorted(looks, key=len)
    assert view.running() == []
    assert view.actions(1) is None
    assert outline(record) == outline(play(mixed, matches=MATCHES, parallel=2).record)
