"""The back office: serves pages on port 8000 of the world's own network."""

import http.server
import re
import secrets
import urllib.parse
from html import escape
from http.cookies import SimpleCookie

from shop.database import change, connect, rows
from shop.pages import choice, form, link, page, table, text_field

USERS = {"clerk": "clerk"}
REASONS = ("damaged", "late", "wrong item", "not wanted")
MOST_BYTES = 65_536
TOTAL = "SELECT coalesce(sum(quantity * price), 0) FROM item WHERE purchase_id = %s"
sessions: dict[str, str] = {}


class Refused(Exception):
    """A request that cannot be carried out; the message is for the page."""


def products(shop, asked, _):
    """The list of products, by name or category."""
    sought = asked.get("q", "")
    found = rows(
        shop,
        "SELECT * FROM product WHERE name ILIKE %s OR category ILIKE %s ORDER BY name",
        f"%{sought}%",
        f"%{sought}%",
    )
    lines = [
        (link(f"/products/{row['id']}", row["name"]), escape(row["category"]), row["price"], row["stock"])
        for row in found
    ]
    search = form("/", "Search", ("Name or category", text_field("q", sought)), method="get")
    return "Products", search + table(("Product", "Category", "Price", "In stock"), lines)


def product(shop, _, number):
    """A product with its reviews."""
    row = one(shop, "product", number)
    reviews = rows(shop, "SELECT * FROM review WHERE product_id = %s ORDER BY id", number)
    lines = [(escape(each["author"]), each["stars"], escape(each["body"])) for each in reviews]
    facts = f"<p>{escape(row['category'])}, {row['price']} each, {row['stock']} in stock</p>"
    stock = form(
        f"/products/{number}/stock", "Set stock", ("In stock", text_field("stock", str(row["stock"]), kind="number"))
    )
    review = form(
        f"/products/{number}/reviews",
        "Add review",
        ("Author", text_field("author")),
        ("Stars", choice("stars", (5, 4, 3, 2, 1))),
        ("Review", text_field("body")),
    )
    return row["name"], facts + stock + "<h2>Reviews</h2>" + table(("Author", "Stars", "Review"), lines) + review


def orders(shop, asked, _):
    """The list of orders, all or of one status."""
    status = asked.get("status", "")
    found = rows(
        shop,
        "SELECT p.*, c.name FROM purchase p JOIN customer c ON c.id = customer_id"
        " WHERE %s IN ('', status) ORDER BY p.id",
        status,
    )
    lines = [
        (link(f"/orders/{row['id']}", f"Order {row['id']}"), escape(row["name"]), row["ordered_on"], row["status"])
        for row in found
    ]
    chosen = form("/orders", "Show", ("Status", choice("status", ("", "open", "sent", "refunded"))), method="get")
    return "Orders", chosen + table(("Order", "Customer", "Date", "Status"), lines)


def order(shop, _, number):
    """An order, with what may be done about it."""
    row = one(shop, "purchase", number)
    customer = one(shop, "customer", row["customer_id"])
    items = rows(
        shop,
        "SELECT i.*, p.name FROM item i JOIN product p ON p.id = product_id WHERE purchase_id = %s ORDER BY p.name",
        number,
    )
    lines = [(link(f"/products/{each['product_id']}", each["name"]), each["quantity"], each["price"]) for each in items]
    total = rows(shop, TOTAL, number)[0][0]
    who = link(f"/customers/{customer['id']}", customer["name"])
    facts = f"<p>{who}, ordered on {row['ordered_on']}, {row['status']}. Total: {total}</p>"
    actions = ""
    if row["status"] == "open":
        actions += form(f"/orders/{number}/send", "Mark as sent")
    if row["status"] != "refunded":
        actions += "<h2>Refund</h2>" + form(f"/orders/{number}/refund", "Refund", ("Reason", choice("reason", REASONS)))
    return f"Order {number}", facts + table(("Product", "Quantity", "Price"), lines) + actions


def customers(shop, _asked, _number):
    """The list of customers."""
    found = rows(shop, "SELECT * FROM customer ORDER BY name")
    lines = [(link(f"/customers/{row['id']}", row["name"]), escape(row["city"]), row["balance"]) for row in found]
    return "Customers", table(("Customer", "City", "Balance"), lines)


def customer(shop, _, number):
    """A customer and the orders."""
    row = one(shop, "customer", number)
    found = rows(shop, "SELECT * FROM purchase WHERE customer_id = %s ORDER BY id", number)
    lines = [
        (link(f"/orders/{each['id']}", f"Order {each['id']}"), each["ordered_on"], each["status"]) for each in found
    ]
    facts = f"<p>{escape(row['city'])}. Balance: {row['balance']}</p>"
    return row["name"], facts + table(("Order", "Date", "Status"), lines)


def add_review(shop, sent, number):
    """Add a review of a product."""
    if not sent.get("author") or not sent.get("body") or sent.get("stars") not in ("1", "2", "3", "4", "5"):
        raise Refused("A review has an author, 1 to 5 stars and a text.")
    change(
        shop,
        "INSERT INTO review (product_id, author, stars, body) VALUES (%s, %s, %s, %s)",
        one(shop, "product", number)["id"],
        sent["author"],
        int(sent["stars"]),
        sent["body"],
    )
    return f"/products/{number}", "The review was added."


