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
STATES = ("IL", "CA", "NY", "TX", "WA")
SOURCES = ("Affiliate", "Facebook", "Google", "Organic", "Twitter")
PLANS = (("Basic", 29.0), ("Business", 99.0), ("Premium", 249.0))
PRODUCTS, PEOPLE, ORDERS, ACCOUNTS, FEEDBACK, INVOICES = 120, 150, 1_000, 80, 600, 300
FIRST_DAY, DAYS = datetime.date(2025, 1, 1), 364

# The answers to the ten tasks of the older dashboard hold whatever the seed is. No other product has a rating above
# 4.5 or a price above 99.99, the best sellers have one review with five stars each, and another product that was
# ordered 100 times costs more.
FACTS = (
    ("Rustic Paper Wallet", "Gizmo", 29.46, 4.6, 0),
    ("Ergonomic Wool Bag", "Gizmo", 38.42, 5.0, 0),
    ("Lightweight Linen Hat", "Widget", 25.1, 5.0, 0),
    ("Fantastic Rubber Knife", "Gadget", 61.75, 5.0, 996),
    ("Awesome Plastic Watch", "Doohickey", 48.9, 5.0, 700),
    ("Incredible Bronze Wallet", "Gizmo", 82.3, 5.0, 664),
    ("Small Marble Knife", "Gizmo", 108.45, 3.9, 100),
    ("Incredible Aluminum Knife", "Gadget", 112.2, 4.1, 0),
    ("Awesome Steel Toucan", "Widget", 104.6, 1.3, 0),
    ("Aerodynamic Linen Coat", "Doohickey", 119.95, 2.8, 0),
    ("Rustic Paper Car", "Doohickey", 19.87, 4.0, 100),
)
"""Products: title, category, price, rating, and how often they were ordered, 0 for as often as any other one."""
BEST_SELLERS = (4, 5, 6)
BORN_IN_1990 = ("Alvis Emmerich", "Florida Hackett", "Lilian Roberts", "Rupert Walsh")
"""The people of the first state who were born in this year; the next one was too, but has ordered nothing."""
IDLE, BEST_BUYER, BEST_BUYER_ORDERS = "Silvia Quigley", "Keith Bradtke", 46
CRITIC, CRITICISM, CRITIC_RATING = ("Chris", "Satterfield", "chris.satterfield@mail.example"), 456, 4
PAYER, PAYMENTS = ("Oda", "Yost", "oda.yost@hotmail.example"), (8433.6,) * 11 + (8433.7,)
QUARTERS = (("2024-10-01", 140), ("2025-01-01", 70), ("2025-04-01", 95), ("2025-07-01", 110), ("2025-10-01", 126))
"""How many reviews were written in each quarter. The largest is not one of 2025."""
WIDGETS = 6.3
"""The sum of the ratings of two widgets, which makes 3.15 their average."""
REPORTS = (
    ("Orders by month", "orders", "number of rows", "total", "month", 1),
    ("Revenue by city", "orders", "sum", "total", "city", 1),
    ("Reviews by vendor", "reviews", "number of rows", "stars", "vendor", 0),
    ("Old numbers", "orders", "average", "quantity", "source", 0),
)


