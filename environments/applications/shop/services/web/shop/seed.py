"""Fills the empty shop from the number SEED; equal numbers give equal shops. With --check: looks at what is there."""

import datetime
import os
import random
import sys

from shop.database import TABLES, change, connect, rows

GIVEN = [
    "Ada",
    "Ben",
    "Cleo",
    "Dana",
    "Emil",
    "Fay",
    "Gus",
    "Hana",
    "Ivo",
    "Jana",
    "Kai",
    "Lena",
    "Mika",
    "Nora",
    "Omar",
    "Pia",
    "Quinn",
    "Rosa",
    "Sven",
    "Tara",
]
FAMILY = [
    "Abel",
    "Brandt",
    "Costa",
    "Duarte",
    "Ekman",
    "Fontaine",
    "Gruber",
    "Hale",
    "Ito",
    "Jansen",
    "Kovac",
    "Lind",
    "Moreau",
    "Novak",
    "Okafor",
]
CITIES = ["Bergen", "Cork", "Ghent", "Graz", "Lyon", "Malmo", "Porto", "Turku", "Utrecht", "Zadar"]
KINDS = {
    "Kitchen": "Kettle Ladle Pan Whisk Grater Teapot",
    "Garden": "Rake Trowel Hose Lantern Bench Shears",
    "Office": "Lamp Stapler Binder Chair Globe Ruler",
    "Travel": "Trunk Flask Pillow Umbrella Compass Map",
}
LOOKS = ["Amber", "Brass", "Copper", "Dotted", "Plain", "Striped"]
OPINIONS = (
    "Does what it should.|Broke after a week.|A gift that was welcome.|Smaller than I thought.|I would buy it again."
)
CUSTOMERS, ORDERS, REVIEWS = 60, 200, 150
FIRST_DAY = datetime.date(2026, 1, 1)


def fill(connection, seed):
    """Write all rows."""
    chance = random.Random(seed)
    names = chance.sample([f"{given} {family}" for given in GIVEN for family in FAMILY], CUSTOMERS)
    for number, name in enumerate(names, 1):
        balance = chance.randrange(0, 20_000) / 100
        change(connection, "INSERT INTO customer VALUES (%s, %s, %s, %s)", number, name, chance.choice(CITIES), balance)
    products = [(f"{look} {name}", kind) for kind, text in KINDS.items() for name in text.split() for look in LOOKS]
    chance.shuffle(products)
    prices = [cents / 100 for cents in chance.sample(range(200, 20_000), len(products))]
    for number, ((name, kind), price) in enumerate(zip(products, prices, strict=True), 1):
        stock = chance.randrange(0, 50)
        change(connection, "INSERT INTO product VALUES (%s, %s, %s, %s, %s)", number, name, kind, price, stock)
    for number in range(1, ORDERS + 1):
        day = FIRST_DAY + datetime.timedelta(days=number)
        status = "open" if chance.random() < 0.3 else "sent"
        customer = chance.randrange(1, CUSTOMERS + 1)
        change(connection, "INSERT INTO purchase VALUES (%s, %s, %s, %s)", number, customer, day, status)
        for product in chance.sample(range(1, len(products) + 1), chance.randrange(1, 5)):
            quantity, price = chance.randrange(1, 4), prices[product - 1]
            change(connection, "INSERT INTO item VALUES (%s, %s, %s, %s)", number, product, quantity, price)
    for _ in range(REVIEWS):
        author, body = chance.choice(names), chance.choice(OPINIONS.split("|"))
        values = chance.randrange(1, len(products) + 1), author, chance.randrange(1, 6), body
        change(connection, "INSERT INTO review (product_id, author, stars, body) VALUES (%s, %s, %s, %s)", *values)


def check(connection):
    """End with an error unless the shop is whole."""
    for table, least in (("customer", CUSTOMERS), ("purchase", ORDERS), ("item", ORDERS), ("review", REVIEWS)):
        count = rows(connection, f"SELECT count(*) FROM {table}")[0][0]
        if count < least:
            sys.exit(f"The table {table} has {count} rows; it should have at least {least}.")


with connect() as shop:
    if "--check" in sys.argv:
        check(shop)
    else:
        change(shop, TABLES)
        fill(shop, int(os.environ["SEED"]))
