"""Serves the pages on port 8000 of the world's own network."""

import http.server
import re
import sqlite3
import urllib.parse

from reports import pages
from reports.tables import FILE, FILTERS, MEASURES, NUMBERS, TABLES, TESTS, connect, found_rows, summary

MOST_BYTES = 65_536
MOST_CHARACTERS = 100


class Refused(Exception):
    """A request that cannot be carried out; the message is for the page."""


def browse(data, asked, name):
    """A page of a table's rows."""
    first = int(asked.get("first", "0")) if re.fullmatch(r"\d{1,6}", asked.get("first", "")) else 0
    filters, sort = filters_of(name, asked), asked.get("sort", "id")
    found, count = found_rows(data, name, filters=filters, sort=sort, first=first)
    return pages.rows(name, found, count, filters, sort, first)


def summarise(data, asked, name):
    """A summary of a table."""
    chosen, filters = question(name, asked), filters_of(name, asked)
    return pages.summarised(name, chosen, filters, summary(data, name, **chosen, filters=filters))


def filters_of(name, asked):
    """Return the parts of the filters that are whole, one after another."""
    filters, ends = {}, iter(FILTERS)
    for each in FILTERS:
        column, test, value = (asked.get(part + each, "") for part in ("column", "test", "value"))
        if column in TABLES[name][1] and value:
            end = next(ends)
            filters |= {"column" + end: column, "test" + end: test if test in TESTS else "is", "value" + end: value}
    return filters


def question(name, asked):
    """Return measure, column and groups as far as they were asked for well, and usual ones for the others."""
    columns = TABLES[name][1]
    numbers = [each for each in columns if each in NUMBERS] or ["id"]
    measure, of, by = asked.get("measure"), asked.get("of"), asked.get("by")
    return {
        "measure": measure if measure in MEASURES else "number of rows",
        "of": of if of in numbers else numbers[0],
        "by": by if by in columns else list(columns)[2],
    }


def saved(data, number):
    """Return the row of a report. Raises Refused."""
    row = data.execute("SELECT * FROM report WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise Refused(f"There is no report {number}.")
    return row


def show(data, _asked, number):
    """A saved report."""
    row = saved(data, number)
    filters = dict(urllib.parse.parse_qsl(row["filters"]))
    pairs = summary(data, row["about"], measure=row["measure"], of=row["of"], by=row["grouped_by"], filters=filters)
    return pages.report(row, pairs)


def save(data, sent, _):
    """Save a summary under a name."""
    if sent.get("about") not in TABLES:
        raise Refused("There is no such table.")
    chosen, filters = question(sent["about"], sent), urllib.parse.urlencode(filters_of(sent["about"], sent))
    values = named(sent), sent["about"], chosen["measure"], chosen["of"], chosen["by"], filters
    statement = "INSERT INTO report (name, about, measure, of, grouped_by, filters) VALUES (?, ?, ?, ?, ?, ?)"
    return f"/reports/{data.execute(statement, values).lastrowid}"


def rename(data, sent, number):
    """Give a report another name."""
    data.execute("UPDATE report SET name = ? WHERE id = ?", (named(sent), saved(data, number)["id"]))
    return f"/reports/{number}"


def pin(data, _, number):
    """Pin a report, or unpin it."""
    data.execute("UPDATE report SET pinned = 1 - pinned WHERE id = ?", (saved(data, number)["id"],))
    return f"/reports/{number}"


def delete(data, _, number):
    """Delete a report that is not pinned."""
    if saved(data, number)["pinned"]:
        raise Refused("A pinned report cannot be deleted. Unpin it first.")
    data.execute("DELETE FROM report WHERE id = ?", (number,))
    return "/"


def named(sent):
    """Return the name that was sent. Raises Refused."""
    name = " ".join(sent.get("name", "").split())
    if not 0 < len(name) <= MOST_CHARACTERS:
        raise Refused(f"A name has 1 to {MOST_CHARACTERS} characters.")
    return name


PAGES = ((r"/browse/([a-z]+)", browse), (r"/summarise/([a-z]+)", summarise), (r"/reports/(\d{1,6})", show))
DEEDS = (
    (r"/reports()", save),
    (r"/reports/(\d{1,6})/rename", rename),
    (r"/reports/(\d{1,6})/pin", pin),
    (r"/reports/(\d{1,6})/delete", delete),
)


class Reports(http.server.BaseHTTPRequestHandler):
    """Answers one request after the other of a connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Show a page."""
        address = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(address.query))
        with connect() as data:
            if address.path == "/":
                listed = data.execute("SELECT * FROM report ORDER BY pinned DESC, name").fetchall()
                return self.answer(200, pages.home(listed))
            for pattern, made in PAGES:
                match = re.fullmatch(pattern, address.path)
                if match and (match[1].isdigit() or match[1] in TABLES):
                    try:
                        return self.answer(200, made(data, asked, int(match[1]) if match[1].isdigit() else match[1]))
                    except Refused as refusal:
                        return self.answer(404, pages.page("Not found", "", wrong=str(refusal)))
        return self.answer(404, pages.page("Not found", "", wrong="There is no such page."))

    def do_POST(self):
        """Do what a form asks for, and show the page that tells it."""
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 <= size <= MOST_BYTES:
            self.close_connection = True
            return self.answer(413, pages.page("Too large", "", wrong="The form is too large."))
        sent = dict(urllib.parse.parse_qsl(self.rfile.read(size).decode(errors="replace")))
        for pattern, done in DEEDS:
            if match := re.fullmatch(pattern, self.path):
                try:
                    with connect() as data:
                        target = done(data, sent, int(match[1] or 0))
                    # After the commit, or the next page might not show it yet.
                    return self.go(target)
                except sqlite3.IntegrityError:
                    return self.answer(400, pages.page("Not done", "", wrong="Another report has this name."))
                except Refused as refusal:
                    return self.answer(400, pages.page("Not done", "", wrong=str(refusal)))
        return self.answer(404, pages.page("Not found", "", wrong="There is no such page."))

    def go(self, target):
        """Send the browser to another page."""
        self.send_response(303)
        self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, status, text):
        """Send a page."""
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, text, *values):
        """Print a line for each request, as the base class would to standard error."""
        print(text % values)


if __name__ == "__main__":
    print(f"The reports of {FILE} are served")
    http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Reports).serve_forever()
