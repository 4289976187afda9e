"""How many examples the tests of all estimators try: few by default, many on demand.

``HYPOTHESIS_PROFILE=many`` is for changes of estimators and solvers. Its examples differ between
runs, and failing ones are made as simple as possible.
"""

import os

from hypothesis import Phase, settings

__all__ = ["PROFILE"]

settings.register_profile(
    "few", max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate]
)
settings.register_profile("many", max_examples=100, deadline=None, print_blob=True)
PROFILE = settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "few"))
