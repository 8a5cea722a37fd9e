"""Lists of people, e.g. of a class, as CSV: read into what would happen, then made into accounts."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from arena_kit.text import plain_line
from core.courses.services import members_add, members_invite
from core.errors import Refused
from core.models import Course, Tournament, User
from core.models.user import email_problem
from core.people.selectors import people_named, usernames_taken
from core.people.services import AS_LOGIN, user_invite, user_update, username_problem
from core.tournaments.inviting import people_invite

MOST_ROWS = 500
TWICE = "This person stands in the list twice. People with the same name need a user name each."
COLUMNS = {
    "email": "email",
    "e-mail": "email",
    "mail": "email",
    "username": "username",
    "user name": "username",
    "login": "username",
    "name": "name",
    "full name": "name",
    "first name": "first",
    "given name": "first",
    "last name": "last",
    "family name": "last",
    "surname": "last",
    "team": "team",
    "group": "team",
}
"""The headings that are understood, in small letters, with the column that each means."""
NAME_LENGTH: int = User._meta.get_field("username").max_length or 0
LENGTHS = {
    "team": User._meta.get_field("team").max_length or 0,
    "name": User._meta.get_field("first_name").max_length or 0,
}


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A person of a list. line: in the file, from 1. account: theirs, if there is one. problem: why there can be none.

    email: empty for an account without one. username: of the new account, made from the e-mail or the name if the list
    names none. name: its owner's. team: as the list has
    it, or the account.
    is_invited: whether they have an account and are no member of the course, which may not add them by itself.
    """

    line: int
    email: str
    username: str
    team: str
    name: str = ""
    account: User | None = None
    problem: str = ""
    is_invited: bool = False

    @property
    def moves(self) -> bool:
        """Return whether a person who has an account gets another team."""
        account = None if self.is_invited else self.account
        return account is not None and not account.is_staff and self.team != account.team

    @property
    def is_new(self) -> bool:
        return self.account is None and not self.problem


def class_read(text: str, course: Course | None = None) -> list[ClassRow]:
    """Return what a list says about each person. Raises Refused for a text that is no such list."""
    if "\0" in text:
        raise Refused("This is not text. Save the list as “CSV UTF-8”.")
    rows = _cells(text)
    columns = _columns(rows)
    found = [
        (line, {name: cells[at].strip() for name, at in columns.items() if at < len(cells)})
        for line, cells in rows
        if _is_person(cells)
    ]
    if not found:
        raise Refused("The list names no people: write one per line, the e-mail first.")
    if len(found) > MOST_ROWS:
        raise Refused(f"A list has at most {MOST_ROWS} people; this one has {len(found)}. Split it.")
    known = people_named(cells.get("email") or _wanted(cells) for _, cells in found)
    taken = usernames_taken(name for _, cells in found for name in (cells.get("username", ""), _wanted(cells)))
    seen: set[str] = set()
    people = [_row(line, cells, known, taken, seen) for line, cells in found]
    return people if course is None else _of_course(people, course)


def _of_course(rows: Sequence[ClassRow], course: Course) -> list[ClassRow]:
    """Mark the people who have an account and are no members, whose names and teams are not shown."""
    members = set(course.members.values_list("user", flat=True))
    return [
        row
        if row.account is None or row.account.pk in members
        else replace(row, username="", team="", name="", is_invited=True)
        for row in rows
    ]


def class_create(
    *, rows: Sequence[ClassRow], tournament: Tournament | None = None, course: Course | None = None
) -> list[User]:
    """Create the new accounts of a list, each told by e-mail to choose a password, and invite all to a tournament.

    course: the new ones become members of it, members get the team that the list names, and other people a notice
    with the join link: members show their sources to the teachers, so that people join by themselves.

    All or none: raises Refused if an address or a name was taken meanwhile. Rows with a problem are left out.
    """
    with transaction.atomic():
        made = [
            user_invite(email=row.email, username=row.username, team=row.team, name=row.name)
            for row in rows
            if row.is_new
        ]
        there = [row.account for row in rows if row.account is not None]
        if course is not None:
            members_add(course=course, people=made)
            members_invite(course=course, people=[row.account for row in rows if row.account and row.is_invited])
            for row in rows:
                if row.account is not None and row.moves:
                    user_update(user=row.account, team=row.team)
        if tournament is not None:
            people_invite(tournament=tournament, people=[*there, *made])
    return made


