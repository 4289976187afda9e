"""All kinds of cases by name."""

from __future__ import annotations

from fuzz_commands import run_a_command
from fuzz_estimators import attempt_of, estimator_names
from fuzz_models import load_a_model
from fuzz_movies import read_a_movie, read_some_regions
from fuzz_tables import read_a_table
from fuzz_trial import Attempt

KINDS: dict[str, Attempt] = {
    "tables": read_a_table,
    "movies": read_a_movie,
    "regions": read_some_regions,
    "load": load_a_model,
    "commands": run_a_command,
    **{f"fit:{name}": attempt_of(name) for name in estimator_names()},
}
"""What to try, by kind."""
