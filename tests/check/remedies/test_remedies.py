"""Tests that the lines which a check prints mend its broken example, in Flask and in Express."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from fnmatch import fnmatchcase

import pytest
from tests.check.examples.kit.reference_backends import Unavailable
from tests.check.remedies.sites import LANGUAGES, TABLE, Remedy, express_sites, flask_sites, remedies, target

from chatkey_check import checks
from chatkey_check.model import Report, Verdict
from chatkey_check.run import opened
from chatkey_check.running.runner import Selection, report_of

FINDINGS = frozenset({Verdict.FAIL, Verdict.WARN, Verdict.ERROR})
REMEDIES = remedies()
each_remedy = pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: remedy.id)


class Sites:
    """The servers with all sites. They are started when the first site of their language is needed."""

    def __init__(self, ending: ExitStack, cache: pytest.Cache) -> None:
        self._ending = ending
        self._cache = cache
        self._started: dict[str, str] = {}

    def base(self, remedy: Remedy, *, mended: bool) -> str:
        if remedy.language not in self._started:
            self._started[remedy.language] = self._start(remedy.language)
        return f"{self._started[remedy.language]}/{remedy.id}-{mended}"

    def _start(self, language: str) -> str:
        sources = {
            f"{one.id}-{mended}": one.site(mended=mended)
            for one in REMEDIES
            if one.language == language
            for mended in (False, True)
        }
        if language == "Python":
            return self._ending.enter_context(flask_sites(sources))
        try:
            return self._ending.enter_context(express_sites(sources, self._cache.mkdir("chatkey-examples")))
        except Unavailable as missing:
            pytest.skip(str(missing))


@pytest.fixture(scope="module")
def sites(pytestconfig: pytest.Config) -> Iterator[Sites]:
    assert pytestconfig.cache is not None
    with ExitStack() as ending:
        yield Sites(ending, pytestconfig.cache)


def judged(sites: Sites, remedy: Remedy, *, mended: bool) -> Report:
    with opened(target(remedy, sites.base(remedy, mended=mended))) as run:
        return report_of(run, selection=Selection() if mended else Selection(only=[remedy.check]))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::jwt.InsecureKeyLengthWarning")  # one example signs with HS512
@each_remedy
def test_a_broken_example_is_clean_after_the_printed_lines_are_inserted(sites: Sites, remedy: Remedy) -> None:
    broken, mended = (judged(sites, remedy, mended=mended) for mended in (False, True))

    assert broken.of(remedy.check).verdict in FINDINGS
    assert [f"{o.check.id}: {o.message}" for o in mended.outcomes if o.verdict in FINDINGS] == []


def test_every_check_has_a_remedy_that_is_tried_or_a_reason() -> None:
    patterns = [pattern for patterns in TABLE["by_hand"] for pattern in patterns.split(", ")]
    by_hand = {name for name in checks.ORDER if any(fnmatchcase(name, pattern) for pattern in patterns)}
    tried = {(remedy.check, remedy.language) for remedy in REMEDIES}

    printed = {(check.id, language) for check in checks.load() for language in check.mend if language in LANGUAGES}
    assert {check for check, _ in tried} | by_hand == set(checks.ORDER)
    assert {one for one in printed if one[0] not in by_hand} == tried
