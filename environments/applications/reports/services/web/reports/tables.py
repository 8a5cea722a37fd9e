"""The tables that reports are made of: columns by name, each with its SQL."""

import sqlite3

FILE = "/data/reports.sqlite"
SCHEMA = """
CREATE TABLE product (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, category TEXT NOT NULL, vendor TEXT NOT NULL,
    price REAL NOT NULL
);
CREATE TABLE person (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, city TEXT NOT NULL, source TEXT NOT NULL, born_on TEXT NOT NULL
);
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES person,
    product_id INTEGER NOT NULL REFERENCES product, quantity INTEGER NOT NULL, total REAL NOT NULL,
    ordered_on TEXT NOT NULL
);
CREATE TABLE review (
    id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES product, reviewer TEXT NOT NULL,
    stars INTEGER NOT NULL
);
CREATE TABLE invoice (
    id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES person, plan TEXT NOT NULL, amount REAL NOT NULL,
    state TEXT NOT NULL, due_on TEXT NOT NULL
);
CREATE TABLE report (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, about TEXT NOT NULL, measure TEXT NOT NULL, of TEXT NOT NULL,
    grouped_by TEXT NOT NULL, pinned INTEGER NOT NULL DEFAULT 0
);
"""
_OF_PRODUCT = {"product": "product.title", "category": "product.category", "vendor": "product.vendor"}
_OF_PERSON = {"person": "person.name", "city": "person.city", "source": "person.source"}
TABLES = {
    "products": (
        "product",
        {
            "id": "product.id",
            "title": "title",
            "category": "category",
            "vendor": "vendor",
            "price": "price",
        },
    ),
    "people": ("person", {"id": "id", "name": "name", "city": "city", "source": "source", "born on": "born_on"}),
    "orders": (
        "purchase JOIN product ON product.id = product_id JOIN person ON person.id = person_id",
        {
            "id": "purchase.id",
            **_OF_PRODUCT,
            **_OF_PERSON,
            "quantity": "quantity",
            "total": "total",
            "month": "substr(ordered_on, 1, 7)",
            "ordered on": "ordered_on",
        },
    ),
    "reviews": (
        "review JOIN product ON product.id = product_id",
        {
            "id": "review.id",
            **_OF_PRODUCT,
            "reviewer": "reviewer",
            "stars": "stars",
        },
    ),
    "invoices": (
        "invoice JOIN person ON person.id = person_id",
        {
            "id": "invoice.id",
            **_OF_PERSON,
            "plan": "plan",
            "amount": "amount",
            "state": "state",
            "due on": "due_on",
        },
    ),
}
"""The source of each table, and its columns."""
NUMBERS = ("price", "quantity", "total", "stars", "amount")
MEASURES = {"number of rows": "count(*)", "sum": "sum", "average": "avg", "smallest": "min", "largest": "max"}
PAGE_ROWS = 50


def connect():
    """Return a connection; `with` makes a transaction."""
    connection = sqlite3.connect(FILE)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def found_rows(connection, table, *, column, sought, sort, first):
    """Return the rows of a page, and how many there are in all. Names that are not known make no difference."""
    source, columns = TABLES[table]
    where, values = ("", [])
    if column in columns and sought:
        where, values = f"WHERE {columns[column]} = ?", [_value(column, sought)]
    order = columns.get(sort.removeprefix("-"), columns["id"]) + (" DESC" if sort.startswith("-") else "")
    named = ", ".join(f'{expression} AS "{name}"' for name, expression in columns.items())
    count = connection.execute(f"SELECT count(*) FROM {source} {where}", values).fetchone()[0]
    rows = connection.execute(
        f"SELECT {named} FROM {source} {where} ORDER BY {order}, {columns['id']} LIMIT {PAGE_ROWS} OFFSET ?",
        [*values, first],
    ).fetchall()
    return rows, count


def summary(connection, table, *, measure, of, by):
    """Return pairs of a group and its figure, the largest first."""
    source, columns = TABLES[table]
    figure = MEASURES[measure] if measure == "number of rows" else f"round({MEASURES[measure]}({columns[of]}), 2)"
    query = f"SELECT {columns[by]}, {figure} FROM {source} GROUP BY 1 ORDER BY 2 DESC, 1"
    return connection.execute(query).fetchall()


def _value(column, text):
    try:
        return float(text) if column in NUMBERS or column == "id" else text
    except ValueError:
        return text
