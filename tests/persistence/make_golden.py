"""Write the golden files of this version: ``python tests/persistence/make_golden.py``.

One folder per example, with the model, and with its input and predictions in ``expected.npz``. The
files of a released version must never be written again: later versions have to load them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from example_models import EXAMPLES, predictions

import thinrank as tr

GOLDEN = Path(__file__).parent / "golden"


def main() -> None:
    folder = GOLDEN / ".".join(tr.__version__.split(".")[:2])
    shutil.rmtree(folder, ignore_errors=True)
    for name, make in EXAMPLES.items():
        model, given = make()
        tr.save(model, folder / name, extra={"example": name})
        expected = predictions(model, given)
        if given is not None:
            expected["given"] = np.asarray(given)
        np.savez_compressed(folder / name / "expected.npz", allow_pickle=False, **expected)
    print(f"{len(EXAMPLES)} models in {folder}")


if __name__ == "__main__":
    main()
