"""How large the package is, and how plainly it speaks: counts of its sources.

    python -m tests.style.count                                  # a table of all counts
    python -m tests.style.count --list targets sofa_softctl/qp   # the places of a kind

Targets are names that the code assigns (loops, comprehensions and `with` too), parameters those of
functions. Kernels keep their numbers at module level, since numba compiles them in.
"""

import argparse
import ast
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.style.rules import (
    ADVERBS,
    ARGUMENT_OPENINGS,
    CLASSES,
    FUNCTION_EXCEPTIONS,
    FUNCTIONS,
    OPENINGS,
    PHRASES,
    TARGETS,
    matching,
)

ROOT = Path(__file__).parents[2]
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
BRANCHES = (
    *(ast.If, ast.For, ast.While, ast.IfExp, ast.comprehension, ast.ExceptHandler),
    *(ast.Assert, ast.match_case),
)
"""Statements that add a path through a function."""


@dataclass(frozen=True)
class Place:
    """One word at its line."""

    kind: str
    rule: str
    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{self.line}: {self.kind} ({self.rule}): {self.text}"


class Source:
    """A Python file, its tree and its docstrings."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.lines = self.text.count("\n")

    def places(self) -> Iterator[Place]:
        """Yield every place where the file breaks a rule of `tests/style/rules.py`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield from self._name(node.id, node, "targets")
            elif isinstance(node, ast.arg):
                yield from self._name(node.arg, node, "parameters")
            elif isinstance(node, FUNCTION):
                if node.name not in FUNCTION_EXCEPTIONS:
                    yield from self._place(
                        "functions", matching(FUNCTIONS, node.name, whole=True), node, node.name
                    )
            elif isinstance(node, ast.ClassDef) and re.fullmatch(CLASSES, node.name):
                yield self._at("classes", "participle", node.lineno, node.name)
        for owner, node, text in self.docstrings():
            yield from self._docstring(owner, node, text)
        if not self.is_kernel():
            for node in self.tree.body:
                if _is_number(node):
                    yield self._at("numbers", "module", node.lineno, ast.unparse(node))

    def _name(self, name: str, node: ast.AST, kind: str) -> Iterator[Place]:
        rule = "no thing" if name in TARGETS else "adverb" if name in ADVERBS else ""
        yield from self._place(kind, rule, node, name)

    def _docstring(self, owner: ast.AST | None, node: ast.Expr, text: str) -> Iterator[Place]:
        first = text.strip().split("\n", 1)[0]
        rule = matching(OPENINGS, first)
        if rule == "prepositions" and isinstance(owner, ast.Module) and re.match("For|From", first):
            rule = ""
        if not rule and first.startswith("Whether") and isinstance(owner, FUNCTION):
            rule = "Whether"
        yield from self._place("docstrings", rule, node, first)
        for number, line in enumerate(text.splitlines()):
            argument = re.match(r"\s+\w+: (.*)", line)
            if argument:
                rule = matching(ARGUMENT_OPENINGS, argument[1])
                if rule:
                    yield self._at("arguments", rule, node.lineno + number, line.strip())
        for rule, pattern in PHRASES.items():
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start())
                yield self._at("phrases", rule, node.lineno + line, text.splitlines()[line].strip())

    def _place(self, kind: str, rule: str, node: ast.AST, text: str) -> Iterator[Place]:
        if rule:
            yield self._at(kind, rule, node.lineno, text)

    def _at(self, kind: str, rule: str, line: int, text: str) -> Place:
        return Place(kind, rule, self.path, line, text)

    def docstrings(self) -> Iterator[tuple[ast.AST | None, ast.Expr, str]]:
        """Yield owner, node and text of each docstring; fields and constants have theirs below."""
        for holder in ast.walk(self.tree):
            if not isinstance(holder, (ast.Module, ast.ClassDef, *FUNCTION)):
                continue
            for before, node in zip([None, *holder.body], holder.body, strict=False):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                    text = node.value.value
                    if isinstance(text, str):
                        yield holder if before is None else before, node, text

    def is_kernel(self) -> bool:
        """Return True if numba compiles functions of the module."""
        return "sofa_softctl.base.jit" in self.text or "import numba" in self.text

    def comments(self) -> int:
        """Return the number of comments."""
        with self.path.open("rb") as file:
            return sum(
                token.type == tokenize.COMMENT
                and not token.string.startswith(("# noqa", "# type:"))
                for token in tokenize.tokenize(file.readline)
            )

    def functions(self) -> Iterator[tuple[str, int, int]]:
        """Yield name, lines and cyclomatic complexity of each function."""
        for node in ast.walk(self.tree):
            if isinstance(node, FUNCTION):
                paths = sum(isinstance(inner, BRANCHES) for inner in ast.walk(node)) + sum(
                    len(inner.values) - 1
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.BoolOp)
                )
                yield node.name, node.end_lineno - node.lineno + 1, paths + 1


def _is_number(node: ast.AST) -> bool:
    """Return True for an assignment of literal numbers to a name."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not isinstance(target, ast.Name):
        return False
    try:
        value = ast.literal_eval(node.value)
    except ValueError:
        return False
    values = value if isinstance(value, tuple) else (value,)
    return bool(values) and all(type(number) in (int, float) for number in values)


def sources_of(paths: list[Path]) -> list[Source]:
    """Return the sources of these files and folders."""
    return [
        Source(file)
        for path in paths
        for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
    ]


def table_of(sources: list[Source]) -> Iterator[tuple[str, object]]:
    """Yield each count with its name."""
    yield "files", len(sources)
    yield "lines", sum(source.lines for source in sources)
    places = [place for source in sources for place in source.places()]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for place in places:
        counts[place.kind][place.rule] += 1
    for kind in sorted(counts):
        for rule, count in counts[kind].most_common():
            yield f"{kind}: {rule}", count
    comments = sum(source.comments() for source in sources)
    yield "comments per 100 lines", round(100 * comments / max(1, sum(s.lines for s in sources)), 1)
    functions = [(f, s) for s in sources for f in s.functions()]
    for label, index in (("longest function", 1), ("complexity", 2)):
        largest, source = max(functions, key=lambda pair: pair[0][index])
        yield label, f"{largest[index]} ({source.path.name}: {largest[0]})"
    beyond = [f for f, source in functions if f[2] > 25 and not source.is_kernel()]
    yield "functions of complexity above 25, kernels aside", len(beyond)
    longest = max(sources, key=lambda source: source.lines)
    yield "longest file", f"{longest.lines} ({longest.path.name})"
    folders = Counter(source.path.parent for source in sources if source.path.name != "__init__.py")
    folder, count = folders.most_common(1)[0]
    yield "largest folder", f"{count} ({folder.name})"
    yield "folders above 18 modules", sum(count > 18 for count in folders.values())


def main() -> int:
    """Print the table, or the places of a kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / "sofa_softctl"])
    parser.add_argument("--list", metavar="KIND", help="print the places of a kind, or of 'all'")
    arguments = parser.parse_args()
    sources = sources_of([path.resolve() for path in arguments.paths])
    if arguments.list:
        for source in sources:
            for place in sorted(source.places(), key=lambda place: place.line):
                if arguments.list in ("all", place.kind):
                    print(place)
        return 0
    for name, value in table_of(sources):
        print(f"{name:60} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
