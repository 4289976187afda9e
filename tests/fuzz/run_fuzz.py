"""Run fuzzed cases in worker processes, and print how they ended.

    python tests/fuzz/run_fuzz.py --kind fit --count 5000 --jobs 2      # seeds are drawn
    python tests/fuzz/run_fuzz.py --kind tables --seed 123 --count 1    # one case again

Kinds take turns; ``fit`` stands for the regressors, the GLM and the classifier. A case is repeated
by its kind and its seed. A worker that crashes, or hangs where Python cannot stop it, ends the run.
"""

from __future__ import annotations

import argparse
import faulthandler
import resource
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import numpy as np
from fuzz_families import FAMILIES
from fuzz_files import FILES
from fuzz_fits import FITS, REGRESSIONS
from fuzz_inference import INFERENCE
from fuzz_trial import LIMIT, Outcome, run_case

KINDS = {**FILES, **FITS, **FAMILIES, **INFERENCE}
"""What to try, by kind."""
_MEMORY = 8 * 2**30  # bytes of address space of a worker, so that no case exhausts the machine


def main() -> int:
    """Run the cases and return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="number of cases")
    parser.add_argument("--seed", type=int, help="seed of the first case of each kind")
    parser.add_argument("--jobs", type=int, default=1, help="number of worker processes")
    parser.add_argument("--kind", action="append", choices=["fit", *KINDS], help="default: all")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this time")
    options = parser.parse_args()
    kinds = list(KINDS)
    if options.kind:
        kinds = [k for kind in options.kind for k in (REGRESSIONS if kind == "fit" else [kind])]
    seed = int(np.random.SeedSequence().entropy) % 10**9 if options.seed is None else options.seed
    cases = [(kinds[i % len(kinds)], seed + i // len(kinds)) for i in range(options.count)]
    outcomes, end = [], time.monotonic() + 60 * options.minutes
    pool = ProcessPoolExecutor(options.jobs, get_context("spawn"), initializer=_limit)
    waiting = {pool.submit(_run, *case): case for case in cases}
    try:
        for done in as_completed(waiting):
            outcomes.append(done.result())
            if outcomes[-1].failed:
                print(_failure(outcomes[-1]), flush=True)
            if time.monotonic() > end:
                break
    except BrokenProcessPool:
        ended = {(each.kind, each.seed) for each in outcomes}
        first = [case for case in cases if case not in ended][: options.jobs + 1]
        print(f"FAILED a worker crashed or did not answer, in one of {first}")
        return 1
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    print(_summary(outcomes, seed))
    return int(any(outcome.failed for outcome in outcomes))


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _run(kind: str, seed: int) -> Outcome:
    faulthandler.dump_traceback_later(2 * LIMIT, exit=True)  # in code that no signal interrupts
    try:
        return run_case(kind, seed, KINDS[kind])
    finally:
        faulthandler.cancel_dump_traceback_later()


def _failure(outcome: Outcome) -> str:
    again = f"--kind {outcome.kind} --seed {outcome.seed} --count 1"
    told = outcome.detail.replace("\n", "\n    ")
    return f"FAILED {outcome.label} ({outcome.seconds:.1f} s): {again}\n    {told}"


def _summary(outcomes: list[Outcome], seed: int) -> str:
    lines = []
    for kind in dict.fromkeys(outcome.kind for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.kind == kind]
        ends = Counter(("FAILED " if each.failed else "") + each.label for each in own)
        told = ", ".join(f"{count} {label}" for label, count in ends.most_common())
        slowest = max(each.seconds for each in own)
        lines.append(f"{kind}: {len(own)} cases from seed {seed}, at most {slowest:.1f} s; {told}")
    failed = sum(outcome.failed for outcome in outcomes)
    return "\n".join([*lines, f"{len(outcomes)} cases, {failed} failed"])


if __name__ == "__main__":
    sys.exit(main())
