"""Writes JUnit XML, which CI systems show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

UNWRITABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent, not even escaped."""


@dataclass(frozen=True)
class Case:
    """One test case. `tag` is `failure`, `error`, `skipped`, `system-out`, or empty if the case passed."""

    group: str
    name: str
    tag: str = ""
    message: str = ""
    text: str = ""
    kind: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Suite:
    """A run: the command, its cases, its properties, and its duration in seconds."""

    command: str
    cases: Sequence[Case]
    seconds: float
    started_at: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


def write(suite: Suite) -> str:
    tags = [case.tag for case in suite.cases]
    about = {
        "name": suite.command,
        "tests": str(len(tags)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
        "skipped": str(tags.count("skipped")),
        "time": f"{suite.seconds:.3f}",
    }
    root = Element("testsuites", about)
    made = SubElement(root, "testsuite", about | ({"timestamp": suite.started_at} if suite.started_at else {}))
    if suite.properties:
        properties = SubElement(made, "properties")
        for name, value in suite.properties.items():
            _add(properties, "property", {"name": name, "value": value})
    for case in suite.cases:
        _case(made, suite.command, case)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _case(suite: Element, command: str, case: Case) -> None:
    group = f"{command}.{case.group}" if case.group else command
    made = _add(suite, "testcase", {"classname": group, "name": case.name, "time": f"{case.seconds:.3f}"})
    if case.tag:
        about = {"message": case.message, "type": case.kind}
        _add(made, case.tag, {name: value for name, value in about.items() if value}, case.text)


def _add(parent: Element, tag: str, attributes: Mapping[str, str], text: str = "") -> Element:
    made = SubElement(parent, tag, {name: UNWRITABLE.sub("\ufffd", value) for name, value in attributes.items()})
    made.text = UNWRITABLE.sub("\ufffd", text) or None
    return made
