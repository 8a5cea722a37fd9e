"""States of a small shop, before and after work in it."""

from __future__ import annotations

from collections.abc import Mapping

from arena_kit.rollout.exports.state import ExportedState

CUSTOMER = "id:integer:key,name,balance:real\n1,Ada,10.0\n2,Bob,58.5\n3,,0\n"
REFUND = "order_id:integer:key,status,reason,amount:real\n16,done,late,3.5\n"
AUDIT = "id:integer:key,at,what\n1,09:00,login\n"
FILES = {
    "customer.csv": CUSTOMER.encode(), "refund.csv": REFUND.encode(), "audit.csv": AUDIT.encode(),
    "settings.json": b'{"theme": "dark", "rows": [1, 2]}', "notes.txt": b"first line\nsecond line\n",
}  # fmt: skip
VOLATILE = {"audit": ["at"]}


def shop(**changes: bytes | str | None) -> ExportedState:
    """The state of the shop; changes: contents by the name of a file without its suffix, None for a file removed."""
    files: dict[str, bytes] = dict(FILES)
    for name, content in changes.items():
        whole = next((each for each in files if each.partition(".")[0] == name), f"{name}.csv")
        if content is None:
            del files[whole]
        else:
            files[whole] = content.encode() if isinstance(content, str) else content
    return ExportedState(files, volatile=VOLATILE)


def refunded() -> ExportedState:
    """The shop after order 17 was refunded."""
    return shop(
        refund=REFUND + "17,done,damaged,41.5\n",
        customer=CUSTOMER.replace("Bob,58.5", "Bob,100.0"),
        audit=AUDIT + "2,10:00,refund\n",
    )


def har(*requests: Mapping[str, object]) -> dict[str, object]:
    """A HAR document of requests {method, url, status, body, kind}."""
    entries = []
    for each in requests:
        asked: dict[str, object] = {"method": each.get("method", "GET"), "url": each["url"]}
        if "body" in each:
            kind = each.get("kind", "application/x-www-form-urlencoded; charset=utf-8")
            asked["postData"] = {"mimeType": kind, "text": each["body"]}
        entries.append({"request": asked, "response": {"status": each.get("status", 200)}})
    return {"log": {"version": "1.2", "entries": entries}}
