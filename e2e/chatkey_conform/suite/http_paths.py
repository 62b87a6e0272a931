"""A path has exactly one valid form; any other form is not found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from chatkey_conform.case import Family
from chatkey_conform.judging.verdict import expect, expect_that
from chatkey_conform.subject.subject import Subject

FAMILY = Family("paths", "Paths", "protocol.md#endpoints")

BENT: Final[dict[str, Callable[[str], str]]] = {
    "HTP-007-configuration": lambda path: path + "/",
    "HTP-007-token": lambda path: path + "/token/",
    "HTP-007-start": lambda path: path + "/oauth/google/",
    "HTP-008-first": lambda path: "/" + path,
    "HTP-008-version": lambda path: path.replace("/v1/", "//v1/"),
    "HTP-009": lambda _: "/v1/public/provider//token",
    "HTP-009-nothing-behind": lambda _: "/v1/public/provider/",
    "HTP-008-before-the-id": lambda path: path.replace("/provider/", "/provider//"),
    "HTP-008-before-token": lambda path: path + "//token",
    "HTP-010-there-and-back": lambda path: path.replace("/provider/", "/provider/x/../"),
    "HTP-010-dot": lambda path: path.replace("/provider/", "/provider/./"),
    "HTP-010-dots": lambda path: path.rpartition("/")[0] + "/..",
    "HTP-010-encoded": lambda path: path.rpartition("/")[0] + "/%2e%2e",
    "HTP-011": lambda path: path + "%2Ftoken",
    "HTP-012": lambda path: path + "%252Ftoken",
    "HTP-012-encoded-letter": lambda path: path.replace("provider", "pro%76ider"),
    "HTP-012-encoded-social": lambda path: path + "/oauth/goo%67le",
    "HTP-013-backslash": lambda path: path + "%5Cb",
    "HTP-013-bare-backslash": lambda path: path + "\\b",
    "HTP-013-not-utf-8": lambda path: path + "%ff",
    "HTP-013-10-kb": lambda path: path + "a" * 10_240,
    "HTP-013-semicolon": lambda path: path + ";b",
    "HTP-013-nul": lambda path: path + "%00b",
    "HTP-013-emoji": lambda path: path + "%F0%9F%98%80",
    "HTP-014-version": lambda path: path.replace("/v1/", "/V1/"),
    "HTP-014-word": lambda path: path.replace("provider", "Provider"),
}


@FAMILY.judges("D-03/one-spelling", "9/prefix", each=BENT)
def a_path_has_one_spelling(subject: Subject, bend: Callable[[str], str]) -> None:
    """Any other form of a path is answered with 404."""
    shop = subject.shop()
    answer = subject.spelled(f"{bend(shop.path)}?uid={shop.key.uid}")

    expect(answer.status, 404, f"The status of {answer.asked}")
    code = answer.json().get("error", {}).get("code")
    expect_that(
        code in {"not_found", "provider_unknown"}, f"error.code is {code!r}, expected not_found or provider_unknown"
    )


@FAMILY.judges("4/paths")
def there_is_nothing_elsewhere(subject: Subject) -> None:
    """A path outside the contract is answered with 404."""
    expect(subject.get("/v1/public/nowhere").status, 404, "The status of /v1/public/nowhere")