def set_stock(shop, sent, number):
    """Set how many pieces of a product there are."""
    if not re.fullmatch(r"\d{1,6}", sent.get("stock", "")):
        raise Refused("The stock is a whole number.")
    change(shop, "UPDATE product SET stock = %s WHERE id = %s", int(sent["stock"]), one(shop, "product", number)["id"])
    return f"/products/{number}", "The stock was set."


def send(shop, _, number):
    """Mark an open order as sent."""
    if not change(shop, "UPDATE purchase SET status = 'sent' WHERE id = %s AND status = 'open'", number):
        raise Refused("Only an open order can be sent.")
    return f"/orders/{number}", "The order was marked as sent."


def refund(shop, sent, number):
    """Refund an order: its customer is given the whole total as balance."""
    if sent.get("reason") not in REASONS:
        raise Refused("Choose a reason.")
    if not change(shop, "UPDATE purchase SET status = 'refunded' WHERE id = %s AND status <> 'refunded'", number):
        raise Refused("This order cannot be refunded.")
    total = rows(shop, TOTAL, number)[0][0]
    change(shop, "INSERT INTO refund VALUES (%s, %s, %s)", number, total, sent["reason"])
    customer_id = one(shop, "purchase", number)["customer_id"]
    change(shop, "UPDATE customer SET balance = balance + %s WHERE id = %s", total, customer_id)
    return f"/orders/{number}", f"The order was refunded: {total}."


def one(shop, kind, number):
    """Return a row by its number. Raises Refused."""
    found = rows(shop, f"SELECT * FROM {kind} WHERE id = %s", number)
    if not found:
        raise Refused(f"There is no {'order' if kind == 'purchase' else kind} {number}.")
    return found[0]


PAGES = (
    (r"/", products),
    (r"/products/(\d{1,6})", product),
    (r"/orders", orders),
    (r"/orders/(\d{1,6})", order),
    (r"/customers", customers),
    (r"/customers/(\d{1,6})", customer),
)
DEEDS = (
    (r"/products/(\d{1,6})/reviews", add_review),
    (r"/products/(\d{1,6})/stock", set_stock),
    (r"/orders/(\d{1,6})/send", send),
    (r"/orders/(\d{1,6})/refund", refund),
)


class Office(http.server.BaseHTTPRequestHandler):
    """Answers one request after the other of a connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Show a page."""
        address = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(address.query))
        if address.path == "/login":
            fields = ("Name", text_field("name")), ("Password", text_field("password", kind="password"))
            wrong = "Name or password is wrong." if "wrong" in asked else ""
            return self.answer(200, page("Log in", form("/login", "Log in", *fields), wrong=wrong))
        if not self.user():
            return self.go("/login")
        for pattern, made in PAGES:
            if match := re.fullmatch(pattern, address.path):
                try:
                    with connect() as shop:
                        title, body = made(shop, asked, int(match[1]) if match.groups() else 0)
                except Refused as refusal:
                    return self.answer(404, page("Not found", "", wrong=str(refusal), user=self.user()))
                return self.answer(200, page(title, body, said=asked.get("said", ""), user=self.user()))
        return self.answer(404, page("Not found", "", wrong="There is no such page.", user=self.user()))

    def do_POST(self):
        """Do what a form asks for, and show the page that tells it."""
        size = int(self.headers.get("Content-Length") or 0)
        if size > MOST_BYTES:
            self.close_connection = True
            return self.answer(413, page("Too large", "", wrong="The form is too large."))
        sent = dict(urllib.parse.parse_qsl(self.rfile.read(size).decode(errors="replace")))
        if self.path == "/login":
            return self.log_in(sent)
        if not self.user():
            return self.go("/login")
        if self.path == "/logout":
            sessions.pop(self.token(), None)
            return self.go("/login")
        for pattern, done in DEEDS:
            if match := re.fullmatch(pattern, self.path):
                try:
                    with connect() as shop:
                        target, said = done(shop, sent, int(match[1]))
                except Refused as refusal:
                    return self.answer(400, page("Not done", "", wrong=str(refusal), user=self.user()))
                return self.go(f"{target}?{urllib.parse.urlencode({'said': said})}")
        return self.answer(404, page("Not found", "", wrong="There is no such page.", user=self.user()))

    def log_in(self, sent):
        """Open a session."""
        name = sent.get("name", "")
        if USERS.get(name) != sent.get("password"):
            return self.go("/login?wrong=1")
        token = secrets.token_hex(16)
        sessions[token] = name
        return self.go("/", f"session={token}; Path=/; HttpOnly; SameSite=Strict")

    def token(self):
        """Return the name of the session, or an empty text."""
        found = SimpleCookie(self.headers.get("Cookie", "")).get("session")
        return found.value if found else ""

    def user(self):
        """Return who is logged in, or an empty text."""
        return sessions.get(self.token(), "")

    def go(self, target, cookie=""):
        """Send the browser to another page."""
        self.send_response(303)
        self.send_header("Location", target)
        if cookie:
            self.send_header("Set-Cookie", cookie)
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
    http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Office).serve_forever()
