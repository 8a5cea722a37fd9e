"""Makes the data from the number SEED; equal numbers give equal data. With --check: looks at what is there."""

import datetime
import os
import random
import sys

from reports.tables import SCHEMA, connect

LOOKS = ["Awesome", "Durable", "Ergonomic", "Heavy", "Incredible", "Practical", "Rustic", "Sleek"]
STUFFS = ["Bronze", "Cotton", "Granite", "Linen", "Paper", "Wool"]
THINGS = ["Bag", "Car", "Chair", "Clock", "Hat", "Knife", "Lamp", "Shoes"]
CATEGORIES = ("Doohickey", "Gadget", "Gizmo", "Widget")
VENDORS = ("Alder & Sons", "Birch Works", "Cedar Group", "Dogwood", "Elm Street")
GIVEN = ("Alma", "Bruno", "Carla", "David", "Edith", "Frank", "Greta", "Henry", "Irene", "Jonas", "Karin", "Louis")
FAMILY = (
    "Adler",
    "Berg",
    "Conti",
    "Dahl",
    "Egger",
    "Fischer",
    "Greco",
    "Holm",
    "Ivanova",
    "Jensen",
    "Keller",
    "Larsen",
    "Meyer",
    "Novak",
)
CITIES = ["Aarhus", "Basel", "Cadiz", "Delft", "Essen", "Fulda", "Gdansk", "Helsinki", "Izmir", "Jena"]
SOURCES = ("Affiliate", "Facebook", "Google", "Organic", "Twitter")
PLANS = (("Basic", 29.0), ("Business", 99.0), ("Premium", 249.0))
PRODUCTS, PEOPLE, ORDERS, REVIEWS, INVOICES = 120, 150, 1_500, 400, 300
FIRST_DAY, DAYS = datetime.date(2025, 1, 1), 364
REPORTS = (
    ("Orders by month", "orders", "number of rows", "total", "month", 1),
    ("Revenue by city", "orders", "sum", "total", "city", 1),
    ("Reviews by vendor", "reviews", "number of rows", "stars", "vendor", 0),
    ("Old numbers", "orders", "average", "quantity", "source", 0),
)


def fill(connection, seed):
    """Write all rows."""
    chance = random.Random(seed)

    def day():
        return (FIRST_DAY + datetime.timedelta(days=chance.randrange(DAYS))).isoformat()

    titles = chance.sample(
        [f"{look} {stuff} {thing}" for look in LOOKS for stuff in STUFFS for thing in THINGS], PRODUCTS
    )
    prices = [cents / 100 for cents in chance.sample(range(1_000, 10_000), PRODUCTS)]
    for number, (title, price) in enumerate(zip(titles, prices, strict=True), 1):
        values = number, title, chance.choice(CATEGORIES), chance.choice(VENDORS), price
        connection.execute("INSERT INTO product VALUES (?, ?, ?, ?, ?)", values)
    names = chance.sample([f"{given} {family}" for given in GIVEN for family in FAMILY], PEOPLE)
    for number, name in enumerate(names, 1):
        born = (datetime.date(1950, 1, 1) + datetime.timedelta(days=chance.randrange(20_000))).isoformat()
        values = number, name, chance.choice(CITIES), chance.choice(SOURCES), born
        connection.execute("INSERT INTO person VALUES (?, ?, ?, ?, ?)", values)
    for number in range(1, ORDERS + 1):
        product, quantity = chance.randrange(1, PRODUCTS + 1), chance.randrange(1, 6)
        total = round(prices[product - 1] * quantity, 2)
        values = number, chance.randrange(1, PEOPLE + 1), product, quantity, total, day()
        connection.execute("INSERT INTO purchase VALUES (?, ?, ?, ?, ?, ?)", values)
    for number in range(1, REVIEWS + 1):
        values = number, chance.randrange(1, PRODUCTS + 1), chance.choice(names), chance.randrange(1, 6)
        connection.execute("INSERT INTO review VALUES (?, ?, ?, ?)", values)
    for number in range(1, INVOICES + 1):
        plan, amount = chance.choice(PLANS)
        state = chance.choice(("paid", "paid", "paid", "open", "overdue"))
        values = number, chance.randrange(1, PEOPLE + 1), plan, amount, state, day()
        connection.execute("INSERT INTO invoice VALUES (?, ?, ?, ?, ?, ?)", values)
    connection.executemany(
        "INSERT INTO report (name, about, measure, of, grouped_by, pinned) VALUES (?, ?, ?, ?, ?, ?)", REPORTS
    )


def check(connection):
    """End with an error unless all is there."""
    for table, least in (("product", PRODUCTS), ("person", PEOPLE), ("purchase", ORDERS), ("report", len(REPORTS))):
        count = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        if count < least:
            sys.exit(f"The table {table} has {count} rows; it should have at least {least}.")


if __name__ == "__main__":
    with connect() as data:
        if "--check" in sys.argv:
            check(data)
        else:
            data.executescript(SCHEMA)
            fill(data, int(os.environ["SEED"]))
