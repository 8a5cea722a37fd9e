"""The shipped reports: answers are computed from the data, and the pages that an oracle opens show them."""

from __future__ import annotations

import html
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings

from arena_kit.tests.rollout.form_filler import play
from arena_kit.tests.rollout.test_shipped_packages import package, steps

PACKAGE = Path(settings.BASE_DIR) / "environments" / "applications" / "reports"
TASKS = {task["id"]: task for task in json.loads((PACKAGE / "tasks.json").read_text())["tasks"]}
OLDER = (
    "rated-and-cheap", "best-sellers", "dearest", "hundred-orders", "feedback-456", "best-quarter", "most-orders",
    "best-account", "born-in-1990", "widget-rating",
)  # fmt: skip
"""The ten tasks of the older dashboard, in its order."""
IN_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from reports import tables; tables.FILE = sys.argv[2]; "
MAKE = IN_CODE + (
    "from reports import seed; data = tables.connect(); data.executescript(tables.SCHEMA); "
    "seed.fill(data, int(sys.argv[3])); seed.check(data); data.commit()"
)
SERVE = IN_CODE + (
    "import http.server; from reports.server import Reports; "
    "served = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Reports); "
    "print(served.server_address[1], flush=True); served.serve_forever()"
)
ORDERS = "purchase JOIN product ON product.id = purchase.product_id JOIN person ON person.id = person_id"
REVIEWS = "review JOIN product ON product.id = review.product_id"
ACCOUNT = "account ON account.id = account_id"
Rows = list[tuple[Any, ...]]
Shaped = Callable[[Rows], Any]


def objects(*keys: str) -> Shaped:
    """Return the first row as an object."""
    return lambda rows: dict(zip(keys, rows[0], strict=True))


def columns(*keys: str) -> Shaped:
    """Return an object with a list for each column."""
    return lambda rows: {key: list(column) for key, column in zip(keys, zip(*rows, strict=True), strict=True)}


def value(rows: Rows) -> Any:
    """Return the only value."""
    return rows[0][0]


ANSWERS: dict[str, tuple[str, Shaped]] = {
    "rated-and-cheap": (
        "SELECT title, rating FROM product WHERE rating > 4.5 AND price < 40 ORDER BY id",
        columns("product_titles", "ratings"),
    ),
    "best-sellers": (
        f"SELECT title, count(*) FROM {ORDERS} WHERE rating = 5 GROUP BY title ORDER BY 2 DESC LIMIT 3",
        columns("product_titles", "order_counts"),
    ),
    "dearest": (
        """SELECT category, title FROM product AS one
        WHERE price = (SELECT max(price) FROM product WHERE category = one.category)""",
        dict,
    ),
    "hundred-orders": (
        f"SELECT title, category, price FROM {ORDERS} GROUP BY product.id HAVING count(*) = 100 ORDER BY price",
        objects("product", "category", "price"),
    ),
    "feedback-456": (
        f"SELECT rating, first_name || ' ' || last_name FROM feedback JOIN {ACCOUNT} WHERE feedback.id = 456",
        objects("rating", "full_name"),
    ),
    "best-quarter": (
        """SELECT CASE WHEN written_on < '2025-04' THEN 'Q1' WHEN written_on < '2025-07' THEN 'Q2'
        WHEN written_on < '2025-10' THEN 'Q3' ELSE 'Q4' END, count(*) FROM review
        WHERE written_on >= '2025' AND written_on < '2026' GROUP BY 1 ORDER BY 2 DESC""",
        objects("quarter", "count"),
    ),
    "most-orders": (
        f"SELECT name, count(*) FROM {ORDERS} GROUP BY 1 ORDER BY 2 DESC",
        objects("person_name", "order_count"),
    ),
    "best-account": (
        f"""SELECT first_name, last_name, email, round(sum(amount), 2) FROM invoice JOIN {ACCOUNT}
        GROUP BY account.id ORDER BY 4 DESC""",
        objects("first_name", "last_name", "email", "sum"),
    ),
    "born-in-1990": (
        """SELECT name FROM person WHERE state = 'IL' AND born_on BETWEEN '1990-01-01' AND '1990-12-31'
        AND id IN (SELECT person_id FROM purchase) ORDER BY name""",
        columns("names"),
    ),
    "widget-rating": ("SELECT round(avg(rating), 2) FROM product WHERE category = 'Widget'", objects("avg_rating")),
    "twelve-orders": (
        f"SELECT title, category, price FROM {ORDERS} GROUP BY product.id HAVING count(*) = 12 ORDER BY price",
        objects("product", "category", "price"),
    ),
    "largest-city": ("SELECT city, count(*) FROM person GROUP BY 1 ORDER BY 2 DESC", objects("city", "people")),
    "stars-by-category": (
        f"SELECT category, round(avg(stars), 2) FROM {REVIEWS} GROUP BY 1 ORDER BY 2",
        objects("category", "stars"),
    ),
    "best-month": (
        f"SELECT substr(ordered_on, 1, 7), round(sum(total), 2) FROM {ORDERS} GROUP BY 1 ORDER BY 2 DESC",
        objects("month", "revenue"),
    ),
    "vendors": ("SELECT vendor, count(*) FROM product GROUP BY 1", dict),
    "best-person": (
        f"""SELECT name, round(sum(total), 2), (SELECT count(*) FROM review WHERE reviewer = name) FROM {ORDERS}
        GROUP BY 1 ORDER BY 2 DESC""",
        objects("name", "ordered", "reviews"),
    ),
    "overdue": ("SELECT sum(amount) FROM invoice WHERE state = 'overdue'", value),
    "sources": (
        f"SELECT source FROM {ORDERS} GROUP BY 1 ORDER BY avg(total) DESC",
        lambda rows: [source for (source,) in rows],
    ),
    "one-star": (f"SELECT category, count(*) FROM {REVIEWS} WHERE stars = 1 GROUP BY 1", dict),
    "oldest": ("SELECT name, born_on FROM person ORDER BY born_on", objects("name", "born_on")),
    "order-777": ("SELECT total FROM purchase WHERE id = 777", value),
}
"""How the answer of each task that only reads is computed, in SQL of its own."""


