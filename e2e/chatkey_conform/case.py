"""Defines test cases. A case has a test function, and names a page of the docs and sentences of the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from chatkey_conform.subject.subject import Subject

Judge = Callable[..., None]
FIRST_SCORED: Final = 2


@dataclass(frozen=True)
class Test:
    """A case of this suite, or a browser scenario, with the sentences that it judges."""

    id: str
    title: str
    sentences: tuple[str, ...]
    page: str
    group: str


@dataclass(frozen=True)
class Case(Test):
    """One test case. An `alone` case moves the clock or floods the service, so it never runs in parallel."""

    run: Callable[[Subject], None] = field(compare=False)
    needs: frozenset[str] = frozenset()
    alone: bool = False
    since: int = FIRST_SCORED


class Family:
    """Test cases on one subject, with the page of the docs that describes the expected behaviour."""

    def __init__(self, key: str, title: str, page: str) -> None:
        self.key = key
        self.title = title
        self.page = page
        self.cases: list[Case] = []

    def judges(
        self,
        *sentences: str,
        each: Mapping[str, Any] | Iterable[str] | None = None,
        needs: Iterable[str] = (),
        alone: bool = False,
        page: str = "",
        rows: Iterable[str] = (),
        since: int = FIRST_SCORED,
    ) -> Callable[[Judge], Judge]:
        """Add a case for the decorated function. With `each`, add a case for each value. `rows` are ids of refusals."""

        def add(judge: Judge) -> Judge:
            title = " ".join((judge.__doc__ or "").split())
            name = ",".join([judge.__name__.replace("_", "-"), *rows])
            values = each if isinstance(each, Mapping) else {value: value for value in each or ()}
            for at, value in values.items() if each is not None else [("", None)]:
                given = value if isinstance(value, tuple) else (value,)
                self.cases.append(
                    Case(
                        id=f"{self.key}/{name}" + (f"[{at}]" if at else ""),
                        title=title,
                        sentences=sentences,
                        page=page or self.page,
                        group=self.title,
                        run=partial(_run, judge, given if each is not None else ()),
                        needs=frozenset(needs),
                        alone=alone,
                        since=since,
                    )
                )
            return judge

        return add

    def add(self, case: Case) -> None:
        """Add a case that was made from a table row."""
        self.cases.append(case)


def _run(judge: Judge, given: tuple[Any, ...], subject: Subject) -> None:
    judge(subject, *given)
