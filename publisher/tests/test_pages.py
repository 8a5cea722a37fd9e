from __future__ import annotations

import pytest

from publisher.pages import (
    MARK,
    PublishedAgent,
    PublishedEnvironment,
    environment_page,
    is_ours,
    licence_of,
    plain,
    root_page,
)

ANN = PublishedAgent("deep-four", 3, "Ann", "Reds", "https://a.example/x", "1512 (1480 to 1544)", "LICENSE.md")
ROW = (
    r"| [deep\-four](deep-four/) | 3 | Ann | Reds | 1512 \(1480 to 1544\) "
    r"| [LICENSE\.md](deep-four/LICENSE.md) | [page](https://a.example/x) |"
)
FOUR = PublishedEnvironment("connect-four", "Connect Four", "https://a.example/e", "Rating", (ANN,))


def test_a_page_names_each_agent_with_its_version_owner_result_and_licence() -> None:
    assert environment_page(FOUR).splitlines()[-3:] == [
        "| Agent | Version | Owner | Team | Rating | Licence | In the arena |",
        "|---|---|---|---|---|---|---|",
        ROW,
    ]
    root = root_page("RL Arena", "https://a.example", [FOUR]).splitlines()
    assert root[0] == MARK
    assert root[-1] == "| [Connect Four](connect-four/README.md) | 1 |"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a|b", r"a\|b"),
        ("[x](https://evil.example)", r"\[x\]\(https\:\/\/evil\.example\)"),
        ("<img src=x>", r"\<img src\=x\>"),
        ("one\n# two\r\nthree", r"one \# two three"),
        ("\u202ereversed\x00", "reversed"),
        ("Zoë 🎲", "Zoë 🎲"),
    ],
)
def test_names_never_become_links_rows_or_html(name: str, shown: str) -> None:
    assert plain(name) == shown


def test_a_page_that_people_wrote_is_theirs() -> None:
    assert is_ours("")
    assert is_ours(root_page("A", "https://a.example", []))
    assert not is_ours("# Our agents\n")


def test_a_licence_is_a_file_at_the_top_of_the_folder() -> None:
    assert licence_of(["player.py", "LICENSE"]) == "LICENSE"
    assert licence_of(["Licence.txt", "licence_check.py"]) == "Licence.txt"
    assert licence_of(["player.py", "LICENSE.py"]) == ""
