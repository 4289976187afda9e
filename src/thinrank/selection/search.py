"""Search for the rank, the numbers of rows and columns, and the ridge.

Paths propose, scores decide, exchanges refine. In every split and for every ridge, backward
elimination from the ridge fit gives rows of every number, and one decomposition on these rows the
scores of all ranks and numbers of columns. At the best points models are fitted, with the rows of
the elimination and with exchanges of rows. The model is chosen among them by a rule.

In 11 simulations the error on new rows was larger by 2.6 % without forecasts for fewer rows, by
3.9 % without trying fewer columns at the end, and by 1 % without beginning again with more rows.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from thinrank.core.journal import recalled, stop_recording
from thinrank.core.resources import one_use_of_cores
from thinrank.core.result import Callback, Record, Sizes
from thinrank.selection.choice import (
    THIN,
    Evaluation,
    RefitRule,
    chosen_model,
    contenders,
    largest_allowance,
)
from thinrank.selection.scores import HeldOutScore
from thinrank.selection.space import Space
from thinrank.selection.splits import Split, TaskSplit, fit_tables, forecasts, path_tables
from thinrank.selection.tables import mean_score, mean_table
from thinrank.solvers.pursuit import Pursuit

# The first look is at every sixth ridge and every second number of rows.
_COARSE_RIDGES, _COARSE_ROWS = 6, 2
# Tables are computed for rows and ridges near those whose coarse score exceeds the best by at most
# this fraction and what the rule allows, in the first partition and then in all.
_NEAR, _CLOSE = 0.05, 0.02
# Number of steps of a progress bar for the paths of one look.
_STEPS = 20
# Largest number of moves, and number of the best models that are evaluated on all partitions.
_MOST = 6
# A move is made if it is predicted to decrease the score by this fraction: less than the choice
# between models allows.
_WORTH = 0.001

# Steps of moves without tables, from coarse to fine: factors of rows, columns and rank, and numbers
# of positions in the list of ridges.
_MOVES = ((2.0, 6), (1.4, 3), (1.0, 1))

_NULL = Sizes(0, 0, 0, 0.0)
Table = tuple[tuple[float, int], np.ndarray]
"""Ridge and number of rows, with the scores of all ranks and numbers of columns."""


class StopSearch(Exception):  # noqa: N818 (not an error)
    """Raised when the callback ends the search."""


class Search:
    """A search over given splits.

    ``partitions`` are the splits of every partition of the data, which have ``rows`` rows. It ends
    if the callback returns True. ``progress`` is called with the share done of a whole of which
    this is a ``part``, and a text. ``records`` are those of an earlier search to continue.
    """

    def __init__(
        self,
        partitions: Sequence[Sequence[Split]],
        space: Space,
        *,
        rule: RefitRule,
        rows: int,
        solver: Any,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        progress: Callable[[float, str], None] | None = None,
        part: tuple[float, float] = (0.0, 1.0),
        records: list[Record] | None = None,
    ) -> None:
        self._partitions, self._space, self._rule, self._rows = partitions, space, rule, rows
        self._splits = partitions[0]
        # fits of a search need not be exact, since its result is fitted again
        if space.exhaustive is None and isinstance(solver, Pursuit):
            solver = replace(solver, neighbours=False)
        self._solver = solver
        self._n_jobs, self._callback = n_jobs, callback
        self._progress, (self._done, self._end) = progress, part
        self._known: dict[Sizes, Evaluation] = {}
        self._finalists: list[Evaluation] = []
        self.records: list[Record] = [] if records is None else records
        self._began = time.perf_counter() - (self.records[-1].seconds if self.records else 0.0)
        self._round = self.records[-1].search_round + 1 if self.records else 1
        self.stopped = False

    # ------------------------------------------------------------------ results

    @property
    def evaluations(self) -> list[Evaluation]:
        """All models that were fitted, in order."""
        return list(self._known.values())

    @property
    def best(self) -> Evaluation:
        """The model with the least score, the first of several."""
        return min(self._known.values(), key=lambda e: e.score)

    @property
    def chosen(self) -> Evaluation:
        """The model that the rule chooses."""
        return chosen_model(self._rule, self._finalists or self.evaluations, self._rows)

    @property
    def holds_out(self) -> bool:
        """Whether models are scored on held-out rows."""
        return isinstance(self._splits[0].score, HeldOutScore)

    @property
    def null_score(self) -> float:
        """Score of the zero matrix."""
        return float(np.mean([split.score.null for split in self._splits]))

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of Θ."""
        return self._splits[0].training.shape

    # ------------------------------------------------------------------ the search

    def run(self, near: Sequence[Table] | None = None, last: Sizes | None = None) -> None:
        """Search; after an interruption the models so far remain.

        ``near`` are coarse tables, and ``last`` is the best model, in other units of the responses.
        """
        space, points = self._space, list[Sizes]()
        with self._stoppable():
            if space.null:
                self.evaluate([_NULL])
            if space.exhaustive is not None:
                self.evaluate(space.exhaustive)
            elif isinstance(self._splits[0], TaskSplit):
                self._by_moves()
            else:
                coarse = self.coarse_tables() if near is None else near
                fine = self._fine_tables(coarse)
                points = self._proposed(fine)
                if last is not None:
                    self.evaluate([last])
                if False in space.exchanges:
                    self.evaluate(point._replace(exchange=False) for point in points)
                if True in space.exchanges:
                    self.evaluate([points[0]._replace(exchange=True)])
                    fitted = [e for e in self.evaluations if e.sizes.rank > 0]
                    best = min(fitted, key=lambda e: e.score).sizes
                    self._exchange(best._replace(exchange=True))
                    self._descend(self.evaluate([self._first_exchanged(fine)])[0])
                self._fewer_columns()
            self._confirm(points)

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """A block that a callback or Ctrl-C may end if there is a model to return."""
        try:
            yield
        except (StopSearch, KeyboardInterrupt):
            if not self._known:
                raise
            self.stopped = True
            stop_recording()

    # ------------------------------------------------------------------ tables of paths

    def first_look(self, exchange: bool) -> list[Table]:
        """The coarse tables, and the models at the best of their points.

        Without ``exchange`` only models by elimination, unless rows must be exchanged. In the first
        look exchanges took a fifth of the search and changed no error by 1 %.
        """
        tables: list[Table] = []
        with self._stoppable():
            if self._space.null:
                self.evaluate([_NULL])
            tables = self.coarse_tables()
            allowed = self._space.exchanges
            if False in allowed:
                self.evaluate([self._proposed(tables)[0]._replace(exchange=False)])
            if True in allowed and (exchange or False not in allowed):
                begin = self._first_exchanged(tables)
                if self._splits[0].around is None:
                    self._descend(self.evaluate([begin])[0])
                else:  # tables are approximations, and fits say more
                    self._exchange(begin)
        return tables

    def coarse_tables(self) -> list[Table]:
        """Tables of some ridges and numbers of rows, in the first partition."""
        wanted = set(self._space.proposed_rows)
        ridges = [ridge for ridge in self._space.ridges if ridge > 0] or [0.0]
        jobs = [(ridge, wanted) for ridge in ridges[::_COARSE_RIDGES]]
        return self._tables(self._splits, jobs, _COARSE_ROWS)

    def _fine_tables(self, coarse: Sequence[Table]) -> list[Table]:
        """Tables of ridges and rows next to those of low score, at last in all partitions."""
        closer = self._tables(self._splits, self._near(coarse, _NEAR, 4))
        splits = [split for partition in self._partitions for split in partition]
        return self._tables(splits, self._near(closer, _CLOSE, 1))

    def _near(
        self, tables: Sequence[Table], fraction: float, step: int
    ) -> list[tuple[float, set[int]]]:
        """Ridges with numbers of rows, next to the best ridge of every good number of rows."""
        ridges, rows = self._space.ridges, self._space.proposed_rows
        best = self._best_by_rows(tables)
        least, first = min(best.values(), default=(0.0, _NULL))
        wanted: dict[float, set[int]] = {}
        for count, (score, point) in best.items():
            allowed = fraction + largest_allowance(self._rule, max(first.rows, 1), count)
            if score > least + allowed * abs(least):
                continue
            here, place = ridges.index(point.ridge), rows.index(count)
            for i in range(here - step, here + step + 1, (step + 1) // 2):
                if 0 <= i < len(ridges):
                    wanted.setdefault(ridges[i], set()).add(count)
            wanted[point.ridge].update(rows[max(place - 1, 0) : place + 2])
        return sorted(wanted.items())

    def _best_by_rows(self, tables: Sequence[Table]) -> dict[int, tuple[float, Sizes]]:
        """The best point of every number of rows, with its score."""
        best: dict[int, tuple[float, Sizes]] = {}
        for point, table in tables:
            found = self._space.best_of(table, *point)
            if point[1] not in best or found[0] < best[point[1]][0]:
                best[point[1]] = found
        return best

    def _tables(
        self, splits: Sequence[Split], jobs: Sequence[tuple[float, set[int]]], step: int = 1
    ) -> list[Table]:
        """Mean tables over splits, for some ridges, each with some numbers of rows."""
        space = self._space
        rows, most = space.path_rows, int(space.ranks[-1])
        if not space.given_rows:
            rows = [*rows[:-1:step], rows[-1]]
        paths = [
            (split, ridge, {count for count in wanted if space.allows(count, ridge)})
            for ridge, wanted in jobs
            for split in splits
        ]
        # all at once, or in steps of a progress bar
        parts = max(_STEPS if self._progress else 1, effective_n_jobs(self._n_jobs))
        width = max(-(-len(paths) // parts), 1)
        each = [(paths[i : i + width], rows, most) for i in range(0, len(paths), width)]
        key = f"tables {[(ridge, sorted(wanted)) for ridge, wanted in jobs]}"
        results = recalled(key, lambda: self._in_parallel(path_tables, each, "ordering predictors"))
        found = iter([own for part in results for own in part])
        tables: list[Table] = []
        for ridge, _ in jobs:
            by_rows: dict[int, list[np.ndarray]] = {}
            for split in splits:
                own, stages = next(found)
                split.stages[ridge] = {size: (rows, costs) for size, rows, costs in stages}
                for size, table in own:
                    by_rows.setdefault(size, []).append(table)
            tables += [((ridge, size), mean_table(some)) for size, some in by_rows.items()]
        return tables

    def _proposed(self, tables: Sequence[Table]) -> list[Sizes]:
        """The best point of every number of rows that the rule may choose, the best first."""
        if not tables:  # the training rows are constant
            space = self._space
            first = Sizes(int(space.ranks[0]), 1, int(space.columns[-1]), space.ridges[-1])
            return [space.with_rows(first, space.rows_near(1))]
        ranked = sorted(self._best_by_rows(tables).values(), key=lambda found: found[0])
        score, first = ranked[0]
        complete = min(self._space.best_of(table, *point, True) for point, table in tables)[1]
        least = [
            sizes
            for other, sizes in ranked
            if other <= score + largest_allowance(self._rule, first.rows, sizes.rows) * abs(score)
        ]
        thin = sorted((s for s in least if s.rows < first.rows), key=lambda s: s.rows)
        some = [first, complete, *thin[:2], *(s for s in least if s.rows > first.rows)]
        return list(dict.fromkeys(some))[:_MOST]

    def _first_exchanged(self, tables: Sequence[Table]) -> Sizes:
        """The best point with enough rows to begin exchanges with: what fewer do is predicted.

        In the paper's two-way weak setting, with 10 of 100 rows, beginning with the best points of
        the tables alone, which often have fewer than 5, cost 6 % of the error.
        """
        ranked = sorted(self._best_by_rows(tables).items())
        least = min(THIN * self._space.samples, ranked[-1][0] if ranked else 0)
        points = [point for rows, (_, point) in ranked if rows >= least]
        return (points or self._proposed(tables))[0]._replace(exchange=True)

    # ------------------------------------------------------------------ models

    def evaluate(self, points: Iterable[Sizes], near: Evaluation | None = None) -> list[Evaluation]:
        """Fit models that are not yet known; exchanges may begin with the fits of ``near``."""
        points = list(points)
        starts = [None] * len(self._splits) if near is None else near.fits
        for sizes in dict.fromkeys(points):
            if sizes in self._known:
                continue
            began = time.perf_counter()
            pairs = zip(self._splits, starts, strict=True)
            jobs = [(split, sizes, self._solver, start) for split, start in pairs]
            work = functools.partial(self._in_parallel, Split.scored, jobs)
            results = recalled(f"model {tuple(sizes)}", work)
            fits, scores, errors = zip(*results, strict=True)
            table = np.empty((0, 0))
            if sizes.rank > 0 and not isinstance(self._splits[0], TaskSplit):
                table = fit_tables(self._splits, fits, [sizes.ridge], int(self._space.ranks[-1]))[0]
            sums, seconds = self._sums(self._splits, errors), time.perf_counter() - began
            score = mean_score(scores)
            self._keep(Evaluation(sizes, score, scores, fits, table, seconds, errors, *sums))
        return [self._known[sizes] for sizes in points]

    def _keep(self, evaluation: Evaluation) -> None:
        """Keep a model, and tell the callback, which may end the search."""
        self._known[evaluation.sizes] = evaluation
        record = Record(
            stage="search",
            iteration=len(self.records) + 1,
            objective=evaluation.score,
            seconds=time.perf_counter() - self._began,
            sizes=evaluation.sizes,
            best=self.best.score,
            split_scores=tuple(float(part) for part in evaluation.parts),
            rank_scores=self._space.best_by_rank(evaluation.table, evaluation.sizes),
            search_round=self._round,
        )
        self.records.append(record)
        rank, rows, columns, *_ = evaluation.sizes
        text = f"rank {rank}, {rows} predictors, {columns} responses" if rank else "the means only"
        self._report((self._end - self._done) / _STEPS, text)
        if self._callback is not None and self._callback(record):
            raise StopSearch

    def _sums(
        self, splits: Sequence[Split], errors: Sequence[Any]
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Mean errors of rows over the splits that hold them out, and sums for the responses."""
        if errors[0] is None:
            return None, None
        pairs: list[Any] = [(s.score, own) for s, own in zip(splits, errors, strict=True)]
        responses = np.sum([(own.responses, score.total_errors) for score, own in pairs], axis=0)
        if errors[0].rows is None:
            return None, responses
        index = np.concatenate([score.index for score, _ in pairs])
        scaled = [own.rows * (len(own.rows) / score.entries) for score, own in pairs]
        total = np.bincount(index, np.concatenate(scaled), self._rows)
        with np.errstate(invalid="ignore"):  # rows that are never held out
            return total / np.bincount(index, minlength=self._rows), responses

    def _in_parallel(
        self, work: Callable[..., Any], jobs: list[tuple[Any, ...]], text: str = ""
    ) -> list[Any]:
        """The results of all jobs; with a text, half of the progress that is left."""
        count = effective_n_jobs(self._n_jobs)
        results = []
        step = (self._end - self._done) / (2 * max(len(jobs), 1)) if text else 0.0
        with one_use_of_cores(count):
            each: Iterable[Any] = (work(*job) for job in jobs)
            if count > 1:
                calls = (delayed(work)(*job) for job in jobs)
                each = Parallel(count, prefer="threads", return_as="generator")(calls)
            for result in each:
                results.append(result)
                self._report(step, text)
        return results

    def _report(self, step: float, text: str) -> None:
        self._done += step
        if self._progress is not None and text:
            self._progress(self._done, text)

    # ------------------------------------------------------------------ refinement

    def _exchange(self, start: Sizes) -> None:
        """Fit with exchanges, move to better predicted points, then try half as many rows again."""
        best = self._descend(self.evaluate([start])[0])
        for _ in range(_MOST):
            more = self._space.rows_near(best.sizes.rows + (best.sizes.rows + 1) // 2)
            point = self._space.with_rows(best.sizes, more)
            if point in self._known:
                return
            found = self._descend(self.evaluate([point], best)[0])
            if not found.score < best.score:
                return
            best = found

    def _descend(self, best: Evaluation) -> Evaluation:
        """Move to the best predicted point, while that is better."""
        for _ in range(_MOST):
            score, point = min(self._predictions(best), default=(np.inf, _NULL))
            if point in self._known or not score < best.score - _WORTH * abs(best.score):
                break
            if not (found := self.evaluate([point], best)[0]).score < best.score:
                break
            best = found
        return best

    def _predictions(self, best: Evaluation) -> list[tuple[float, Sizes]]:
        """Points near a model, with scores predicted by tables or by elimination from the fits."""
        space, sizes = self._space, best.sizes
        found = [space.best_of(best.table, sizes.ridge, sizes.rows)]
        here = space.ridges.index(sizes.ridge)
        fitted = [(split, fit) for split, fit in zip(self._splits, best.fits, strict=True) if fit]
        near = [i for i in (here - 3, here - 1, here + 1, here + 3) if 0 <= i < len(space.ridges)]
        ridges = [r for r in (space.ridges[i] for i in near) if space.allows(sizes.rows, r)]
        tables = fit_tables(self._splits, best.fits, ridges, int(space.ranks[-1]))
        for ridge, table in zip(ridges, tables, strict=True):
            found.append(space.best_of(table, ridge, sizes.rows))
        found = [(score, point._replace(exchange=True)) for score, point in found]
        if fitted and (fewer := space.fewer_rows(sizes.rows)):
            scores = forecasts(fitted, sizes.ridge, fewer).tolist()
            found += [(s, space.with_rows(sizes, n)) for s, n in zip(scores, fewer, strict=True)]
        # where predictions are approximations, those of points that are known say nothing
        known = () if self._splits[0].around is None else self._known
        return [each for each in found if each[1] not in known]

    def _by_moves(self) -> None:
        """Fit some numbers of rows, then larger and smaller values of all sizes, in finer steps."""
        space = self._space
        middle = space.ridges[len(space.ridges) // 2]
        rank = int(space.ranks[min(1, len(space.ranks) - 1)])  # enough to compare numbers of rows
        first = Sizes(rank, int(space.rows[-1]), int(space.columns[-1]), middle)
        rows = space.proposed_rows[:: _MOVES[0][1]]
        tried = self.evaluate(space.with_rows(first, count) for count in rows)
        best = min(tried, key=lambda e: e.score)
        for factor, places in _MOVES:
            better: Evaluation | None = best
            while better is not None:
                best = better
                moves = space.moves(best.sizes, factor, places)
                fits = (self.evaluate([sizes])[0] for sizes in moves if sizes not in self._known)
                better = next((e for e in fits if e.score < best.score), None)

    def _fewer_columns(self) -> None:
        """Try fewer columns than those of the chosen model, as far as the rule may allow them."""
        for _ in range(_MOST):
            chosen = self.chosen
            if chosen.sizes.rank == 0:
                return
            limit = chosen.score + largest_allowance(self._rule, 1, 1) * abs(chosen.score)
            fewest = self._space.fewest_columns(chosen.table, chosen.sizes, limit)
            if fewest in self._known or self.chosen is not self.evaluate([fewest])[0]:
                return

    def _confirm(self, points: Sequence[Sizes]) -> None:
        """Evaluate the best models on all partitions, since one partition may favor some."""
        ranked = sorted(self.evaluations, key=lambda e: e.score)
        proposed = {point._replace(exchange=False) for point in points} | {_NULL}
        some = [e for e in ranked if e.sizes in proposed]
        some += [e for e in [self.chosen, *ranked[:_MOST]] if e not in some]
        self._finalists = contenders(self._rule, some, self._rows)
        splits = list(self._splits)
        for partition in self._partitions[1:]:
            if len(self._finalists) == 1:
                return
            splits += partition
            self._finalists = [self._confirmed(e, splits) for e in self._finalists]
            self._finalists = contenders(self._rule, self._finalists, self._rows)

    def _confirmed(self, point: Evaluation, splits: Sequence[Split]) -> Evaluation:
        """A model with its scores on all of the splits, also in its record."""

        def scored(split: Split) -> tuple[float, Any]:
            return split.scored(point.sizes, self._solver)[1:]

        jobs = [(split,) for split in splits[len(point.parts) :]]
        key = f"confirmed {tuple(point.sizes)}"
        results = recalled(key, lambda: self._in_parallel(scored, jobs))
        found, new = zip(*results, strict=True)
        parts, errors = (*point.parts, *found), (*point.errors, *new)
        score, (rows, responses) = mean_score(parts), self._sums(splits, errors)
        for i, record in enumerate(self.records):
            if record.sizes == point.sizes and record.search_round == self._round:
                scores = tuple(float(part) for part in parts)
                self.records[i] = replace(record, objective=score, split_scores=scores)
        sums: dict[str, Any] = {"errors": errors, "row_errors": rows, "responses": responses}
        return replace(point, score=score, parts=parts, **sums)
