"""The report as JUnit XML for CI systems, with one test case per sentence."""

from __future__ import annotations

from typing import Any, Final

from chatkey_peer import junit

TAGS: Final = {"failed": "failure", "harness error": "error", "passed": "", "not strict": "system-out"}


def write(report: dict[str, Any]) -> str:
    return junit.write(junit.Suite("chatkey conform", [_case(s) for s in report["sentences"]], report["seconds"]))


def _case(sentence: dict[str, Any]) -> junit.Case:
    message = f"{sentence['verdict']}: {sentence['reason']}".removesuffix(": ")
    text = [sentence["text"], *sentence["wrong"][:20], *(f"docs/{page}" for page in sentence["pages"])]
    tag = TAGS.get(sentence["verdict"], "skipped")
    return junit.Case(
        sentence["group"], sentence["id"], tag, message, "\n".join(text), seconds=sentence.get("seconds", 0.0)
    )
