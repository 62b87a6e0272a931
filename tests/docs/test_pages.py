"""Tests of docs/ and the README. All names must exist, and everything that needs documentation must have it."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, cast, get_args

import click
import pytest
from litestar import Litestar
from pytest_playwright import pytest_playwright
from tools import codes_page, contract, generate_docs, limits_page

from chatkey_oauth.app import create_app as create_fake
from chatkey_oauth.lab.api import Control
from chatkey_oauth.settings import Settings as FakeSettings
from chatkey_protocol.codes import Code
from chatkey_server.app import create_app
from chatkey_server.settings import SETTINGS, Limits, Settings
from chatkey_widget.errors import MEANINGS, Phase

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), ROOT / "kit" / "NOTICE.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
CONTRACT_ID = re.compile(r"(?:\d(?:\.\d)?|D-\d\d)/[a-z][\w.-]*")
ELSEWHERE = {"CHATKEY_BROWSER", "CHATKEY_PATIENCE"}
"""Variables of the test harness, which are not in the table of settings."""

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def text_of(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def entries(name: str) -> list[str]:
    """Return the headings of a reference page. Each is the address of one entry."""
    return re.findall(r"^## (.+)$", text_of(name), re.MULTILINE)


def prose(page: Path) -> str:
    return BLOCK.sub("", page.read_text())


def blocks(page: Path, language: str) -> list[str]:
    return [match["text"] for match in BLOCK.finditer(page.read_text()) if match["language"] == language]


# links


def anchors(page: Path) -> set[str]:
    texts = (match["text"].lower() for match in HEADING.finditer(prose(page)))
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}


def links(page: Path) -> Iterator[tuple[Path, str]]:
    for match in LINK.finditer(prose(page)):
        target = match["target"]
        if not target.startswith(("https://", "mailto:")):
            path, _, anchor = target.partition("#")
            yield (page.parent / path if path else page), anchor


@each_page
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to #{anchor} in {target.name}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, found = set[Path](), {ROOT / "README.md"}
    while found:
        reached |= found
        found = {target.resolve() for page in found for target, _ in links(page) if target.suffix == ".md"} - reached

    assert reached == set(PAGES)


# pages that people like to read

MOST_WORDS, MOST_CHARACTERS = 90, 200
WIDE = {"conform.md", "fake-oauth-reference.md", "protocol.md", "socket.md", "threats.md"}
"""Pages with tables whose cells are lists of values, or have more than two columns of text."""
LISTS = {"index.md", "tutorials.md", "how-to.md", "reference.md", "background.md"}
"""Pages of links."""

each_reading = pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "docs" in page.parts and page.name not in LISTS],
    ids=lambda page: str(page.relative_to(ROOT)),
)


def paragraphs(page: Path) -> Iterator[str]:
    """Yield the paragraphs and the items of lists, without tables and headings."""
    text = re.sub(r"^<!--.*-->$", "", prose(page), flags=re.MULTILINE)
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        if not part.lstrip().startswith(("|", "#")):
            yield part


@each_page
def test_no_paragraph_is_long(page: Path) -> None:
    assert [part for part in paragraphs(page) if len(part.split()) > MOST_WORDS] == []


@each_page
def test_no_cell_of_a_table_is_long(page: Path) -> None:
    rows = (line for line in prose(page).splitlines() if line.startswith("|"))
    long = [cell for row in rows for cell in re.split(r"(?<!\\)\|", row) if len(cell.strip()) > MOST_CHARACTERS]

    assert not long or page.name in WIDE, long


@each_reading
def test_a_page_says_what_to_read_next(page: Path) -> None:
    after = re.findall(r"^Next: .*", prose(page), re.MULTILINE)

    assert "](" in " ".join(after)


def test_each_guide_has_the_title_under_which_it_is_listed() -> None:
    listed = re.findall(r"^- \[([^\]]+)\]\(([^)]+)\)", text_of("how-to.md"), re.MULTILINE)

    titles = [(ROOT / "docs" / path).read_text().partition("\n")[0].removeprefix("# ") for _, path in listed]

    assert titles == [text for text, _ in listed]


# generated pages


def test_generated_pages_are_up_to_date() -> None:
    stale = [path.name for path, made in generate_docs.pages() if path.read_text() != made]

    assert not stale, "run `nox -s docs -- --write`"


# decisions and the contract

DECISION = re.compile(r"^### (?P<id>(?P<group>D-\d\d)\.(?P<number>\d+)) (?P<title>.+)\n(?P<text>[^#]+)", re.MULTILINE)
DECISION_WORDS = 80
BESIDE_THE_PROFILE = {"D-23", "D-24", "D-25", "D-26", "D-27"}
"""Groups of decisions about tools, which promise nothing to implementers."""


def test_every_decision_is_short_and_has_a_title_and_an_id_of_its_group() -> None:
    text = text_of("decisions.md")
    headings = re.findall(r"^##.*", text, re.MULTILINE)
    groups = [line.split()[1] for line in headings if line.startswith("## ")]
    found = list(DECISION.finditer(text))
    ids = [decision["id"] for decision in found]
    inside = [text[: decision.start()].rpartition("\n## ")[2].split()[0] for decision in found]

    assert all(re.fullmatch(r"D-\d\d", group) for group in groups)
    assert len(found) == len(headings) - len(groups)
    assert len(ids) == len(set(ids))
    assert [decision["group"] for decision in found] == inside
    assert set(inside) == set(groups)
    assert [decision["id"] for decision in found if len(decision["text"].split()) > DECISION_WORDS] == []


@each_page
def test_every_decision_named_in_a_page_is_written_down(page: Path) -> None:
    decisions = text_of("decisions.md")

    assert all(f"## {name} " in decisions for name in re.findall(r"D-\d\d(?:\.\d+)?", page.read_text()))


def test_every_decision_named_in_the_code_is_written_down() -> None:
    decisions = text_of("decisions.md")
    named = {
        name
        for folder in ("server", "widget_sim", "fake_oauth", "e2e", "demo")
        for module in (ROOT / folder).rglob("*.py")
        if "node_modules" not in module.parts
        for name in re.findall(r"D-\d\d(?:\.\d+)?\b", module.read_text())
    }

    assert named
    assert {name for name in named if f"## {name} " not in decisions} == set()


def test_every_decision_has_an_entry_in_the_contract() -> None:
    written = set(re.findall(r"^## (D-\d\d) ", text_of("decisions.md"), re.MULTILINE))

    assert written - BESIDE_THE_PROFILE == {entry.section for entry in contract.entries() if entry.level == "kit"}


@each_page
def test_every_contract_id_named_in_a_page_exists(page: Path) -> None:
    named = set(re.findall(r"[`\"]([^`\"\n]+)[`\"]", page.read_text()))

    assert {name for name in named if CONTRACT_ID.fullmatch(name)} <= {entry.id for entry in contract.entries()}


# settings, codes, events


@each_page
def test_every_setting_named_in_a_page_exists(page: Path) -> None:
    named = set(re.findall(r"CHATKEY_[A-Z][A-Z0-9_]*[A-Z0-9]", page.read_text()))

    assert named <= {setting.name for setting in SETTINGS} | ELSEWHERE


def test_every_setting_is_documented() -> None:
    assert entries("settings.md") == [setting.name for setting in SETTINGS]


def start_codes() -> set[str]:
    script = (ROOT / "widget_sim" / "page" / "sdk.js").read_text()
    return set(re.findall(r'new StartError\(\s*"(\w+)"', script))


def test_every_code_is_documented() -> None:
    assert entries("codes.md") == [*sorted(set(Code) | set(MEANINGS) | start_codes()), "Close codes"]
    assert set(codes_page.START_CODES) == start_codes()


def test_every_code_has_its_owner_place_cause_and_remedy_in_the_page() -> None:
    rows = list(codes_page.rows())
    told = {code: notice for code, _, _, _, _, _, notice in rows}

    for code, of, phase, cause, remedy, again, _ in rows:
        assert set(of.split(", ")) <= {"script", "widget", "server"}, code
        assert phase in get_args(Phase), code
        assert cause.endswith((".", "!")), code
        assert remedy, code
        assert again in {"yes", "no"}, code
    assert told["popup_closed"] == "The sign-in window was closed."


def test_the_common_mistakes_are_named_by_codes_that_exist() -> None:
    page = text_of("common-mistakes.md")

    listed = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))

    assert listed
    assert listed <= set(Code) | set(MEANINGS) | start_codes()


def test_every_event_of_the_widget_is_documented_and_no_other() -> None:
    sources = [*(ROOT / "widget_sim" / "chatkey_widget").rglob("*.py"), ROOT / "widget_sim" / "page" / "sdk.js"]
    emitted = {name for file in sources for name in re.findall(r'\bemit\(\s*"([a-z:]+)"', file.read_text())}
    section = text_of("widget.md").partition("## Events")[2]

    assert set(re.findall(r"^\| `([a-z:]+)`", section, re.MULTILINE)) == emitted


def test_every_member_of_the_handle_is_documented() -> None:
    script = (ROOT / "widget_sim" / "page" / "sdk.js").read_text()
    handle = script.partition("const handle = Object.freeze({")[2].partition("\n  });")[0]
    members = set(re.findall(r"^    (?:get |async )?(\w+)(?=\(|: \()", handle, re.MULTILINE))
    section = text_of("widget.md").partition("## The handle")[2].partition("## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)

    assert {name for row in rows for name in re.findall(r"`(\w+)", row)} == members


# the labs


def lab_routes(app: Litestar) -> set[tuple[str, str]]:
    """Return the method and path of every route under /lab. The paths leave out the types of path parameters."""
    return {
        (method, re.sub(r":\w+}", "}", route.path))
        for route in app.routes
        for method in getattr(route, "methods", ())
        if route.path.startswith("/lab") and "schema" not in route.path and method not in {"OPTIONS", "HEAD"}
    }


def documented_routes(page: str) -> set[tuple[str, str]]:
    rows = re.findall(r"^\| ([A-Z, ]+) \| `(/lab[^`]*)` \|", text_of(page), re.MULTILINE)
    return {(method, path) for methods, path in rows for method in methods.split(", ")}


def test_every_route_of_the_services_lab_is_documented_and_no_other(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path, lab=True))

    assert documented_routes("harness.md") == lab_routes(app)


def test_every_route_of_the_fake_providers_lab_is_documented_and_no_other() -> None:
    endpoints = Control(create_fake(FakeSettings(lab=True))).endpoints

    assert documented_routes("fake-oauth-reference.md") == {(one.method, one.path) for one in endpoints}


# commands


def chatkey() -> dict[str, click.Command]:
    """Return the commands that pyproject.toml declares, by name."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["chatkey.commands"]
    return {name: cast("click.Command", EntryPoint(name, value, "").load()) for name, value in declared.items()}


