"""Changes of the numerical code, one place at a time: which are possible, and a seeded draw.

A mutant is a module with one change: another operator or constant, a negated condition, a returned
value replaced by None, a statement removed.
"""

from __future__ import annotations

import ast
import hashlib
import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "thinrank"
PACKAGES = ("core", "forms", "losses", "solvers", "selection")
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
    last_line: int
    before: str
    after: str
    source: str

    @property
    def key(self) -> str:
        """Names the mutant in a record, as long as its module is not edited."""
        return hashlib.sha256(f"{self.path}\n{self.source}".encode()).hexdigest()[:16]

    def __str__(self) -> str:
        """File, line and change."""
        return f"{self.path}:{self.line}: {self.before}  ->  {self.after}"


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
            yield Mutant(name, node.lineno, _last_line(node), _short(before), _short(after), whole)


def _last_line(node: ast.AST) -> int:
    """The last line of an expression, or of a statement without the block below it."""
    match node:
        case ast.If(body=[first, *_]) | ast.While(body=[first, *_]):
            return max(node.lineno, first.lineno - 1)
    return node.end_lineno


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


def sample(count: int, seed: int, only: str) -> list[Mutant]:
    """The mutants of a seed; ``only`` keeps those whose ``path:line`` begins with it."""
    paths = sorted(path for part in PACKAGES for path in (PACKAGE / part).rglob("*.py"))
    everything = [change for path in paths for change in candidates(path)]
    print(f"{len(everything)} possible changes of {len(paths)} modules", flush=True)
    random.Random(seed).shuffle(everything)
    drawn = islice(mutants(everything), count)
    return [mutant for mutant in drawn if f"{mutant.path}:{mutant.line}".startswith(only)]
