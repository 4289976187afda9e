"""Change the numerical code in one place at a time, and count the changes that no test notices.

Usage: python .ci/mutate.py [--count 500] [--seed 0] [--jobs 2] [--only core/] [--list]

A mutant is a copy of the source tree with one change: another operator or constant, a negated
condition, a returned value replaced by None, a statement removed. Each is run against the tests
that mirror the package of its module, those of the same module first, then some quick tests of
whole fits; the first failure kills it. Nothing is changed in the working tree.

The mutants are drawn without replacement from all possible changes. The same seed and source give
the same mutants: to run a survivor again after adding a test, repeat the command with
``--only FILE:LINE``. A timeout counts as noticed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "thinrank"
PACKAGES = ("core", "forms", "losses", "solvers", "selection")
# Whole fits, for modules whose effect shows only there.
FITS = (
    "tests/contracts",
    "tests/estimators/test_regressor.py",
    "tests/estimators/test_automatic.py",
    "tests/estimators/test_glm.py",
)
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


Candidate = tuple[Path, ast.AST, ast.AST]
"""A module, one of its nodes, and what to put in its place."""


@dataclass(frozen=True)
class Mutant:
    """The source of one module with one expression or statement replaced."""

    path: str  # below src/thinrank
    line: int
    before: str
    after: str
    source: str


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Every changed copy of a node."""
    match node:
        case ast.Compare(ops=[operator]):
            yield _changed(node, ops=[COMPARISONS[type(operator)]()])
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in ARITHMETIC:
            yield _changed(node, op=ARITHMETIC[type(operator)]())
        case ast.BoolOp(op=operator):
            yield _changed(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.If() | ast.IfExp() | ast.While():
            yield _changed(node, test=ast.UnaryOp(op=ast.Not(), operand=node.test))
        case ast.Constant(value=bool()):
            yield ast.Constant(value=not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(value=node.value + 1)
            yield ast.Constant(value=node.value - 1)
        case ast.Return(value=ast.expr()) if not _is_none(node.value):
            yield ast.Return(value=ast.Constant(value=None))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    copy = deepcopy(node)
    for name, value in fields.items():
        setattr(copy, name, value)
    return copy


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def executable(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that a change can affect: no annotations, no blocks for the type checker."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _for_types_only(child):
                yield from executable(child)


def _for_types_only(node: ast.AST) -> bool:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.FunctionDef(decorator_list=[*_, ast.Name(id="overload")]):
            return True
        case ast.ClassDef(bases=[*_, ast.Name(id="Protocol")]):
            return True
    return False


def candidates(path: Path) -> Iterator[Candidate]:
    """Every possible change of a module."""
    for node in executable(ast.parse(path.read_text(encoding="utf-8"))):
        for new in replacements(node):
            yield path, node, new


def mutants(changes: list[Candidate]) -> Iterator[Mutant]:
    """The changes that are valid and make a difference, in the given order."""
    for path, node, new in changes:
        before, after = ast.unparse(node), ast.unparse(ast.fix_missing_locations(new))
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = _spliced(lines, node, after)
        if before != after and _parses(whole):
            name = path.relative_to(PACKAGE).as_posix()
            yield Mutant(name, node.lineno, _short(before), _short(after), whole)


def _spliced(lines: list[str], node: ast.AST, new: str) -> str:
    """The source with the text of a node replaced; columns of the syntax tree count bytes."""
    encoded = [line.encode() for line in lines]
    first, last = node.lineno - 1, node.end_lineno - 1
    head, tail = encoded[first][: node.col_offset], encoded[last][node.end_col_offset :]
    if isinstance(node, ast.stmt):
        new = new.replace("\n", "\n" + " " * node.col_offset)
    else:
        new = f"({new})"  # keeps the order of evaluation
    middle = head + new.encode() + tail
    return b"".join([*encoded[:first], middle, *encoded[last + 1 :]]).decode()


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:  # a changed part of an f-string, or of a pattern
        return False
    return True


def _short(text: str) -> str:
    first = text.splitlines()[0]
    return first if len(first) <= 90 else first[:87] + "..."


def tests_for(path: str) -> list[str]:
    """The tests of a module: its own file if there is one, its package, then whole fits."""
    package, stem = path.split("/")[0], Path(path).stem
    own = [p for p in (ROOT / "tests").rglob(f"test_{stem}.py") if package in p.parts]
    named = [path.relative_to(ROOT).as_posix() for path in own]
    return list(dict.fromkeys([*named, f"tests/{package}", *FITS]))


def copy_of_tree(folder: Path) -> Path:
    """A copy of what the tests need, in which one worker changes modules in turn."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    for part in ("docs", "benchmarks", "examples", "README.md", "CHANGELOG.md"):
        (folder / part).symlink_to(ROOT / part)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def passes(tree: Path, tests: list[str], timeout: float) -> bool | None:
    """Whether the tests pass; None after the timeout."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "no:randomly", "--no-header", "--tb=no", *tests]
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(tree / ".hypothesis"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(timeout) == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # with the processes that a test has started
        process.wait()
        return None


def outcome(mutant: Mutant, tree: Path, timeout: float) -> str:
    """Run one mutant in a tree, and put the module back."""
    module = tree / "src" / "thinrank" / mutant.path
    original = module.read_text(encoding="utf-8")
    module.write_text(mutant.source, encoding="utf-8")
    try:
        passed = passes(tree, tests_for(mutant.path), timeout)
    finally:
        module.write_text(original, encoding="utf-8")
    return {True: "survived", False: "killed", None: "timeout"}[passed]


def sample(count: int, seed: int, only: str) -> list[Mutant]:
    """The mutants of a seed; ``only`` keeps those whose ``path:line`` begins with it."""
    paths = sorted(path for part in PACKAGES for path in (PACKAGE / part).rglob("*.py"))
    everything = [change for path in paths for change in candidates(path)]
    print(f"{len(everything)} possible changes of {len(paths)} modules", flush=True)
    random.Random(seed).shuffle(everything)
    drawn = islice(mutants(everything), count)
    return [mutant for mutant in drawn if f"{mutant.path}:{mutant.line}".startswith(only)]


def run_all(drawn: list[Mutant], jobs: int, timeout: float | None) -> dict[Mutant, str]:
    """The outcome of every mutant, with one copy of the tree per job."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for job in range(jobs):
            (Path(folder) / str(job)).mkdir()
            trees.put(copy_of_tree(Path(folder) / str(job)))

        def unchanged(package: str) -> float:
            with borrowed(trees) as tree:
                return seconds_unchanged(package, tree)

        def run(mutant: Mutant) -> str:
            with borrowed(trees) as tree:
                start = time.perf_counter()
                result = outcome(mutant, tree, timeout or limits[mutant.path.split("/")[0]])
                seconds = time.perf_counter() - start
            print(f"{result:9}{seconds:5.0f} s  {described(mutant)}", flush=True)
            return result

        packages = sorted({mutant.path.split("/")[0] for mutant in drawn})
        usual = dict(zip(packages, pool.map(unchanged, packages), strict=True))
        limits = {package: 30 + 3 * seconds for package, seconds in usual.items()}
        return dict(zip(drawn, pool.map(run, drawn), strict=True))


@contextmanager
def borrowed(trees: SimpleQueue[Path]) -> Iterator[Path]:
    """A tree that no other job uses at the same time."""
    tree = trees.get()
    try:
        yield tree
    finally:
        trees.put(tree)


def seconds_unchanged(package: str, tree: Path) -> float:
    """How long the tests of a package take. They must pass: else every mutant would be killed."""
    start = time.perf_counter()
    tests = [f"tests/{package}", *FITS]
    if not passes(tree, tests, timeout=3600):
        raise SystemExit(f"the tests fail without any change: pytest {' '.join(tests)}")
    seconds = time.perf_counter() - start
    print(f"{package}: {seconds:.0f} s without a change", flush=True)
    return seconds


def described(mutant: Mutant) -> str:
    """File, line and change."""
    return f"{mutant.path}:{mutant.line}: {mutant.before}  ->  {mutant.after}"


def main() -> int:
    """Sample, run, count, and list the survivors; 1 if fewer are killed than asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="how many mutants to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument(
        "--timeout", type=float, help="seconds for one mutant; 3 times the usual time if not given"
    )
    parser.add_argument("--only", default="", help="of those drawn, a path or path:line")
    parser.add_argument("--fail-under", type=float, default=0.0, help="percentage killed")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    options = parser.parse_args()
    drawn = sample(options.count, options.seed, options.only)
    if options.list or not drawn:
        print("\n".join(map(described, drawn)))
        return 0
    results = run_all(drawn, options.jobs, options.timeout)
    counts = Counter(results.values())
    killed = 100 * (len(results) - counts["survived"]) / len(results)
    print(f"\nseed {options.seed}: {len(results)} mutants, {counts['killed']} killed,", end=" ")
    print(f"{counts['timeout']} timeouts, {counts['survived']} survived: {killed:.1f} % noticed")
    for package in PACKAGES:
        own = [result for mutant, result in results.items() if mutant.path.startswith(package)]
        if own:
            print(f"  {package}: {len(own)} mutants, {own.count('survived')} survived")
    print("\nsurvivors:")
    for mutant, result in sorted(results.items(), key=lambda item: (item[0].path, item[0].line)):
        if result == "survived":
            print(" ", described(mutant))
    return int(killed < options.fail_under)


if __name__ == "__main__":
    sys.exit(main())