def sessions() -> set[str]:
    """Return the names of the nox sessions, from the decorator's argument `name` or from the function."""
    body = ast.parse((ROOT / "noxfile.py").read_text()).body
    decorated = [
        (node.name, each) for node in body if isinstance(node, ast.FunctionDef) for each in node.decorator_list
    ]
    named = {
        name: next((ast.literal_eval(word.value) for word in each.keywords if word.arg == "name"), name)
        for name, each in decorated
        if isinstance(each, ast.Call)
    }
    return {named.get(name, name) for name, each in decorated if "nox.session" in ast.unparse(each)}


def spoken(page: Path) -> Iterator[list[str]]:
    """Yield every command line in the page's console blocks and inline code, as a list of words."""
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    quoted = [
        line for line in INLINE.findall(prose(page)) if re.match(r"(python -m )?nox -|chatkey |python tools/", line)
    ]
    for line in (*lines, *quoted):
        for part in line.replace("…", "X").split("&&"):
            words = shlex.split(part, comments=True)
            while words and re.match(r"[A-Z_]+=", words[0]):
                words.pop(0)
            if words:
                yield words


OF_ALL_COMMANDS = {"decisions.md", "threats.md", "CHANGELOG.md", "CONTRIBUTING.md"}
"""Pages whose sentences are about any command."""

