"""Run fuzzed cases in worker processes, and print how they ended.

    python tests/fuzz/run_fuzz.py --count 20000 --seed 0 --jobs 2
    python tests/fuzz/run_fuzz.py --kind tables --seed 123 --count 1    # one case again

Kinds take turns; a case is repeated by its kind and its seed. A worker that crashes, or that does
not answer, is replaced and its case is a failure. With ``--record`` every outcome is written to a
file at once: the same command goes on where an earlier one was stopped, and runs those that failed
again.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import multiprocessing
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzz_kinds import KINDS
from fuzz_trial import Outcome, run_case

_SILENCE = 120.0  # seconds without an answer after which a worker is ended: longer than a case has
_MEMORY = 8 * 2**30  # bytes of address space of a worker, so that no case exhausts the machine

Case = tuple[str, int]


def main() -> int:
    """Run the cases and return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case of each kind")
    parser.add_argument("--jobs", type=int, default=1, help="number of worker processes")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="default: all")
    parser.add_argument("--minutes", type=float, default=None, help="stop after this time")
    parser.add_argument("--record", type=Path, default=None, help="file of the outcomes")
    options = parser.parse_args()
    kinds = options.kind or list(KINDS)
    cases = [(kinds[i % len(kinds)], options.seed + i // len(kinds)) for i in range(options.count)]
    known = recorded(options.record)
    outcomes = [known[case] for case in cases if case in known]
    waiting = iter([case for case in cases if case not in known])
    end = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    with contextlib.closing(run_cases(waiting, options.jobs)) as running:
        for outcome in running:
            outcomes.append(outcome)
            if options.record:
                with options.record.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")
            if outcome.failed:
                print(_failure(outcome), flush=True)
            if end is not None and time.monotonic() > end:
                break
    print(_summary(outcomes, options.seed))
    return int(any(outcome.failed for outcome in outcomes))


def recorded(record: Path | None) -> dict[Case, Outcome]:
    """The cases of a record that passed; those that failed may have been mended."""
    lines = record.read_text(encoding="utf-8").splitlines() if record and record.exists() else []
    outcomes = [Outcome(**json.loads(line)) for line in lines]
    return {(each.kind, each.seed): each for each in outcomes if not each.failed}


def run_cases(cases: Iterator[Case], jobs: int) -> Iterator[Outcome]:
    """The outcomes of the cases, in the order in which they end."""
    workers = [_Worker() for _ in range(jobs)]
    try:
        for worker in workers:
            worker.take(next(cases, None))
        while busy := [worker for worker in workers if worker.case is not None]:
            ready = wait([worker.pipe for worker in busy], timeout=1.0)
            for worker in busy:
                if worker.pipe in ready or worker.is_silent:
                    yield worker.answer(worker.pipe in ready)
                    worker.take(next(cases, None))
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process that runs cases one after the other."""

    def __init__(self) -> None:
        self.case: Case | None = None
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def take(self, case: Case | None) -> None:
        self.case, self._since = case, time.monotonic()
        if case is not None:
            self.pipe.send(case)

    @property
    def is_silent(self) -> bool:
        return time.monotonic() - self._since > _SILENCE

    def answer(self, ready: bool) -> Outcome:
        assert self.case is not None
        try:
            if ready:
                return self.pipe.recv()
            label = "no answer"
        except EOFError:
            self._process.join(5)
            label = f"crash with exit code {self._process.exitcode}"
        self.end()
        self._start()
        return Outcome(*self.case, label, True, time.monotonic() - self._since)

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Connection) -> None:
    """Run the cases that come through the pipe."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with contextlib.suppress(EOFError):
        while True:
            kind, seed = pipe.recv()
            pipe.send(run_case(kind, seed, KINDS[kind]))


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
    failed: Any = [f"{each.kind} {each.seed}" for each in outcomes if each.failed]
    lines.append(f"{len(outcomes)} cases, {len(failed)} failed: {', '.join(failed) or 'none'}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
