"""A clerk without a language model: rules for the tasks of the application `shop`, by what the page shows.

What it has no rule for it gives up at once. Copy it to see what an agent in an application gets and what it returns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from typing import Any

Action = dict[str, Any]
State = Mapping[str, Any]
Plan = Generator[Action, State, Action]
"""Yields actions, is sent the state after each, and returns the last action."""
_ELEMENT = re.compile(r'^\s*- (?P<role>[\w-]+) "(?P<name>(?:[^"\\]|\\.)*)".*?\[ref=(?P<ref>\w+)\]', re.MULTILINE)
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NOT_FOUND = {"action": "give_up", "status": "NOT_FOUND", "reason": "The application says that it is not there."}
_NOTHING: Action = {"action": "answer", "value": None}


class Player:
    """Follows the plan for its task, one action at a time."""

    def __init__(self, train_mode: bool = False) -> None:
        self._plan: Plan | None = None

    def start(self, state: State, valid_actions: object) -> Action:
        """Choose a plan by the words of the task, and return its first action."""
        self._plan = plan_of(str(state["goal"]))
        return self._next(None)

    def step(self, state: State, valid_actions: object, prev_reward: float) -> Action:
        """Go on with what there is to see now."""
        return self._next(state)

    def end(self, state: State, prev_reward: float) -> None:
        """Hear that it is over."""

    def _next(self, state: State | None) -> Action:
        assert self._plan is not None
        try:
            return next(self._plan) if state is None else self._plan.send(state)
        except StopIteration as over:
            found: Action = over.value
            return found


def plan_of(goal: str) -> Plan:
    """Return the plan for a task; one that gives up where no rule fits."""
    for pattern, plan in RULES:
        if found := re.search(pattern, goal):
            made: Plan = plan(goal, *found.groups())
            return made
    return unknown()


def unknown() -> Plan:
    """Give up."""
    yield from ()
    return {"action": "give_up", "status": "UNKNOWN", "reason": "This clerk has no rule for that."}


def send(_: str, number: str) -> Plan:
    """Mark an order as sent."""
    seen = yield {"action": "goto", "url": f"/orders/{number}", "note": f"I open order {number}."}
    if "There is no order" in seen["snapshot"]:
        return _NOT_FOUND
    button = ref(seen, "button", "Mark as sent")
    if button is None:
        return {"action": "give_up", "status": "NOT_ALLOWED", "reason": "The order is not open."}
    yield {"action": "click", "ref": button}
    return _NOTHING


def refund(goal: str, number: str, reason: str) -> Plan:
    """Refund an order; tell the new balance of the customer if the task asks for it."""
    seen = yield {"action": "goto", "url": f"/orders/{number}", "note": f"I open order {number}."}
    if "There is no order" in seen["snapshot"]:
        return _NOT_FOUND
    customer = re.search(r"/url: (/customers/\d+)", seen["snapshot"])
    seen = yield {"action": "select_option", "ref": ref(seen, "combobox", "Reason"), "values": [reason]}
    yield {"action": "click", "ref": ref(seen, "button", "Refund")}
    if "balance" not in goal or customer is None:
        return _NOTHING
    seen = yield {"action": "goto", "url": customer[1], "note": "The balance is on the customer's page."}
    return {"action": "answer", "value": {"balance": number_after("Balance", seen)}}


def stock(_: str, name: str, pieces: str) -> Plan:
    """Set how many pieces of a product there are."""
    seen = yield from product(name)
    seen = yield {"action": "fill", "ref": ref(seen, "spinbutton", "In stock"), "text": pieces}
    seen = yield {"action": "click", "ref": ref(seen, "button", "Set stock")}
    if "Not done" in seen["title"]:
        return {"action": "give_up", "status": "INVALID_DATA", "reason": "The application refuses that number."}
    return _NOTHING


def review(_: str, name: str, author: str, stars: str, text: str) -> Plan:
    """Add a review."""
    seen = yield from product(name)
    seen = yield {"action": "fill", "ref": ref(seen, "textbox", "Author"), "text": author}
    seen = yield {"action": "select_option", "ref": ref(seen, "combobox", "Stars"), "values": [stars]}
    seen = yield {"action": "fill", "ref": ref(seen, "textbox", "Review"), "text": text}
    yield {"action": "click", "ref": ref(seen, "button", "Add review")}
    return _NOTHING


def total(_: str, number: str) -> Plan:
    """Read the total of an order."""
    seen = yield {"action": "goto", "url": f"/orders/{number}"}
    return {"action": "answer", "value": {"total": number_after("Total", seen)}}


def stars(_: str, name: str) -> Plan:
    """Return the mean of a product's stars."""
    seen = yield from product(name)
    given = [int(cells[1]) for cells in rows(seen) if len(cells) == 3 and cells[1].isdecimal()]
    return {"action": "answer", "value": {"stars": sum(given) / max(1, len(given))}}