PROGRAMS = {
    "chmod",
    "cp",
    "export",
    "mkdir",
    "sed",
    "set",
    "pip",
    "pipx",
    "uvx",
    "python",
    "python3",
    "nox",
    "pytest",
    "cd",
    "curl",
}


OTHERS = {
    **dict.fromkeys(("--connect-to", "--resolve"), "curl"),
    **dict.fromkeys(("--host", "--port"), "show-trace"),
    **dict.fromkeys(("--headless", "--processes"), "Locust"),
    **dict.fromkeys(("--agent", "--quick", "--times"), "benchmarks"),
}
"""Options of other programs in sentences: the page must name the program."""


def named(words: list[str]) -> click.Command:
    """Return the command that the words name, or the group of which they name no command."""
    command: click.Command = click.Group(commands=chatkey())
    for word in words:
        if not isinstance(command, click.Group) or word.startswith("-"):
            break
        command = command.commands[word]
    return command


def options_of(command: click.Command) -> set[str]:
    """Return the options of a command, or of all commands of a group."""
    if isinstance(command, click.Group):
        return set[str]().union(*map(options_of, command.commands.values()))
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


@pytest.fixture(scope="module")
def pytests() -> set[str]:
    """The options of pytest with the plugins that the pages name."""
    command = [sys.executable, "-m", "pytest", "--help", "-p", "playwright", "-p", "chatkey_e2e.plugin"]
    told = subprocess.run(command, cwd=ROOT / "docs", capture_output=True, text=True, check=True).stdout
    return {"--junitxml", *re.findall(r"(?<![\w-])--?[\w-]+", told)}  # an alias, which the help leaves out


