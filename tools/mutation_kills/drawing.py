"""Draws mutants with mutmut's operators, also in constants and in decorated functions, where mutmut itself has none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import get_ignored_lines


@dataclass(frozen=True)
class Drawn:
    """One node of a file's syntax tree, its lines, and its replacement."""

    name: str
    file: str
    lines: range
    tree: cst.Module
    old: cst.CSTNode
    new: cst.CSTNode

    def text(self) -> str:
        """Return the whole mutated file."""
        return cast("cst.Module", self.tree.deep_replace(self.old, self.new)).code


class _Visitor(MutationVisitor):
    def __init__(self, file: str, wrapper: MetadataWrapper) -> None:
        super().__init__(mutation_operators, get_ignored_lines(file, wrapper.module.code, wrapper))
        self.found: list[tuple[CodeRange, cst.CSTNode, cst.CSTNode]] = []

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        is_decorated = isinstance(node, cst.FunctionDef) and bool(node.decorators)
        return not is_decorated and super()._skip_node_and_children(node)

    def _create_mutations(self, node: cst.CSTNode) -> None:
        super()._create_mutations(node)
        at = self.get_metadata(PositionProvider, node, None)
        if isinstance(at, CodeRange):
            self.found += [(at, each.original_node, each.mutated_node) for each in self.mutations]
        self.mutations.clear()


def drawn(files: Iterable[str], seed: int) -> list[Drawn]:
    """Return all mutants of the files in a random order, with one mutant of each line before the second of any line."""
    every = [mutant for file in files for mutant in _of(file)]
    random.Random(seed).shuffle(every)  # noqa: S311 - draws no secrets
    seen: Counter[tuple[str, int]] = Counter()
    turns = []
    for mutant in every:
        turns.append(seen[mutant.file, mutant.lines[0]])
        seen[mutant.file, mutant.lines[0]] += 1
    return [every[at] for at in sorted(range(len(every)), key=turns.__getitem__)]


def _of(file: str) -> Iterator[Drawn]:
    wrapper = MetadataWrapper(cst.parse_module(Path(file).read_text("utf-8")))
    visitor = _Visitor(file, wrapper)
    wrapper.visit(visitor)
    for number, (at, old, new) in enumerate(visitor.found):
        lines = range(at.start.line, at.end.line + 1)
        yield Drawn(f"{file}:{at.start.line}:{number}", file, lines, wrapper.module, old, new)
