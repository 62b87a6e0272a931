"""Finds places in a source file with patterns on the syntax tree, regardless of line breaks.

A pattern is code in which `$NAME` matches any one expression or name (the same one if it occurs twice), and `$$$`
matches any number of them. Line breaks, indentation and trailing commas are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from ast_grep_py import Pattern, SgNode, SgRoot

_LANGUAGES: Final = {".py": "python", ".js": "javascript"}
_FRAGMENTS: Final = {
    "python": (
        ("f({})", "keyword_argument"),
        ("{{{}}}", "pair"),
        ("match x:\n    case {}: pass", "case_pattern"),
        ("def f({}): pass", "typed_parameter"),
        ("def f({}): pass", "typed_default_parameter"),
    ),
    "javascript": (("({{{}}})", "pair"),),
}
"""Code fragments that are neither an expression nor a statement: a context for each, and the kind of its node there."""

_NAMED: Final = frozenset(
    {"assignment", "class_definition", "class_declaration", "function_definition", "function_declaration"}
    | {"method_definition", "variable_declarator"}
)
_VARIABLE: Final = re.compile(r"\$([A-Z][A-Z0-9_]*)")


class PatternError(Exception):
    """A pattern that cannot be parsed as code."""


@dataclass(frozen=True)
class Place:
    """One place that matches a pattern, with its offsets in the text."""

    start: int
    end: int
    node: SgNode

    def filled(self, template: str, *others: Place) -> str:
        """Return the template, indented like this place, with the variables of this place or of `others` filled in."""

        def value(name: re.Match[str]) -> str:
            found = next((node for place in (self, *others) if (node := place.node.get_match(name[1]))), None)
            if found is None:
                raise PatternError(f"${name[1]} is not a variable of the matched pattern")
            return found.text()

        indentation = " " * self.node.range().start.column
        return _VARIABLE.sub(value, template.replace("\n", f"\n{indentation}"))


class Source:
    """The syntax tree of a file."""

    def __init__(self, file: str, text: str) -> None:
        self.text = text
        self._language = _LANGUAGES[PurePath(file).suffix]
        self._root = SgRoot(text, self._language).root()

    def places(self, pattern: str, *, within: str = "", inside: str = "", after: str = "") -> list[Place]:
        """Return the places that match a pattern.

        `within` limits the places to a symbol, `inside` to blocks whose head matches, and `after` to places after a
        matching statement.
        """
        nodes = self._matches(pattern)
        if within:
            nodes = [node for node in nodes if f"{symbol_of(node)}.".startswith(f"{within}.")]
        if inside:
            heads = self._spans(inside)
            nodes = [node for node in nodes if any(_holds(head, heads) for head in _heads(node))]
        if after:
            before = self._spans(after)
            nodes = [node for node in nodes if _statement_before(node) in before]
        return [Place(*_span(node), node) for node in nodes]

    def _spans(self, pattern: str) -> set[tuple[int, int]]:
        return {_span(node) for node in self._matches(pattern)}

    def _matches(self, pattern: str) -> Sequence[SgNode]:
        """Return the nodes that match a pattern. Of nodes with the same span, return only the outermost."""
        found: dict[tuple[int, int], SgNode] = {}
        read = False
        for reading in self._readings(pattern):
            try:
                for node in self._root.find_all(pattern=reading):
                    found.setdefault(_span(node), node)
                read = True
            except RuntimeError:  # the pattern cannot be parsed in this way
                continue
        if not read:
            raise PatternError(f"{pattern!r} is not valid {self._language}")
        return list(found.values())

    def _readings(self, pattern: str) -> Iterator[str | Pattern]:
        """Yield the ways to parse a pattern: unchanged, or as a fragment in each context."""
        yield pattern
        plain = pattern.replace("$", "X")
        for context, kind in _FRAGMENTS[self._language]:
            whole = SgRoot(context.format(plain), self._language).root().find(kind=kind)
            if whole and whole.text() == plain:
                yield Pattern(context=context.format(pattern), selector=kind, strictness="smart")


def symbol_of(node: SgNode) -> str:
    """Return the dotted name of the class, function or constant that contains a node."""
    names = [above.field("name") or above.field("left") for above in node.ancestors() if above.kind() in _NAMED]
    return ".".join(name.text() for name in reversed(names) if name)


def _span(node: SgNode) -> tuple[int, int]:
    return node.range().start.index, node.range().end.index


def _heads(node: SgNode) -> Iterator[tuple[int, int]]:
    """Yield the spans of the heads (the text before the body) of all blocks that contain a node."""
    for above in node.ancestors():
        body = above.field("body") or above.field("consequence")
        if body and _span(node)[1] <= _span(body)[1]:
            yield _span(above)[0], _span(body)[0]


def _statement_before(node: SgNode) -> tuple[int, int] | None:
    """Return the span of the statement before the one that contains a node."""
    for each in (node, *node.ancestors()):
        parent = each.parent()
        if parent and parent.kind() in {"block", "module", "statement_block", "program"}:
            before = each.prev()
            while before and before.kind() == "comment":
                before = before.prev()
            return _span(before) if before else None
    return None


def _holds(outer: tuple[int, int], spans: set[tuple[int, int]]) -> bool:
    return any(_covers(outer, span) for span in spans)


def _covers(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