def open_orders(_: str) -> Plan:
    """Count the open orders."""
    seen = yield {"action": "goto", "url": "/orders?status=open"}
    return {"action": "answer", "value": sum(cells[-1] == "open" for cells in rows(seen))}


def dearest(_: str) -> Plan:
    """Return the product with the highest price."""
    seen = yield {"action": "goto", "url": "/"}
    name, _category, price, _stock = max(
        (cells for cells in rows(seen) if len(cells) == 4), key=lambda it: float(it[2])
    )
    return {"action": "answer", "value": {"product": name, "price": float(price)}}


def largest_balance(_: str) -> Plan:
    """Return the customer with the largest balance."""
    seen = yield {"action": "goto", "url": "/customers"}
    name, city, _balance = max((cells for cells in rows(seen) if len(cells) == 3), key=lambda it: float(it[2]))
    return {"action": "answer", "value": {"customer": name, "city": city}}


def most_common_city(_: str) -> Plan:
    """Return the city in which most customers live."""
    seen = yield {"action": "goto", "url": "/customers"}
    counted = Counter(cells[1] for cells in rows(seen) if len(cells) == 3)
    return {"action": "answer", "value": counted.most_common(1)[0][0]}


def product(name: str) -> Generator[Action, State, State]:
    """Open the page of a product by its name."""
    seen = yield {"action": "goto", "url": f"/?q={name.replace(' ', '+')}", "note": f"I look for the {name}."}
    return (yield {"action": "click", "ref": ref(seen, "link", name)})


def ref(state: State, role: str, name: str) -> str | None:
    """Return the reference of the first element with this role and name; None without one."""
    elements = _ELEMENT.finditer(state["snapshot"])
    return next((each["ref"] for each in elements if (each["role"], each["name"]) == (role, name)), None)


def rows(state: State) -> Iterator[list[str]]:
    """Yield the texts of the cells of each row of the tables of a page, without their heads."""
    for row in re.split(r"^\s*- row ", state["snapshot"], flags=re.MULTILINE)[1:]:
        # A cell with a link has its words there.
        cells = re.split(r"^\s*- cell ", row, flags=re.MULTILINE)[1:]
        if cells:
            yield [found[1] if (found := _TEXT.search(cell)) else "" for cell in cells]


def number_after(word: str, state: State) -> float | None:
    """Return the first number after a word and a colon; None without one."""
    found = re.search(rf"{word}: (-?\d+(?:\.\d+)?)", state["snapshot"])
    return float(found[1]) if found else None


RULES: tuple[tuple[str, Any], ...] = (
    (r"^Mark order (\d+) as sent", send),
    (r"^Refund order (\d+) because it was (damaged|late|wrong item|not wanted)", refund),
    (r"^Set the stock of the ([\w ]+) to (-?\d+)", stock),
    (r"^Add a review of the ([\w ]+): the author is (\w+), it has (\d) stars, and the text is '([^']+)'", review),
    (r"total of order (\d+)", total),
    (r"How many stars does the ([\w ]+) have", stars),
    (r"How many orders are open", open_orders),
    (r"Which product is the dearest", dearest),
    (r"customer has the largest balance", largest_balance),
    (r"In which city do most", most_common_city),
)
