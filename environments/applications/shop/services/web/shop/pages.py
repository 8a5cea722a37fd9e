"""The pages of the shop as HTML. Every text of a row is escaped."""

from html import escape

STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:1rem auto;padding:0 1rem}nav a{margin-right:1rem}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ccc}"
    "label{display:block;margin:.5rem 0}.said{background:#eef6ee;padding:.5rem}.wrong{background:#fbeaea;padding:.5rem}"
)
NAVIGATION = (("/", "Products"), ("/orders", "Orders"), ("/customers", "Customers"))


def page(title, body, *, said="", wrong="", user=""):
    """Return a whole page. said, wrong: sentences about what was just done."""
    links = "".join(f'<a href="{path}">{name}</a>' for path, name in NAVIGATION)
    who = f"<form method=post action=/logout>{escape(user)} <button>Log out</button></form>" if user else ""
    notes = f"<p class=said role=status>{escape(said)}</p>" if said else ""
    notes += f"<p class=wrong role=alert>{escape(wrong)}</p>" if wrong else ""
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)} - Shop</title><style>{STYLE}</style>"
        f"<nav>{links or ''}{who}</nav><main><h1>{escape(title)}</h1>{notes}{body}</main></html>"
    )


def table(heads, lines):
    """Return a table; cells are HTML already."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def link(path, text):
    """Return a link."""
    return f'<a href="{escape(path)}">{escape(str(text))}</a>'


def form(action, button, *fields, method="post"):
    """Return a form. fields: pairs of a label and a control."""
    inner = "".join(f"<label>{escape(label)} {control}</label>" for label, control in fields)
    return f'<form method={method} action="{escape(action)}">{inner}<button>{escape(button)}</button></form>'


def text_field(name, value="", *, kind="text"):
    """Return a control for a line of text."""
    return f'<input name={name} type={kind} value="{escape(value)}">'


def choice(name, options):
    """Return a control for one of several texts."""
    return f"<select name={name}>" + "".join(f"<option>{escape(str(each))}</option>" for each in options) + "</select>"