def run(code: str, *arguments: object) -> list[str]:
    """Return the command that runs code of the package on a file."""
    return [sys.executable, "-B", "-c", code, str(PACKAGE / "services" / "web"), *map(str, arguments)]


def asked(file: Path, sql: str) -> Rows:
    """Return the rows of a query."""
    with closing(sqlite3.connect(file)) as data:
        return data.execute(sql).fetchall()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data that tasks are about."""
    path = tmp_path_factory.mktemp("reports") / "reports.sqlite"
    subprocess.run(run(MAKE, path, 0), check=True)
    return path


@pytest.fixture(scope="module")
def home(file: Path) -> Iterator[str]:
    """The address of the pages, on a port that is free."""
    with subprocess.Popen(run(SERVE, file), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/"
        finally:
            server.terminate()
            server.stdout.read()


def leaves(answer: Any) -> Iterator[str]:
    """Return the texts and numbers of an answer."""
    if isinstance(answer, dict | list):
        for each in answer.values() if isinstance(answer, dict) else answer:
            yield from leaves(each)
    else:
        yield f"{answer:g}" if isinstance(answer, float) and answer == int(answer) else str(answer)


@pytest.mark.parametrize("key", [task["id"] for task in TASKS.values() if task["tags"] == ["read"]])
def test_the_answer_of_a_task_is_what_the_data_say(file: Path, key: str) -> None:
    sql, shaped = ANSWERS[key]
    expected = TASKS[key].get("answer", TASKS[key]["oracle"][-1][1])
    assert shaped(asked(file, sql)) == expected
    assert TASKS[key]["oracle"][-1] == ["answer", expected]


@pytest.mark.parametrize("key", [task["id"] for task in TASKS.values() if task["tags"] == ["read"]])
def test_the_pages_that_an_oracle_opens_show_its_answer(home: str, key: str) -> None:
    task = next(task for task in package("reports").tasks.tasks if task.key == key)
    seen, answer = html.unescape(play(home, steps(task))), task.oracle[-1].arguments["value"]
    assert [leaf for leaf in leaves(answer) if leaf not in seen] == []


@pytest.mark.parametrize("seed", [1, 2, 99])
def test_the_tasks_of_the_older_dashboard_hold_whatever_the_seed_is(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "reports.sqlite"
    subprocess.run(run(MAKE, path, seed), check=True)
    found = {key: ANSWERS[key][1](asked(path, ANSWERS[key][0])) for key in OLDER}
    assert found == {key: TASKS[key]["answer"] for key in OLDER}


def test_members_can_upload_the_older_file_beside_the_package() -> None:
    # A task of a member whose id is that of an organisers' task is not written.
    assert not {f"problem{number}" for number in range(1, 11)} & set(TASKS)


def test_the_best_sellers_are_the_same_however_a_rating_of_five_is_read(file: Path) -> None:
    joined = f"{ORDERS} JOIN review ON review.product_id = product.id"
    sql = f"SELECT title, count(*) FROM {joined} WHERE stars = 5 GROUP BY 1 ORDER BY 2 DESC LIMIT 3"
    assert columns("product_titles", "order_counts")(asked(file, sql)) == TASKS["best-sellers"]["answer"]


def test_a_report_keeps_the_filters_of_its_summary(home: str, file: Path) -> None:
    filters = "column=written+on&test=begins+with&value=2025&column2=stars&test2=above&value2=4"
    goto = ["goto", f"/summarise/reviews?by=category&{filters}"]
    actions = [goto, ["fill", "label=Name", "Five"], ["click", "role=button[name=Save report]"]]
    report = play(home, actions).rpartition("<!doctype html>")[2]
    assert "written on begins with 2025, stars above 4" in report
    sql = f"SELECT category, count(*) FROM {REVIEWS} WHERE stars > 4 AND written_on >= '2025' GROUP BY 1"
    for category, count in asked(file, sql):
        assert f"<td>{category}</td><td>{count}</td>" in report


@pytest.mark.parametrize("text", ["%", "_", "A%", "a", "FR"])
def test_the_begin_of_a_text_is_no_pattern(home: str, file: Path, text: str) -> None:
    page = play(home, [["goto", f"/browse/accounts?column=first+name&test=begins+with&value={quote(text)}"]])
    names = [name for (name,) in asked(file, "SELECT first_name FROM account")]
    assert f" of {sum(name.lower().startswith(text.lower()) for name in names)}." in page


def test_a_filter_that_no_table_has_is_left_out(home: str) -> None:
    page = play(
        home, [["goto", "/browse/products?column=rating;DROP&test=x&value=1&column2=id&test2=x&value2=7&sort=x'"]]
    )
    assert "Rows 1 to 1 of 1." in page