def fill(connection, seed):
    """Write all rows."""
    chance = random.Random(seed)

    def day(first=FIRST_DAY, days=DAYS):
        return (first + datetime.timedelta(days=chance.randrange(days))).isoformat()

    def write(table, rows):
        listed = [(number, *row) for number, row in enumerate(rows, 1)]
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(listed[0]))})", listed)

    bought = products(chance)
    write("product", [row for row, _ in bought])
    write("person", people(chance, day))
    names = [name for (name,) in connection.execute("SELECT name FROM person ORDER BY id")]
    best, idle = names.index(BEST_BUYER) + 1, names.index(IDLE) + 1
    others = [number for number in range(1, len(names) + 1) if number not in (best, idle)]
    sold = [number for number, (_, count) in enumerate(bought, 1) for _ in range(count)]
    unsold = [number for number, (_, count) in enumerate(bought, 1) if not count]
    sold += chance.choices(unsold, k=ORDERS)
    chance.shuffle(sold)
    buyers = [best] * BEST_BUYER_ORDERS + chance.choices(others, k=len(sold) - BEST_BUYER_ORDERS)
    chance.shuffle(buyers)
    quantities = chance.choices(range(1, 6), k=len(sold))
    prices = [row[3] for row, _ in bought]
    write("purchase", [
        (buyer, product, quantity, round(prices[product - 1] * quantity, 2), day())
        for buyer, product, quantity in zip(buyers, sold, quantities, strict=True)
    ])  # fmt: skip
    rest = [number for number in range(1, len(bought) + 1) if number not in BEST_SELLERS]
    reviews = [
        (chance.choice(rest), chance.choice(names), chance.randrange(1, 6), day(datetime.date.fromisoformat(first), 90))
        for first, count in QUARTERS
        for _ in range(count)
    ]
    for number, best_seller in enumerate(BEST_SELLERS):
        reviews[number] = (best_seller, reviews[number][1], 5, reviews[number][3])
    write("review", reviews)
    write("account", accounts(chance))
    critic, payer, *customers = range(1, ACCOUNTS + 1)
    given = [(chance.choice(customers), chance.randrange(1, 6), day()) for _ in range(FEEDBACK)]
    given[CRITICISM - 1] = (critic, CRITIC_RATING, day())
    write("feedback", given)
    states = ("paid", "paid", "paid", "open", "overdue")
    invoices = [
        (chance.choice(customers), *chance.choice(PLANS), chance.choice(states), day()) for _ in range(INVOICES)
    ]
    write("invoice", [*invoices, *((payer, "Enterprise", amount, "paid", day()) for amount in PAYMENTS)])
    connection.executemany(
        "INSERT INTO report (name, about, measure, of, grouped_by, pinned) VALUES (?, ?, ?, ?, ?, ?)", REPORTS
    )


def products(chance):
    """Return pairs of the row of a product and how often it is ordered; 0 for as often as any other one."""
    made = [((title, category, chance.choice(VENDORS), price, rating), count)
            for title, category, price, rating, count in FACTS]  # fmt: skip
    known = {title for title, *_ in FACTS}
    titles = [f"{look} {stuff} {thing}" for look in LOOKS for stuff in STUFFS for thing in THINGS]
    titles = chance.sample([title for title in titles if title not in known], PRODUCTS)
    prices = [cents / 100 for cents in chance.sample(range(1_000, 10_000), PRODUCTS)]
    widget = 0.0
    for number, (title, price) in enumerate(zip(titles, prices, strict=True)):
        category = CATEGORIES[number % len(CATEGORIES)]
        rating = round(chance.uniform(1.8, 4.5), 1)
        if category == "Widget":
            # Two by two, so that their average is known.
            rating, widget = (round(WIDGETS - widget, 1), 0.0) if widget else (rating, rating)
        made.append(((title, category, chance.choice(VENDORS), price, rating), 0))
    return made


def people(chance, day):
    """Return the rows of people."""
    names = chance.sample([f"{given} {family}" for given in GIVEN for family in FAMILY], PEOPLE)
    known = [*BORN_IN_1990, IDLE]
    rows = [(name, chance.choice(CITIES), STATES[0], chance.choice(SOURCES), day(datetime.date(1990, 1, 1), 365))
            for name in known]  # fmt: skip
    for name in (BEST_BUYER, *names):
        born = day(datetime.date(1950, 1, 1), 20_000)
        state = chance.choice(STATES[1:] if born.startswith("1990") else STATES)
        rows.append((name, chance.choice(CITIES), state, chance.choice(SOURCES), born))
    return rows


def accounts(chance):
    """Return the rows of accounts, the known ones first."""
    names = chance.sample([(given, family) for given in GIVEN for family in FAMILY], ACCOUNTS - 2)
    return [CRITIC, PAYER, *((*name, f"{'.'.join(name).lower()}@mail.example") for name in names)]


def check(connection):
    """End with an error unless all is there."""
    for table, least in (("product", PRODUCTS), ("person", PEOPLE), ("purchase", ORDERS), ("account", ACCOUNTS)):
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
