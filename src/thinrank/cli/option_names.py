"""Messages of the library in the words of the command line."""

from __future__ import annotations

import re

_OPTIONS = {
    "row_sparsity": "--rows",
    "column_sparsity": "--columns",
    "refit_rule": "--refit-rule",
    "always_keep": "--keep",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "n_resamples": "--resamples",
    "frame_rate": "--frame-rate",
    "neuron_radius": "--neuron-radius",
}
# Parameters that are also words of sentences are options only where a message begins with them.
_WORDS = (
    *("rank", "ridge", "criterion", "cv", "family", "loss", "threshold"),
    *("decay", "baseline", "smoothing", "background", "neuropil"),
)
_PHRASES = {
    "an integer": "a whole number",
    "the number of rows of Θ (predictors)": "the number of predictors",
    "the number of columns of Θ (responses)": "the number of responses",
    "rows of X": "samples",
}
_KNOWN = re.compile(rf"(?<![\w./-])({'|'.join(_OPTIONS)})(?!\w)")
_GIVEN = re.compile(r"(--[\w-]+)=[\"'](\w+)[\"']")
_FIRST = re.compile(rf"({'|'.join(_WORDS)})(?= must )")


def in_options(message: str) -> str:
    """A message with the options in place of the parameters of the estimators.

    Examples
    --------
    >>> from thinrank.cli.option_names import in_options
    >>> in_options("rank must be an integer from 1 to 2 (the smaller of row_sparsity and "
    ...            "column_sparsity), got 5")
    '--rank must be a whole number from 1 to 2 (the smaller of --rows and --columns), got 5'
    """
    told = _KNOWN.sub(lambda found: _OPTIONS[found[1]], message)
    told = _GIVEN.sub(r"\1 \2", told)
    told = _FIRST.sub(r"--\1", told, count=1) if _FIRST.match(told) else told
    if told != message:
        for phrase, plain in _PHRASES.items():
            told = told.replace(phrase, plain)
    return told


def is_about_option(message: str) -> bool:
    """Whether a message of the library says that an option has a value that cannot be used."""
    return re.match(r"--[\w-]+ must ", in_options(message)) is not None
