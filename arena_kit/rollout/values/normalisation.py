"""Brings values that people write in many ways into one form: texts, numbers, amounts, dates, addresses, lists.

What is ambiguous, such as 01/02/2026 or 1,5, is not read: a check that compares it does not pass.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from arena_kit.rollout.values.equality import is_number, shown

MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "Fr.": "CHF"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,18})(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?")
_AMOUNT = re.compile(
    r"(?P<minus>-?)(?P<before>[A-Z]{3}|[$€£¥₹]|Fr\.)?\s?(?P<number>[^A-Z$€£¥₹]*?)\s?(?P<after>[A-Z]{3}|[$€£¥₹])?"
)
_DAY_FIRST = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?\.? ([a-z]{3,9})\.?,? ([0-9]{4})")
_MONTH_FIRST = re.compile(r"([a-z]{3,9})\.? ([0-9]{1,2})(?:st|nd|rd|th)?,? ([0-9]{4})")
_YEAR_FIRST = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})(?:[t ][0-9:.]+(?:z|[+-][0-9:]+)?)?")


class NotReadable(ValueError):
    """A value that cannot be read as the type that is asked for."""


def normalised(value: Any, kind: str) -> Any:
    """Return a value in the one form of its kind; the elements of a list each by themselves. Raises NotReadable."""
    if kind == "list":
        return [_text(each) for each in _elements(value)]
    if isinstance(value, list):
        return [normalised(each, kind) for each in value]
    return READERS[kind](value)


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, dict | list):
        raise NotReadable(f"{shown(value)} is not a text")
    return " ".join(unicodedata.normalize("NFC", shown(value) if is_number(value) else value).split()).casefold()


def _number(value: Any) -> float:
    if is_number(value):
        return float(value)
    text = value.strip().replace("\u2212", "-") if isinstance(value, str) else ""
    if not _NUMBER.fullmatch(text):
        raise NotReadable(f"{shown(value)} is not a number such as 1234.5 or 1,234.5")
    return float(text.replace(",", ""))


def _currency(value: Any) -> list[Any]:
    """Return [amount, currency]; the currency is empty where none is named."""
    if is_number(value):
        return [float(value), ""]
    text = " ".join(value.replace("\u2212", "-").split()) if isinstance(value, str) and len(value) <= 100 else ""
    match = _AMOUNT.fullmatch(text)
    if match is None or (match["before"] and match["after"]) or not _NUMBER.fullmatch(match["number"]):
        raise NotReadable(f"{shown(value)} is not an amount such as $1,234.50 or 12 EUR")
    name = match["before"] or match["after"] or ""
    return [_number(match["minus"] + match["number"]), SIGNS.get(name, name)]


def _date(value: Any) -> str:
    text = " ".join(value.casefold().split()) if isinstance(value, str) and len(value) <= 100 else ""
    try:
        if match := _YEAR_FIRST.fullmatch(text):
            return datetime.date(int(match[1]), int(match[2]), int(match[3])).isoformat()
        if match := _DAY_FIRST.fullmatch(text):
            return datetime.date(int(match[3]), _month(match[2]), int(match[1])).isoformat()
        if match := _MONTH_FIRST.fullmatch(text):
            return datetime.date(int(match[3]), _month(match[1]), int(match[2])).isoformat()
    except ValueError:
        pass
    raise NotReadable(f"{shown(value)} is not a date such as 2026-01-15 or 15 January 2026")


def _month(name: str) -> int:
    found = [number for number, month in enumerate(MONTHS, 1) if month == name or month[:3] == name[:3] == name]
    if not found and name != "sept":
        raise ValueError(name)
    return found[0] if found else 9


def _url(value: Any) -> str:
    """Return an address without fragment, default port and last slash, its parameters sorted."""
    try:
        parts = urlsplit(value.strip() if isinstance(value, str) else "//[")
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise NotReadable(f"{shown(value)} is not an address") from None
    shows = "" if port in (None, {"http": 80, "https": 443}.get(parts.scheme.lower())) else f":{port}"
    query = urlencode(sorted(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=200)))
    start = f"{parts.scheme.lower()}://{host}{shows}" if host else ""
    return f"{start}{unquote(parts.path).rstrip('/') or '/'}{'?' + query if query else ''}"


def _elements(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        raise NotReadable(f"{shown(value)} is not a list")
    return [each.strip() for each in re.split(r"[,;\n]", value) if each.strip()]


READERS: dict[str, Callable[[Any], Any]] = {
    "text": _text, "number": _number, "currency": _currency, "date": _date, "url": _url,
}  # fmt: skip
KINDS = (*READERS, "list")
