from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser

import pytest

from core.models import Build
from web.site.numbers import ordinal
from web.templatetags.arena import markdown, moment, number, took
from web.templatetags.scores import brief, chance, figure, margin, rank_range, signed


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://tracker.example/a.png)",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "<javascript:alert(1)>",
        "<svg onload=alert(1)>",
        "a\n\n<style>body{display:none}</style>",
    ],
)
def test_markdown_lets_nothing_active_or_foreign_through(hostile: str) -> None:
    html = markdown(hostile)
    for tag in ("<script", "<img", "<svg", "<style", 'href="javascript', 'href="data'):
        assert tag not in html


@pytest.mark.parametrize("folder", ["/static/environment-tic-tac-toe/", "/static/environments/tic-tac-toe/"])
def test_a_description_shows_the_pictures_of_its_own_environment(folder: str) -> None:
    html = markdown(f'![The "board"]({folder}board.svg "a title")', "tic-tac-toe")
    assert html == '<p><img src="/static/environments/tic-tac-toe/board.svg" alt="The &quot;board&quot;"></p>\n'


@pytest.mark.parametrize(
    "address",
    [
        "https://tracker.example/a.png",
        "//tracker.example/static/environments/nim/a.png",
        "https://tracker.example/static/environments/nim/a.png",
        "/static/environments/other/a.png",
        "/static/environment-nim-2/a.png",
        "/static/environments/nim/../other/a.png",
        "/static/environments/nim/..%2fother/a.png",
        "/static/environments/nim/..",
        "/static/environments/nim/sub/a.png",
        "/static/environments/nim/a.png?leak=1",
        "/static/environments/nim/a.png#x",
        "/static/environments/nim/a.png&#34;onerror=&#34;alert(1)",
        "/static/environments/nim/",
        "/logout/",
        "a.png",
        "\\\\tracker.example/static/environments/nim/a.png",
        "javascript:alert(1)",
        "data:image/svg+xml;base64,PHN2Zz4=",
        "/STATIC/environments/nim/a.png",
        " /static/environments/nim/ä.png",
        "",
    ],
)
def test_of_other_pictures_a_description_has_the_words_alone(address: str) -> None:
    html = markdown(f"![<b>a & b</b> **c**]({address})", "nim")
    assert "<img" not in html
    assert "src=" not in html
    assert "<b>" not in html
    if address[:1] in "/ah":
        assert html == "<p>&lt;b&gt;a &amp; b&lt;/b&gt; c</p>\n"


@pytest.mark.parametrize(
    "hostile",
    [
        '![" onerror="alert(1)](/static/environments/nim/a.png)',
        "![<script>alert(1)</script>](/static/environments/nim/a.png)",
        "![![x](javascript:alert(1))](/static/environments/nim/a.png)",
        '<img src="/static/environments/nim/a.png" onerror="alert(1)">',
        '![x](/static/environments/nim/a.png "onload=alert(1)")',
        "![x](/static/environments/nim/a.png){onerror=alert(1)}",
    ],
)
def test_a_picture_has_an_address_and_words_and_nothing_else(hostile: str) -> None:
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.append((tag, *(name for name, _ in attrs)))  # type: ignore[method-assign]
    parser.feed(markdown(hostile, "nim"))
    assert set(found) <= {("p",), ("img", "src", "alt")}


def test_markdown_keeps_text_tables_and_links_that_do_not_vouch() -> None:
    html = markdown("**a** `b`\n\n|x|\n|-|\n|1|\n\n[docs](https://docs.example/)")
    assert "<strong>a</strong> <code>b</code>" in html
    assert "<td>1</td>" in html
    assert '<a href="https://docs.example/" rel="nofollow noopener noreferrer">docs</a>' in html


@pytest.mark.parametrize(
    ("value", "shown"),
    [(3.0, "3"), (2.5, "2.5"), (-1.0, "−1"), (0.001, "0"), (-0.001, "0"), (None, "–"), (100.0, "100")],
)
def test_numbers_have_no_needless_digits(value: float | None, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.42, "0.4 s"), (9.96, "10.0 s"), (12, "12 s"), (119, "119 s"), (150, "2 min"), (-5, "0.0 s")],
)
def test_durations_read_well(seconds: float, shown: str) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    assert took(Build(started_at=start, ended_at=start + timedelta(seconds=seconds))) == shown


def test_a_job_that_has_not_ended_took_no_time_yet() -> None:
    assert took(Build(started_at=datetime(2026, 3, 1, tzinfo=UTC))) == ""


def test_moments_are_shown_in_utc_and_can_be_read_by_programs() -> None:
    value = datetime(2026, 3, 1, 1, 5, tzinfo=timezone(timedelta(hours=2)))
    assert moment(value) == '<time datetime="2026-02-28T23:05:00+00:00">28 Feb 2026, 23:05 UTC</time>'


@pytest.mark.parametrize(
    ("value", "shown", "difference"),
    [
        (None, "–", "–"),
        (0.0, "0", "0"),
        (-0.0, "0", "0"),
        (487.34, "487.3", "+487.3"),
        (0.7404, "0.74", "+0.74"),
        (-1234.5678, "−1235", "−1235"),
        (99.996, "100", "+100"),
        (-0.00012, "−0.00012", "−0.00012"),
        (1.5e7, "1.5e+07", "+1.5e+07"),
    ],
)
def test_scores_show_the_digits_that_tell_something(value: float | None, shown: str, difference: str) -> None:
    assert (figure(value), signed(value)) == (shown, difference)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "–"),
        (0.0, "0 µs"),
        (0.000045, "45 µs"),
        (0.0009999, "1 ms"),
        (0.0012, "1.2 ms"),
        (0.9994, "999 ms"),
        (0.9999, "1 s"),
        (3.44, "3.44 s"),
        (1234.0, "1230 s"),
    ],
)
def test_short_times_change_their_unit_before_they_need_a_power(seconds: float | None, shown: str) -> None:
    assert brief(seconds) == shown


def test_ranks_are_words() -> None:
    numbers = (1, 2, 3, 4, 11, 12, 13, 21, 102, 111, 1000)
    words = "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 111th 1000th"
    assert [ordinal(number) for number in numbers] == words.split()
    assert (rank_range(2, 5), rank_range(2, 2)) == ("2nd to 5th", "2nd")


def test_ratings_show_how_sure_they_are() -> None:
    assert margin(1505.6, 1562.4) == "± 28"
    shares = (0.0, 0.0099, 0.01, 0.123, 0.99, 0.9901, 1.0)
    assert [chance(share) for share in shares] == ["under 1%", "under 1%", "1%", "12%", "99%", "over 99%", "over 99%"]
