"""Change the numerical code in one place at a time, and count the changes that no test notices.

Usage: python .ci/mutate.py [--count 500] [--seed 0] [--record FILE] [--only core/] [--list]

Each mutant (see mutants.py) is run against the quickest tests that run the changed lines, for
``--seconds`` at most; the first failure kills it. Nothing is changed in the working tree.

The mutants are drawn without replacement from all possible changes. The same seed and source give
the same mutants. Every result is written to the record at once: the same command goes on where an
earlier one was stopped, and ``--again`` runs its survivors once more, for example after adding a
test or with more ``--seconds``. A timeout counts as noticed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mutants import PACKAGE, PACKAGES, ROOT, Mutant, sample
from processes import copy_of_tree
from warm_tests import WarmTests


def recorded(record: Path) -> dict[str, dict]:
    """The last result of each mutant in a record, by the mutant's key."""
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def work(tests: WarmTests, waiting: Iterable[Mutant], record: Path, tree: Path) -> None:
    """Run mutants one after the other, and append each result to the record."""
    copy_of_tree(tree)
    for mutant in waiting:
        start = time.perf_counter()
        result = tests.outcome(mutant, tree)
        seconds = time.perf_counter() - start
        entry = {"key": mutant.key, "mutant": str(mutant), **result._asdict()}
        with record.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry | {"seconds": round(seconds, 1)}) + "\n")
        print(f"{result.outcome:9}{seconds:5.0f} s  {mutant}", flush=True)


def run_all(waiting: list[Mutant], options: argparse.Namespace, folder: Path) -> None:
    """Run mutants in several processes."""
    tests = WarmTests(options.cover, folder, options.seconds, options.jobs)

    def share() -> None:
        fork = multiprocessing.get_context("fork")
        workers = [
            fork.Process(target=work, args=(tests, own, options.record, folder / str(job)))
            for job in range(options.jobs)
            if (own := waiting[job :: options.jobs])
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    if tests.run(share):
        raise SystemExit("the tests cannot be collected")


def report(results: dict[Mutant, str], seed: int) -> float:
    """Print the counts and the survivors; the percentage that was noticed."""
    counts = Counter(results.values())
    killed = 100 * (len(results) - counts["survived"]) / len(results)
    print(f"\nseed {seed}: {len(results)} mutants, {counts['killed']} killed,", end=" ")
    print(f"{counts['timeout']} timeouts, {counts['survived']} survived: {killed:.1f} % noticed")
    for package in PACKAGES:
        own = [result for mutant, result in results.items() if mutant.path.startswith(package)]
        if own:
            print(f"  {package}: {len(own)} mutants, {own.count('survived')} survived")
    print("\nsurvivors:")
    for mutant in sorted(results, key=lambda mutant: (mutant.path, mutant.line)):
        if results[mutant] == "survived":
            print(f"  {mutant}")
    return killed


def main() -> int:
    """Sample, run, count, and list the survivors; 1 if fewer are killed than asked for."""
    temporary = Path(tempfile.gettempdir())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="how many mutants to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests for one mutant")
    parser.add_argument("--only", default="", help="of those drawn, a path or path:line")
    parser.add_argument("--again", action="store_true", help="run the survivors once more")
    parser.add_argument("--fail-under", type=float, default=0.0, help="percentage killed")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    parser.add_argument(
        "--record", type=Path, default=temporary / "thinrank_mutants.jsonl", help="of the results"
    )
    parser.add_argument(
        "--cover",
        type=Path,
        default=temporary / "thinrank_mutants_lines.jsonl",
        help="lines of each test",
    )
    options = parser.parse_args()
    drawn = sample(options.count, options.seed, options.only)
    if options.list or not drawn:
        print("\n".join(map(str, drawn)))
        return 0
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    paths = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.path.insert(0, str(PACKAGE.parent))
    os.chdir(ROOT)
    results = recorded(options.record)
    done = {key for key, e in results.items() if not (options.again and e["outcome"] == "survived")}
    waiting = [mutant for mutant in drawn if mutant.key not in done]
    waiting.sort(key=lambda mutant: mutant.key in results)  # survivors after those never run
    if waiting:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            run_all(waiting, options, Path(folder))
        results = recorded(options.record)
    run = {mutant: results[mutant.key]["outcome"] for mutant in drawn if mutant.key in results}
    killed = report(run, options.seed)
    return int(killed < options.fail_under or len(run) < len(drawn))


if __name__ == "__main__":
    sys.exit(main())