@each_page
def test_every_option_in_a_sentence_belongs_to_a_command_that_the_page_names(page: Path, pytests: set[str]) -> None:
    lines = list(spoken(page))
    commands = [named(words) for program, *words in lines if program == "chatkey"]
    known = set[str]().union({"--"}, *map(options_of, commands))
    if page.name in OF_ALL_COMMANDS:
        known |= options_of(click.Group(commands=chatkey()))
    if any(program == "pytest" for program, *_ in lines) or chatkey()["e2e"] in commands:
        known |= pytests
    known |= {option for option, program in OTHERS.items() if program in page.read_text()}

    spans = (re.match(r"--[\w-]*", span) for span in INLINE.findall(prose(page)))

    assert {span[0] for span in spans if span} <= known


@each_page
def test_every_command_line_names_a_command_and_options_that_exist(page: Path, pytests: set[str]) -> None:
    for words in spoken(page):
        used = {word.partition("=")[0] for word in words if word.startswith("-")}
        match words:
            case ["chatkey", *rest]:
                command = named(rest)
                passes_on = command.context_settings.get("ignore_unknown_options")
                assert used <= options_of(command) | (pytests if passes_on else set()), words
            case ["pytest", *_]:
                assert used <= pytests | {"-n", "--splits", "--group", "--store-durations"}, words
            case ["nox", *rest] | ["python", "-m", "nox", *rest] if "-s" in rest:
                assert rest[rest.index("-s") + 1] in sessions(), words
            case ["python", "-u", script]:
                assert f"`{script}`" in page.read_text(), words
            case ["python", script, *_] if script.endswith(".py"):
                assert (ROOT / script).exists(), words
            case _:
                assert words[0].removeprefix("/opt/chatkey/bin/") in PROGRAMS, words


def test_every_session_of_nox_is_documented() -> None:
    listed = set(re.findall(r"^\| `nox -s ([\w-]+)`", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))

    assert listed == sessions()


# code blocks


def defined_in(module: str) -> set[str]:
    """Return the names that one of our modules defines or exports. The module is parsed and not imported."""
    name = "chatkey_stack.site.token_backend" if module == "token_backend" else module
    (path,) = ROOT.glob(f"*/{name.replace('.', '/')}.py")
    tree = ast.parse(path.read_text())
    assigned = [
        *(target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets),
        *(node.target for node in tree.body if isinstance(node, ast.AnnAssign)),
    ]
    exported = re.search(r"^__all__ = (\[.*?\])", path.read_text(), re.MULTILINE | re.DOTALL)
    return (
        {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        | {target.id for target in assigned if isinstance(target, ast.Name)}
        | set(ast.literal_eval(exported[1]) if exported else ())
    )


@each_page
def test_names_that_the_examples_import_from_chatkey_exist(page: Path) -> None:
    for text in blocks(page, "python"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("chatkey_", "token_backend")):
                named = {alias.name for alias in node.names} - {"*"}
                assert named <= defined_in(node.module or ""), node.module


QA = ("qa.md", "write-scenario.md", "run-scenarios.md", "your-project.md", "debug-scenario.md", "break-service.md")


def test_the_examples_for_qa_ask_for_fixtures_that_exist() -> None:
    fixtures = set(re.findall(r"^\| `(\w+)` \| (?:session|test) \|", text_of("harness.md"), re.MULTILINE))
    asked: set[Any] = {
        argument.arg
        for page in QA
        for text in blocks(ROOT / "docs" / page, "python")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        for argument in node.args.args
    }

    asked -= {"self"}  # of a method of a TestCase
    theirs = {"page", "context"}
    assert asked - theirs
    assert asked <= fixtures | theirs
    assert all(hasattr(pytest_playwright, name) for name in theirs)


# content that does not belong in a page


@each_page
def test_no_page_names_a_machine_or_a_registry(page: Path) -> None:
    forbidden = re.compile(r"/(?:home|root|tmp|work|Users)\b|pypi\.|artifactory|npmjs\.|localhost:\d{5}")

    assert not forbidden.findall(page.read_text())


# limits


def test_every_limit_has_its_consequence_in_the_page() -> None:
    rows = text_of("limits.md").partition("## Fixed limits")[0]

    assert set(limits_page.BEYOND) == {field.name for field in fields(Limits)}
    assert rows.count("\n| ") - 2 == len(limits_page.BEYOND)
