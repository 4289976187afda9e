"""What a fitted model found, as a piece of HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from thinrank.estimators.sentences import number, percent

if TYPE_CHECKING:
    from thinrank.estimators.summary import Summary

# Rows of the tables in a notebook.
_MAX_ROWS = 10
_STYLE = (
    "<style>.thinrank-found{font-size:90%;line-height:1.4;max-width:60em}"
    ".thinrank-found table{border-collapse:collapse;margin:.5em 0}"
    ".thinrank-found caption{text-align:left;font-weight:bold;padding:.2em 0}"
    ".thinrank-found th,.thinrank-found td{text-align:left;padding:.15em .8em .15em 0}"
    ".thinrank-found .number{text-align:right}"
    ".thinrank-found p{margin:.3em 0}</style>"
)


def summary_html(summary: Summary) -> str:
    """Sentences, tables of factors and responses, and what to distrust.

    Parameters
    ----------
    summary : Summary
        The summary.

    Returns
    -------
    str
        A ``div`` with its style; all names are escaped.
    """
    parts = [f"<p>{escape(sentence)}</p>" for sentence in summary.sentences]
    if summary.rank and len(summary.response_names) > 1:
        columns = summary.table("factors", _MAX_ROWS)
        rows = [
            (str(j), percent(share), predictors, responses)
            for j, share, predictors, responses in zip(*columns.values(), strict=True)
        ]
        headers = ("factor", "share", "predictors", "responses")
        parts.append(_table("Factors", headers, rows, (0, 1), summary.rank))
    columns = summary.table("responses", _MAX_ROWS)
    rows = [
        (name, number(r2), number(outside), str(count))
        for name, r2, outside, count in zip(*columns.values(), strict=True)
    ]
    headers = ("response", "training", "held out", "predictors")
    caption = f"{summary.measure[0].upper()}{summary.measure[1:]} of the responses"
    parts.append(_table(caption, headers, rows, (1, 2, 3), len(summary.response_names)))
    if summary.cautions:
        items = "".join(f"<li>{escape(caution)}</li>" for caution in summary.cautions)
        parts.append(f"<p><b>What to distrust</b></p><ul>{items}</ul>")
    return f'{_STYLE}<div class="thinrank-found">{"".join(parts)}</div>'


def _table(
    caption: str,
    headers: Iterable[str],
    rows: Sequence[Sequence[str]],
    numbers: tuple[int, ...],
    total: int,
) -> str:
    head = "".join(_cell("th", text, j in numbers) for j, text in enumerate(headers))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, j in numbers) for j, text in enumerate(row))}</tr>"
        for row in rows
    )
    more = f"<p>… and {total - len(rows)} more</p>" if total > len(rows) else ""
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{more}"
    )


def _cell(tag: str, text: str, number: bool) -> str:
    kind = ' class="number"' if number else ""
    return f"<{tag}{kind}>{escape(text)}</{tag}>"
