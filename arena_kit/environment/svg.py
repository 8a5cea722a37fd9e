"""The frame of all pictures: an SVG frame with colours that follow the light or dark scheme of the page."""

from __future__ import annotations

import re
from html import escape

_DARK = """
.frame .board{fill:#232a3a}.frame .cell{fill:#151a26}.frame .glow{fill:#4a3f12}.frame .ink{fill:#e5e9f2}
.frame .muted{fill:#98a2b8}.frame .first{fill:#6ea0ff}.frame .second{fill:#ff8a66}.frame .stroke-first{stroke:#6ea0ff}
.frame .stroke-second{stroke:#ff8a66}.frame .rim{stroke:#fff2}
""".strip()
# Every selector begins with .frame, so that an inline picture does not style the page around it. In WebKit the scheme
# of a page does not reach its images: the rules of :target are for pages that add #dark to an image's address.
STYLE = f"""
.frame .board{{fill:#dfe5f1}}.frame .cell{{fill:#fff}}.frame .glow{{fill:#fff3c4}}.frame .ink{{fill:#1f2937}}
.frame .muted{{fill:#68748a}}.frame .first{{fill:#2f6fed}}.frame .second{{fill:#e4572e}}
.frame .stroke-first{{stroke:#2f6fed}}.frame .stroke-second{{stroke:#e4572e}}.frame .mark{{stroke:#f2b705}}
.frame .rim{{stroke:#0002}}.frame text{{font-family:system-ui,sans-serif}}
.frame .mono{{font-family:ui-monospace,monospace}}
@media(prefers-color-scheme:dark){{{_DARK}}}
{_DARK.replace(".frame ", ".frame:target ")}
"""


SWAPPED_STYLE = re.sub("first|second", lambda found: "second" if found[0] == "first" else "first", STYLE)
"""The same with the colours of the two seats exchanged."""


def in_colours_of_players(picture: str, seats: tuple[int, ...]) -> str:
    """Return a picture in which player 1 has the first colour, wherever it sits: one colour a player through a duel.

    seats: as in a record, seats[seat] is the player that sits there.
    """
    return picture.replace(STYLE, SWAPPED_STYLE, 1) if seats == (1, 0) else picture


def svg(width: int, height: int, title: str, parts: list[str], *, description: str = "") -> str:
    """Return a stand-alone picture of `width` x `height` units; title and description are for screen readers."""
    described = f"<desc>{escape(description)}</desc>" if description else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="dark" class="frame" viewBox="0 0 {width} {height}" role="img">'
        f"<title>{escape(title)}</title>{described}<style>{STYLE}</style>{''.join(parts)}</svg>"
    )


def unknown_classes(picture: str) -> set[str]:
    """Return the classes in a picture of which no style in it speaks: a shape that has no other colour is black."""
    styles = " ".join(re.findall(r"<style[^>]*>(.*?)</style>", picture, re.DOTALL))
    known = set(re.findall(r"\.([A-Za-z_][\w-]*)", styles))
    drawn = re.sub(r"<style[^>]*>.*?</style>", "", picture, flags=re.DOTALL)
    found: set[str] = set()
    for tag in re.findall(r"<[A-Za-z][^>]*>", drawn):
        if (named := re.search(r"""\sclass=["']([^"']*)["']""", tag)) and not re.search(r"\s(fill|stroke|style)=", tag):
            # One class that colours a shape is enough.
            names = set(named[1].split())
            found |= names if not names & known else set()
    return found


def label(x: float, y: float, size: int, text: str, *, anchor: str = "middle", colour: str = "muted") -> str:
    """Return a short text with its baseline at (x, y)."""
    return f'<text class="{colour}" x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'


def result_text(frame: dict[str, object], seats: tuple[str, str]) -> str:
    """Return a sentence that says whose turn it is, or how the match ended.

    frame: needs the keys `over`, `winner` and `to_move`, which the frames of all two-seat games have. seats: the names
    of the two sides.
    """
    if frame["winner"] is not None:
        return f"{seats[frame['winner'] == 1]} has won."
    if frame["over"]:
        return "Draw."
    return f"{seats[frame['to_move'] == 1]} to move."
