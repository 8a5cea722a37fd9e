"""The pages as HTML. Every text of a row is escaped."""

from html import escape
from urllib.parse import parse_qsl, urlencode

from reports.tables import FILTERS, MEASURES, NUMBERS, TABLES, TESTS

STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:64rem;margin:1rem auto;padding:0 1rem}table{border-collapse:collapse}"
    "th,td{text-align:left;padding:.2rem .7rem;border-bottom:1px solid #ccc}label{margin-right:1rem}"
    "fieldset{border:1px solid #ccc;margin:.5rem 0}"
    ".bar{background:#4a78b5;height:.8rem}.wrong{background:#fbeaea;padding:.5rem}nav{display:flex;flex-wrap:wrap}"
    "nav a{margin-right:1rem}main{overflow-x:auto}"
)


def page(title, body, *, wrong=""):
    """Return a whole page. wrong: a sentence about what could not be done."""
    links = "".join(f'<a href="/browse/{name}">{name.title()}</a>' for name in TABLES)
    note = f"<p class=wrong role=alert>{escape(wrong)}</p>" if wrong else ""
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)} - Reports</title>"
        f'<style>{STYLE}</style><nav><a href="/">Home</a>{links}</nav>'
        f"<main><h1>{escape(title)}</h1>{note}{body}</main></html>"
    )


def home(reports):
    """Return the first page: the tables, and the reports, pinned ones first."""
    tables = "".join(
        f'<li>{name.title()}: <a href="/browse/{name}">rows of {name}</a>, '
        f'<a href="/summarise/{name}">summary of {name}</a></li>'
        for name in TABLES
    )
    saved = "".join(
        f'<li><a href="/reports/{row["id"]}">{escape(row["name"])}</a>{" (pinned)" if row["pinned"] else ""}</li>'
        for row in reports
    )
    return page("Reports", f"<h2>Tables</h2><ul>{tables}</ul><h2>Saved reports</h2><ul>{saved}</ul>")


def rows(name, found, count, filters, sort, first):
    """Return a page of rows with the form that filters and sorts them."""
    columns = list(TABLES[name][1])
    orders = [*columns, *(f"-{each}" for each in columns)]
    form = (
        f'<form action="/browse/{name}">{filtered(columns, filters)}'
        f"{choice('Sort by', 'sort', orders, sort)}<button>Show</button></form>"
    )
    head = "".join(f"<th>{escape(each)}</th>" for each in columns)
    lines = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in found)
    last = first + len(found)
    following = escape(urlencode({**filters, "sort": sort, "first": last}))
    more = f'<a href="/browse/{name}?{following}">Next rows</a>' if last < count else ""
    shown = f"<p>Rows {first + 1 if found else 0} to {last} of {count}. {more}</p>"
    return page(name.title(), f"{form}{shown}<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>")


def summarised(name, asked, filters, pairs):
    """Return the page of a summary, with the form that changes it and the one that saves it."""
    columns = list(TABLES[name][1])
    form = (
        f'<form action="/summarise/{name}">{choice("Measure", "measure", MEASURES, asked["measure"])}'
        f"{choice('Of', 'of', [each for each in columns if each in NUMBERS] or ['id'], asked['of'])}"
        f"{choice('By', 'by', columns, asked['by'])}{filtered(columns, filters)}<button>Summarise</button></form>"
    )
    sent = {"about": name, **asked, **filters}
    hidden = "".join(f'<input type=hidden name={key} value="{escape(value)}">' for key, value in sent.items())
    save = (
        f'<form method=post action="/reports">{hidden}'
        "<label>Name <input name=name></label><button>Save report</button></form>"
    )
    return page(f"Summary of {name}", form + figures(asked["by"], pairs) + save)


def report(row, pairs):
    """Return the page of a saved report."""
    filters = dict(parse_qsl(row["filters"]))
    about = (
        f"{row['measure']}{'' if row['measure'] == 'number of rows' else ' of ' + row['of']}, by {row['grouped_by']}"
    )
    for end in FILTERS:
        if "value" + end in filters:
            about += f", {filters['column' + end]} {filters['test' + end]} {filters['value' + end]}"
    at = f"/reports/{row['id']}"
    forms = (
        f'<form method=post action="{at}/rename"><label>Name <input name=name value="{escape(row["name"])}"></label>'
        f'<button>Rename</button></form><form method=post action="{at}/pin">'
        f"<button>{'Unpin' if row['pinned'] else 'Pin'}</button></form>"
        f'<form method=post action="{at}/delete"><button>Delete</button></form>'
    )
    return page(
        row["name"], f"<p>{escape(row['about'])}: {escape(about)}</p>{figures(row['grouped_by'], pairs)}{forms}"
    )


def figures(by, pairs):
    """Return a table of groups and figures with bars."""
    most = max((figure for _, figure in pairs), default=0) or 1
    lines = "".join(
        f"<tr><td>{escape(str(group))}</td><td>{figure}</td>"
        f'<td aria-hidden=true><div class=bar style="width:{100 * figure / most:.0f}px"></div></td></tr>'
        for group, figure in pairs
    )
    return f"<table><thead><tr><th>{escape(by)}</th><th>figure</th><th></th></tr></thead><tbody>{lines}</tbody></table>"


def filtered(columns, filters):
    """Return the controls of the filters that are set, and of one more."""
    lines = ""
    for number, end in enumerate(FILTERS, 1):
        column, test, value = (filters.get(part + end, "") for part in ("column", "test", "value"))
        lines += (
            f"<fieldset><legend>Filter {number}</legend>{choice(f'Column {number}', 'column' + end, columns, column)}"
            f"{choice(f'Test {number}', 'test' + end, TESTS, test)}"
            f'<label>Value {number} <input name=value{end} value="{escape(value)}"></label></fieldset>'
        )
        if not value:
            break
    return lines


def choice(label, name, options, chosen):
    """Return a control for one of several texts."""
    lines = "".join(f"<option{' selected' if each == chosen else ''}>{escape(each)}</option>" for each in options)
    return f"<label>{label} <select name={name}>{lines}</select></label>"
