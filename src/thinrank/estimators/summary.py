"""What a fitted model found: sentences and tables that print well."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from thinrank.core.imports import import_optional
from thinrank.estimators.findings import TABLES, Findings, table
from thinrank.estimators.sentences import cautions, number, percent, sentences
from thinrank.estimators.text_table import WIDTH, shortened, text_table

# Characters for the names of predictors, and for those of responses, in the table of factors.
_NAMES_WIDTH = 29


class Summary:
    """What a fitted model found, from :meth:`SparseReducedRankRegressor.summary`.

    ``print(summary)`` shows sentences, tables and what to distrust, with few rows of every table.
    :meth:`to_frame` returns a table in full.

    Parameters
    ----------
    found : Findings
        Numbers and names of the model.
    max_rows : int, default=10
        Largest number of rows of a table that is printed.

    Attributes
    ----------
    predictor_names, response_names : list of str
        Names of all predictors and responses; x0, x1, … and y0, y1, … if fit had no names.
    n_samples : int
        Number of samples.
    rank : int
        Number of factors.
    measure : str
        What ``r2`` in the tables is: "R²", or "deviance explained" for counts and classes.
    sentences : list of str
        What was found.
    cautions : list of str
        What to distrust; empty if nothing is known against the model.
    """

    def __init__(self, found: Findings, max_rows: int = 10) -> None:
        if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
            raise ValueError(f"max_rows must be a positive integer, got {max_rows!r}")
        self._found = found
        self._max_rows = max_rows
        self.predictor_names = found.predictor_names
        self.response_names = found.response_names
        self.n_samples = found.n_samples
        self.rank = found.rank
        self.measure = found.measure
        self.sentences = sentences(found)
        self.cautions = cautions(found)

    def table(self, name: str = "coefficients", max_rows: int | None = None) -> dict[str, list]:
        """One of the tables as lists, without pandas.

        Parameters
        ----------
        name : {"coefficients", "predictors", "responses", "factors", "loadings"}, \
default="coefficients"
            The table; see :meth:`to_frame`.
        max_rows : int, default=None
            Number of rows, the strongest first (for "loadings": of each factor and side); None
            for all.

        Returns
        -------
        dict of (str to list)
            One list per column.
        """
        columns = table(name, self._found, max_rows)
        return {key: getattr(x, "tolist", lambda x=x: x)() for key, x in columns.items()}

    def to_frame(self, table: str = "coefficients") -> Any:
        """One of the tables as a data frame; needs pandas.

        Parameters
        ----------
        table : {"coefficients", "predictors", "responses", "factors", "loadings"}, \
default="coefficients"
            - "coefficients": one row per pair with a coefficient that is not zero, with columns
              predictor, response, coefficient and standardized: the coefficient times the
              standard deviation of the predictor, divided by that of the response (not divided
              for counts and classes).
            - "predictors": the predictors in use, with columns predictor, strength (the root of
              the sum of squares of the standardised coefficients), responses (their number) and
              always_kept.
            - "responses": all responses, with columns response, r2, held_out_r2 (nan if there is
              none) and predictors (their number).
            - "factors": one row per factor, with columns factor, share, predictors and responses,
              the last two as short text.
            - "loadings": columns factor, side ("predictor" or "response"), name and loading: the
              change of the factor per standard deviation of the predictor, and of the response,
              in its standard deviations, per standard deviation of the factor.

        Returns
        -------
        pandas.DataFrame
        """
        columns = self.table(table)
        return import_optional("pandas").DataFrame(columns)

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(TABLES)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        found = self._found
        p, k = len(found.predictor_names), len(found.response_names)
        lines = [f"{found.title}: {_counted(found.n_samples, 'sample')}"]
        lines[0] += f", {_counted(p, 'predictor')}, {_counted(k, found.noun)}"
        lines.append("")
        lines += _wrapped(self.sentences)
        blocks = [self._factors(), self._responses(), self._predictors(), self._coefficients()]
        for block in blocks:
            if block:
                lines += ["", *block]
        if self.cautions:
            lines += ["", "What to distrust", *_wrapped(self.cautions, "- ")]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return summary_html(self)

    # ------------------------------------------------------------------ blocks of the text

    def _factors(self) -> list[str]:
        if not self.rank or len(self.response_names) == 1:
            return []
        columns = self.table("factors", self._max_rows)
        rows = [
            (str(j), percent(share), _as_fits(predictors), _as_fits(responses))
            for j, share, predictors, responses in zip(*columns.values(), strict=True)
        ]
        headers = ("factor", "share", "predictors", "responses")
        return [
            f"Factors, with the share of the {self._found.share_of} that each explains",
            *text_table(headers, rows, (0, 1)),
            *_more(self.rank - len(rows), "factor"),
        ]

    def _responses(self) -> list[str]:
        columns = self.table("responses", self._max_rows)
        held_out = self._found.held_out_r2 is not None
        rows = []
        for name, r2, outside, count in zip(*columns.values(), strict=True):
            cells = [name, number(r2), number(outside), str(count)]
            rows.append(cells if held_out else [*cells[:2], cells[3]])
        headers = ["response", "training", "held out", "predictors"]
        if not held_out:
            headers.remove("held out")
        title = f"{self.measure[0].upper()}{self.measure[1:]} of the {_nouns(self._found.noun)}"
        return [
            title,
            *text_table(headers, rows, range(1, len(headers))),
            *_more(len(self.response_names) - len(rows), "response"),
        ]

    def _predictors(self) -> list[str]:
        used = len(self._found.used)
        if not used or len(self.response_names) == 1:
            return []
        columns = self.table("predictors", self._max_rows)
        rows = [
            (name + " (always kept)" * kept, number(strength), str(count))
            for name, strength, count, kept in zip(*columns.values(), strict=True)
        ]
        return [
            "Predictors in use",
            *text_table(("predictor", "strength", "responses"), rows, (1, 2)),
            *_more(used - len(rows), "predictor"),
        ]

    def _coefficients(self) -> list[str]:
        total = int((self._found.coefficients != 0).sum())
        if not total:
            return []
        columns = self.table("coefficients", self._max_rows)
        rows = [
            (predictor, response, f"{coefficient:.4g}", number(standardized))
            for predictor, response, coefficient, standardized in zip(
                *columns.values(), strict=True
            )
        ]
        headers = ("predictor", "response", "coefficient", "standardized")
        return [
            "Coefficients, the largest (standardized) first",
            *text_table(headers, rows, (2, 3)),
            *_more(total - len(rows), "coefficient"),
        ]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun if count == 1 else _nouns(noun)}"


def _nouns(noun: str) -> str:
    return "classes" if noun == "class" else f"{noun}s"


def _as_fits(text: str) -> str:
    """A list of names, without those at the end that have no space in the table."""
    if len(text) <= _NAMES_WIDTH:
        return text
    names = text.split(", ")
    while len(names) > 1 and len(", ".join(names)) > _NAMES_WIDTH - 3:
        names.pop()
    return f"{shortened(', '.join(names), _NAMES_WIDTH - 3)}, …"


def _more(count: int, noun: str) -> list[str]:
    return [f"  … and {count} more {noun}{'s' * (count > 1)}"] if count > 0 else []


def _wrapped(texts: list[str], mark: str = "") -> list[str]:
    lines: list[str] = []
    for text in texts:
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent=mark,
            subsequent_indent=" " * len(mark),
            break_on_hyphens=False,
        )
    return lines


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
    """Sentences, tables of factors and responses, and what to distrust."""
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
