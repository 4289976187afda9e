"""The package stays within its size: limits in pyproject.toml, `[tool.thinrank.size]`.

A limit may rise only in a commit that lowers others by at least as much. To see the table:

    python tests/test_size.py
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "thinrank"
LIMITS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["thinrank"]["size"]
# code that is not Python: pages and their scripts
TEMPLATES = {".html", ".css", ".js"}
# folders beside the package
BESIDE = "benchmarks", "paper", "tests"
WORD = re.compile(r"\w+|[^\w\s]")
COMMENT = re.compile(r"(?:^ *|  )#.*$", re.MULTILINE)
_OPERATORS = ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop


@dataclass(frozen=True)
class Size:
    """Lines, tokens of code, files, and numeric constants at module level."""

    lines: int = 0
    tokens: int = 0
    files: int = 0
    constants: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(*(a + b for a, b in zip(self.values(), other.values(), strict=True)))

    def values(self) -> tuple[int, ...]:
        return self.lines, self.tokens, self.files, self.constants


def size_of(path: Path) -> Size:
    text = path.read_text("utf-8")
    lines = text.count("\n")
    if path.suffix != ".py":
        return Size(lines, len(WORD.findall(text)), 1)
    tree = ast.parse(text)
    constants = sum(_numbers_assigned(node) for node in tree.body)
    tokens = len(WORD.findall(text)) - _words_for_people(text, tree)
    return Size(lines, tokens, 1, constants)


def _words_for_people(text: str, tree: ast.AST) -> int:
    """Words of docstrings and comments."""
    lines = text.splitlines(keepends=True)
    parts = [
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in lines[node.lineno - 1 : node.end_lineno]
    ]
    parts += COMMENT.findall(text)
    return sum(len(WORD.findall(part)) for part in parts)


def _numbers_assigned(node: ast.stmt) -> int:
    """How many numbers a statement gives a name: 1, and 2 for ``A, B = 1, 2**10``."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return 0
    values = node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else [node.value]
    return len(values) if all(map(_is_number, values)) else 0


def _is_number(node: ast.expr) -> bool:
    """Whether an expression has numbers and operators only."""
    parts = ast.walk(node)
    leaves = [part for part in parts if not isinstance(part, _OPERATORS)]
    return bool(leaves) and all(
        isinstance(leaf, ast.Constant) and type(leaf.value) in (int, float) for leaf in leaves
    )


def measured() -> dict[str, Size]:
    """The size of every package and of the folders beside the package."""
    sizes = {}
    for path in _files():
        inside = path.relative_to(SOURCE) if path.is_relative_to(SOURCE) else None
        if inside is None:
            name = path.relative_to(ROOT).parts[0]
        else:
            name = inside.parts[0] if len(inside.parts) > 1 else "modules"
        sizes[name] = sizes.get(name, Size()) + size_of(path)
    return dict(sorted(sizes.items()))


def _files() -> Iterator[Path]:
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix == ".py" or path.suffix in TEMPLATES:
            yield path
    for folder in BESIDE:
        yield from sorted((ROOT / folder).rglob("*.py"))


def files_entered() -> list[str]:
    """Files of the package whose functions are called by a default fit and ``coef_``."""
    import thinrank as tr

    X, Y, _ = tr.datasets.make_two_way_sparse(30, 40, 10, 2, 5, 5, random_state=0)
    est = tr.SparseReducedRankRegressor()  # before the trace: this imports the files
    entered: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            entered.setdefault(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        est.fit(X, Y).coef_  # noqa: B018
    finally:
        sys.setprofile(before)
    paths = [Path(name) for name in entered]
    return [path.relative_to(SOURCE).as_posix() for path in paths if path.is_relative_to(SOURCE)]


def with_total(sizes: dict[str, Size]) -> dict[str, Size]:
    """The sizes, and that of the whole package."""
    inside = [size for name, size in sizes.items() if name not in BESIDE]
    return sizes | {"package": sum(inside, Size())}


def table(sizes: dict[str, Size]) -> str:
    rows = [f"{'':14}{'lines':>16}{'tokens':>18}{'files':>12}{'constants':>12}"]
    for name, size in sizes.items():
        pairs = zip(size.values(), LIMITS["packages"].get(name, (0, 0, 0, 0)), strict=True)
        cells = [f"{value:,}/{limit:,}" for value, limit in pairs]
        widths = (16, 18, 12, 12)
        rows.append(f"{name:14}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True)))
    return "\n".join([*rows, "each with its limit in pyproject.toml"])


def test_every_package_is_within_its_limits():
    sizes = with_total(measured())
    print(table(sizes))
    assert set(sizes) == set(LIMITS["packages"])
    too_large = [
        name
        for name, size in sizes.items()
        if any(a > b for a, b in zip(size.values(), LIMITS["packages"][name], strict=True))
    ]
    assert not too_large, f"{too_large}\n{table(sizes)}"


def test_a_limit_rises_only_where_others_fall():
    limits = {name: Size(*limit) for name, limit in LIMITS["packages"].items()}
    total = limits.pop("package")
    summed = with_total(limits)["package"]
    assert all(a <= b for a, b in zip(summed.values(), total.values(), strict=True))


def test_a_default_fit_enters_few_files():
    entered = files_entered()
    print(f"a default fit enters {len(entered)} files, limit {LIMITS['files_of_a_default_fit']}")
    assert len(entered) <= LIMITS["files_of_a_default_fit"], "\n".join(entered)


def test_code_counts_wherever_it_stands(tmp_path):
    path = tmp_path / "file.py"
    path.write_text('"""Docs of a module."""\n_A, _B = 1, 2.5\nC = {"a": 1}\nD = "a + b"  # why\n')
    size = size_of(path)
    assert size == Size(lines=4, tokens=25, files=1, constants=2)
    path.write_text(path.read_text().replace("  # why", "").replace('"""Docs of a module."""', ""))
    assert size_of(path).tokens == size.tokens
    path.with_suffix(".js").write_text("let a = 1;\n")
    assert size_of(path.with_suffix(".js")).tokens == 5


if __name__ == "__main__":
    sizes = with_total(measured())
    print(table(sizes))
    for name, size in sizes.items():
        print(f"{name} = {list(size.values())}")
    print(*files_entered(), sep="\n")