def _cells(text: str) -> list[tuple[int, list[str]]]:
    """Return the cells of each line, divided by what divides the first one."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    mark = next((mark for mark in ("\t", ";", ",") if mark in first), ",")
    reader = csv.reader(text.lstrip("\ufeff").splitlines(), delimiter=mark, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        raise Refused(f"Line {reader.line_num} is not CSV: {error}.") from None


def _columns(rows: list[tuple[int, list[str]]]) -> dict[str, int]:
    """Return the place of each column by the heading, which is taken off, or by the order that the form names."""
    first = next(((at, cells) for at, (_, cells) in enumerate(rows) if any(cells)), None)
    if first is None or any("@" in cell for cell in first[1]):
        return {"email": 0, "username": 1, "team": 2, "name": 3}
    headings = [COLUMNS.get(cell.strip().casefold(), "") for cell in first[1]]
    if not {"email", "username", "name"} & set(headings):
        raise Refused(
            "The first line must be a heading with “email”, “user name” or “name”, or name the first person with "
            "their e-mail."
        )
    del rows[: first[0] + 1]
    return {name: at for at, name in reversed(list(enumerate(headings))) if name}


def _is_person(cells: Sequence[str]) -> bool:
    return any(cell.strip() for cell in cells)


def _wanted(cells: dict[str, str]) -> str:
    """Return the user name of a person, made from the e-mail, or else the name, if the list names none."""
    plain = unicodedata.normalize("NFKD", _name(cells).casefold().replace("ß", "ss")).replace(" ", ".")
    local = cells.get("email", "").partition("@")[0] or plain
    made = re.sub(r"[^\w.+-]", "", local, flags=re.ASCII).lstrip("._+-")
    return User.normalize_username(cells.get("username") or made or "player")


def _name(cells: dict[str, str]) -> str:
    return cells.get("name") or " ".join(filter(None, (cells.get("first"), cells.get("last"))))


def _row(line: int, cells: dict[str, str], known: dict[str, User], taken: set[str], seen: set[str]) -> ClassRow:
    email, team = cells.get("email", ""), cells.get("team", "")
    name, wanted = _name(cells), _wanted(cells)
    key = (email or wanted).casefold()
    account = known.get(key)
    # Only accounts without an e-mail are known by their user names; the name of another one is taken.
    if account is not None and not account.is_team and bool(email) == account.has_mailbox:
        twice = TWICE if key in seen else ""
        problem = twice or _line_problem("team", team)
        seen.add(key)
        there = None if problem else account
        return ClassRow(
            line, email and account.email, account.username, team or account.team, account.name, there, problem
        )
    username = wanted if cells.get("username") else _free(wanted, taken)
    problem = (
        _problem(email, username, taken, TWICE if key in seen else "")
        or _line_problem("team", team)
        or _line_problem("name", name)
    )
    if not problem:
        taken.add(username.casefold())
    seen.add(key)
    return ClassRow(line, email, username, team, name, None, problem)


def _free(name: str, taken: set[str]) -> str:
    """Return the name, with a number where it is taken."""
    short = name[: NAME_LENGTH - 4]
    numbered = (f"{short}{number}" for number in range(2, 10_000))
    return name if name.casefold() not in taken else next(one for one in numbered if one.casefold() not in taken)


def _problem(email: str, username: str, taken: set[str], twice: str) -> str:
    """Return why an account cannot be created, as a sentence; empty when it can."""
    if email:
        try:
            validate_email(email)
        except ValidationError:
            if not email.rpartition("@")[0].isascii():
                return f"“{email}” has letters before the @ that few mail servers take. Use an address without them."
            return f"“{email}” is not an e-mail address."
    if problem := (email_problem(email) if email else AS_LOGIN if "@" in username else ""):
        return problem
    if twice:
        return twice
    if username.casefold() in taken:
        return f"The user name “{username}” is taken."
    try:
        User._meta.get_field("username").run_validators(username)
    except ValidationError as error:
        return " ".join(error.messages)
    return username_problem(username)


def _line_problem(what: str, text: str) -> str:
    if plain_line(text) != text:
        return f"The {what} has characters that cannot be shown."
    return f"The {what} has more than {LENGTHS[what]} characters." if len(text) > LENGTHS[what] else ""
