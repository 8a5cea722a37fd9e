"""The tables that reports are made of: columns by name, each with its SQL."""

import sqlite3

FILE = "/data/reports.sqlite"
SCHEMA = """
CREATE TABLE product (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, category TEXT NOT NULL, vendor TEXT NOT NULL,
    price REAL NOT NULL, rating REAL NOT NULL
);
CREATE TABLE person (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, city TEXT NOT NULL, state TEXT NOT NULL,
    source TEXT NOT NULL, born_on TEXT NOT NULL
);
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES person,
    product_id INTEGER NOT NULL REFERENCES product, quantity INTEGER NOT NULL, total REAL NOT NULL,
    ordered_on TEXT NOT NULL
);
CREATE TABLE review (
    id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES product, reviewer TEXT NOT NULL,
    stars INTEGER NOT NULL, written_on TEXT NOT NULL
);
CREATE TABLE account (
    id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL, email TEXT NOT NULL UNIQUE
);
CREATE TABLE feedback (
    id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES account, rating INTEGER NOT NULL,
    received_on TEXT NOT NULL
);
CREATE TABLE invoice (
    id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES account, plan TEXT NOT NULL, amount REAL NOT NULL,
    state TEXT NOT NULL, due_on TEXT NOT NULL
);
CREATE TABLE report (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, about TEXT NOT NULL, measure TEXT NOT NULL, of TEXT NOT NULL,
    grouped_by TEXT NOT NULL, filters TEXT NOT NULL DEFAULT '', pinned INTEGER NOT NULL DEFAULT 0
);
"""
_OF_PRODUCT = {"product": "product.title", "category": "product.category", "vendor": "product.vendor"}
_OF_PERSON = {
    "person": "person.name", "city": "person.city", "state": "person.state", "source": "person.source",
    "born on": "person.born_on",
}  # fmt: skip
_OF_ACCOUNT = {"account": "first_name || ' ' || last_name", "email": "email"}


def _over_time(column):
    """Return the columns that group rows by the time of a day."""
    quarter = f"substr({column}, 1, 4) || '-Q' || ((substr({column}, 6, 2) + 2) / 3)"
    return {"month": f"substr({column}, 1, 7)", "quarter": quarter}


TABLES = {
    "products": ("product", {name: name for name in ("id", "title", "category", "vendor", "price", "rating")}),
    "people": ("person", {"id": "id", "name": "name", "city": "city", "state": "state", "source": "source",
                          "born on": "born_on"}),
    "orders": (
        "purchase JOIN product ON product.id = product_id JOIN person ON person.id = person_id",
        {"id": "purchase.id", **_OF_PRODUCT, "rating": "product.rating", **_OF_PERSON, "quantity": "quantity",
         "total": "total", **_over_time("ordered_on"), "ordered on": "ordered_on"},
    ),
    "reviews": (
        "review JOIN product ON product.id = product_id",
        {"id": "review.id", **_OF_PRODUCT, "reviewer": "reviewer", "stars": "stars", **_over_time("written_on"),
         "written on": "written_on"},
    ),
    "accounts": ("account", {"id": "id", "first name": "first_name", "last name": "last_name", "email": "email"}),
    "feedback": (
        "feedback JOIN account ON account.id = account_id",
        {"id": "feedback.id", **_OF_ACCOUNT, "rating": "rating", "received on": "received_on"},
    ),
    "invoices": (
        "invoice JOIN account ON account.id = account_id",
        {"id": "invoice.id", **_OF_ACCOUNT, "plan": "plan", "amount": "amount", "state": "state", "due on": "due_on"},
    ),
}  # fmt: skip
"""The source of each table, and its columns."""
NUMBERS = ("price", "quantity", "total", "stars", "rating", "amount")
TESTS = {
    "is": "{} = ?", "is not": "{} <> ?", "above": "{} > ?", "below": "{} < ?",
    "begins with": "instr(lower({}), lower(?)) = 1",
}  # fmt: skip
"""The comparisons of filters. Days are texts in order of time."""
FILTERS = ("", "2", "3")
"""The ends of the names of the parts of each filter: column, test, value, column2 and so on."""
MEASURES = {"number of rows": "count(*)", "sum": "sum", "average": "avg", "smallest": "min", "largest": "max"}
PAGE_ROWS = 50


def connect():
    """Return a connection; `with` makes a transaction."""
    connection = sqlite3.connect(FILE)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def found_rows(connection, table, *, filters, sort, first):
    """Return the rows of a page, and how many there are in all. Names that are not known make no difference."""
    source, columns = TABLES[table]
    where, values = _where(columns, filters)
    order = columns.get(sort.removeprefix("-"), columns["id"]) + (" DESC" if sort.startswith("-") else "")
    named = ", ".join(f'{expression} AS "{name}"' for name, expression in columns.items())
    count = connection.execute(f"SELECT count(*) FROM {source} {where}", values).fetchone()[0]
    rows = connection.execute(
        f"SELECT {named} FROM {source} {where} ORDER BY {order}, {columns['id']} LIMIT {PAGE_ROWS} OFFSET ?",
        [*values, first],
    ).fetchall()
    return rows, count


def summary(connection, table, *, measure, of, by, filters):
    """Return pairs of a group and its figure, the largest first."""
    source, columns = TABLES[table]
    where, values = _where(columns, filters)
    figure = MEASURES[measure] if measure == "number of rows" else f"round({MEASURES[measure]}({columns[of]}), 2)"
    query = f"SELECT {columns[by]}, {figure} FROM {source} {where} GROUP BY 1 ORDER BY 2 DESC, 1"
    return connection.execute(query, values).fetchall()


def _where(columns, filters):
    """Return the condition of filters, whose parts are named as FILTERS says, and its values."""
    conditions, values = [], []
    for end in FILTERS:
        if value := filters.get("value" + end):
            column, test = filters["column" + end], filters["test" + end]
            conditions.append(TESTS[test].format(columns[column]))
            values.append(value if test == "begins with" else _value(column, value))
    return (f"WHERE {' AND '.join(conditions)}" if conditions else ""), values


def _value(column, text):
    try:
        return float(text) if column in NUMBERS or column == "id" else text
    except ValueError:
        return text
