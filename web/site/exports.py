"""Tables as CSV or JSON files to download."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpResponse

Row = Mapping[str, Any]
FORMULAS = frozenset("=+-@\t\r\n＝＋－＠")
"""First characters of cells that a spreadsheet would execute."""
SEPARATORS = frozenset(";|\t\r\n")
"""Characters after which a new cell begins in spreadsheets that do not split by commas."""
KINDS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


def exported(kind: str, name: str, records: list[Row], *, header: Iterable[str] = (), **about: Any) -> HttpResponse:
    """Return a file to download. kind: of KINDS. name: without extension. about: metadata, included in JSON only.

    header: the columns of a CSV without a row.
    """
    if kind == "json":
        content = json.dumps({**about, "count": len(records), "results": records}, ensure_ascii=False, indent=1)
    else:
        content = csv_text(records, header)
    disposition = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return HttpResponse(content, content_type=KINDS[kind], headers=disposition)


def csv_text(records: list[Row], header: Iterable[str] = ()) -> str:
    """Return rows below a header line. No cell begins like a formula, because people open the file in spreadsheets."""
    written = io.StringIO()
    if names := [_harmless(name) for name in (records[0] if records else header)]:
        lines = csv.writer(written)
        lines.writerow(names)
        lines.writerows([_harmless(value) for value in record.values()] for record in records)
    return written.getvalue()


def _harmless(value: Any) -> Any:
    """Put an apostrophe before everything that a spreadsheet could take for the start of a formula."""
    if not isinstance(value, str):
        return value
    kept: list[str] = []
    begins = True
    for letter in value:
        if begins and letter in FORMULAS:
            kept.append("'")
            begins = False
        kept.append(letter)
        # Spreadsheets strip spaces, invisible characters and quotes before they interpret a cell.
        begins = letter in SEPARATORS or (begins and (letter in ' "' or unicodedata.category(letter) in ("Zs", "Cf")))
    return "".join(kept)
