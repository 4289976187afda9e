"""Records of a few small jobs are the same as they were.

The golden copies were written by the version before the experiments moved into one package. Replace
one only if a change of results is intended, by the contents of the file
``<out>/<study>/records/<key>.json`` that ``thinrank reproduce <study> --quick --out <out>`` writes,
without the fields in ``VOLATILE``.
"""

import json
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from thinrank.paper import find_study
from thinrank.studies import Job, stable
from thinrank.studies.executors import run_job

GOLDEN = json.loads((Path(__file__).parent / "golden" / "records.json").read_text())


@pytest.fixture(scope="module")
def tolerance():
    """Relative tolerance: other BLAS kernels round differently, and iterations amplify that.

    After many iterations a step may be halved once more or less, which changes all later iterates.
    """
    names = ("internal_api", "version", "architecture")
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    used = sorted({tuple(pool.get(name) or "" for name in names) for pool in pools})
    return 1e-10 if [list(library) for library in used] == GOLDEN["blas"] else 1e-2


def assert_same(found, expected, tolerance, place):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for name, value in expected.items():
            assert_same(found[name], value, tolerance, f"{place}, {name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for index, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, tolerance, f"{place}[{index}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=tolerance, abs=1e-3 * tolerance), place
    else:
        assert found == expected, place


def _case(golden):
    job = golden["job"]
    marks = [pytest.mark.slow] if job["study"] == "table4" else []  # has every method
    return pytest.param(golden, id=f"{job['study']}-{job['seed']}", marks=marks)


@pytest.mark.parametrize("golden", [_case(golden) for golden in GOLDEN["jobs"]])
def test_records_are_the_same(golden, tolerance, monkeypatch):
    job = Job(**golden["job"])
    study = find_study(job.study)
    if golden["methods"]:  # without the slow ones
        monkeypatch.setitem(study.run.__globals__, golden["patch"], golden["methods"])
    assert job.key in {other.key for other in study.jobs(True)}
    found = [stable(record) for record in run_job(study, job)]
    assert_same(found, golden["records"], tolerance, job.study)
