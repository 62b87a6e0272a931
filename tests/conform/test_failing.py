"""Tests that every case of the suite fails for at least one broken service, so that no case is without effect."""

from __future__ import annotations

from tests.conform.changing import entries
from tests.conform.failing import matching, recorded, shortened, without

from chatkey_conform.suite import cases


def test_every_case_fails_for_a_broken_service_or_a_reason_is_given() -> None:
    failing = matching(entry for found in recorded().values() for entry in found)
    listed = matching(without())

    assert [case.id for case in cases() if case.id not in failing | listed] == []
    assert sorted(failing & listed) == []


def test_the_record_names_only_broken_services_and_cases_that_exist() -> None:
    named = [entry for found in recorded().values() for entry in found] + list(without())

    assert recorded().keys() <= {entry["name"] for entry in entries("broken.toml")}
    assert [entry for entry in named if not matching([entry])] == []
    assert all(reason.endswith(".") for reason in without().values())


def test_a_beginning_stands_for_all_cases_that_begin_so() -> None:
    every = {case.id for case in cases() if case.id.startswith("frames/")}
    some = every - {"frames/compression-is-not-spoken,WSK-042"}

    assert shortened(every) == ["frames/*"]
    assert matching(shortened(some)) == some
