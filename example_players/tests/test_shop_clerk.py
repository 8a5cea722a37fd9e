"""The clerk without a model, at pages as the browser tells them."""

from __future__ import annotations

from typing import Any

import pytest

from example_players.shop_clerk.player import Player

ORDER = """- main [ref=f3e8] [box=160,85,960,369]:
  - heading "Order 17" [level=1] [ref=f3e9] [box=160,85,960,48]
  - paragraph [ref=f3e10] [box=160,155,960,24]:
    - link "Dana Kovac" [ref=f3e11] [cursor=pointer] [box=160,158,87,17]:
      - /url: /customers/58
    - text: ", ordered on 2026-01-12, open. Total: 194.62"
  - button "Mark as sent" [ref=f3e30] [box=160,310,96,21]
  - combobox "Reason" [ref=f3e40] [box=160,410,96,21]:
    - option "damaged" [selected]
    - option "late"
  - button "Refund" [ref=f3e41] [box=160,440,96,21]
"""
CUSTOMERS = """- table [ref=f3e10] [box=160,155,960,2110]:
  - rowgroup [ref=f3e11] [box=160,155,960,34]:
    - row [ref=f3e12] [box=160,155,960,34]:
      - columnheader "Customer" [ref=f3e13] [box=160,155,436,34]
  - rowgroup [ref=f3e16] [box=160,189,960,2076]:
    - row [ref=f3e17] [box=160,189,960,35]:
      - cell [ref=f3e18] [box=160,189,436,35]:
        - link "Ada Abel" [ref=f3e19] [cursor=pointer] [box=170,197,64,17]:
          - /url: /customers/40
      - cell "Bergen" [ref=f3e20] [box=596,189,245,35]
      - cell "38.02" [ref=f3e21] [box=841,189,279,35]
    - row [ref=f3e22] [box=160,224,960,35]:
      - cell [ref=f3e23] [box=160,224,436,35]:
        - link "Ada Hale" [ref=f3e24] [cursor=pointer] [box=170,232,66,17]:
          - /url: /customers/37
      - cell "Zadar" [ref=f3e25] [box=596,224,245,35]
      - cell "198.68" [ref=f3e26] [box=841,224,279,35]
"""
GONE = "- alert [ref=f3e9]: There is no order 999."
BALANCE = '- paragraph [ref=f3e10]: "Zadar. Balance: 243.42"'


def deeds(goal: str, *pages: str) -> list[tuple[Any, ...]]:
    """What the clerk does at a task when it sees these pages after its actions."""
    player = Player(False)
    actions = [player.start({"goal": goal, "snapshot": "", "title": ""}, [])]
    actions += [player.step({"goal": goal, "snapshot": page, "title": ""}, [], 0.0) for page in pages]
    return [tuple(value for name, value in action.items() if name not in ("note", "reason")) for action in actions]


@pytest.mark.parametrize(
    ("goal", "pages", "last"),
    [
        ("Mark order 17 as sent.", [ORDER], ("click", "f3e30")),
        ("Mark order 60 as sent.", [ORDER.replace("Mark", "Show")], ("give_up", "NOT_ALLOWED")),
        ("Refund order 999 because it was late.", [GONE], ("give_up", "NOT_FOUND")),
        ("Refund order 17 because it was late.", [ORDER], ("select_option", "f3e40", ["late"])),
        (
            "Refund order 17 because it was damaged, and tell the new balance of its customer.",
            [ORDER, ORDER, "", BALANCE],
            ("answer", {"balance": 243.42}),
        ),
        ("What is the total of order 17?", [ORDER], ("answer", {"total": 194.62})),
        (
            "Which customer has the largest balance, and in which city?",
            [CUSTOMERS],
            ("answer", {"customer": "Ada Hale", "city": "Zadar"}),
        ),
    ],
)
def test_the_clerk_follows_its_rules(goal: str, pages: list[str], last: tuple[Any, ...]) -> None:
    assert deeds(goal, *pages)[-1] == last


def test_the_clerk_gives_up_what_it_has_no_rule_for() -> None:
    assert deeds("Paint the shop.") == [("give_up", "UNKNOWN")]
