"""The report as JUnit XML for CI systems, with one test case per sentence."""

from __future__ import annotations

import re
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

NAME: Final = "chatkey conform"
UNWRITABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent, not even escaped."""
TAGS: Final = {"failed": "failure", "harness error": "error", "passed": ""}


def write(report: dict[str, Any]) -> str:
    """Return the report as JUnit XML."""
    tags = [TAGS.get(sentence["verdict"], "skipped") for sentence in report["sentences"]]
    about = {
        "name": NAME,
        "tests": str(len(tags)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
        "skipped": str(tags.count("skipped")),
        "time": str(report["seconds"]),
    }
    root = Element("testsuites", about)
    suite = SubElement(root, "testsuite", about)
    for sentence, tag in zip(report["sentences"], tags, strict=True):
        case = SubElement(suite, "testcase", {"classname": f"{NAME}.{sentence['group']}", "name": sentence["id"]})
        if tag:
            message = _written(f"{sentence['verdict']}: {sentence['reason']}".removesuffix(": "))
            SubElement(case, tag, {"message": message}).text = _written(_details(sentence))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _details(sentence: dict[str, Any]) -> str:
    return "\n".join([sentence["text"], *sentence["wrong"][:20], *(f"docs/{page}" for page in sentence["pages"])])


def _written(text: str) -> str:
    return UNWRITABLE.sub("\ufffd", text)
