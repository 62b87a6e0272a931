"""Checks that our sources import only what the layout of the components allows."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOMES = {
    "chatkey": ROOT / "server" / "chatkey",
    "chatkey_server": ROOT / "server" / "chatkey_server",
    "chatkey_assets": ROOT / "widget_sim" / "chatkey_assets",
    "chatkey_protocol": ROOT / "widget_sim" / "chatkey_protocol",
    "chatkey_widget": ROOT / "widget_sim" / "chatkey_widget",
    "chatkey_oauth": ROOT / "fake_oauth" / "chatkey_oauth",
    "chatkey_e2e": ROOT / "e2e" / "chatkey_e2e",
    "chatkey_check": ROOT / "e2e" / "chatkey_check",
    "chatkey_conform": ROOT / "e2e" / "chatkey_conform",
    "chatkey_load": ROOT / "e2e" / "chatkey_load",
    "chatkey_peer": ROOT / "e2e" / "chatkey_peer",
    "chatkey_demo": ROOT / "demo" / "chatkey_demo",
    "chatkey_stack": ROOT / "e2e" / "chatkey_stack",
    "chatkey_serving": ROOT / "server" / "chatkey_serving",
    "chatkey_lab": ROOT / "server" / "chatkey_lab",
}
OURS_ALLOWED = {
    "chatkey": set[str](),
    "chatkey_assets": set[str](),
    "chatkey_protocol": set[str](),
    "chatkey_widget": {"chatkey_protocol"},
    "chatkey_lab": set[str](),
    "chatkey_serving": {"chatkey_protocol"},
    "chatkey_server": {"chatkey", "chatkey_assets", "chatkey_protocol", "chatkey_lab", "chatkey_serving"},
    "chatkey_oauth": {"chatkey_protocol", "chatkey_lab", "chatkey_serving"},
    "chatkey_stack": {"chatkey_protocol", "chatkey_lab", "chatkey_serving", "chatkey_oauth"},
    "chatkey_demo": {"chatkey_protocol", "chatkey_serving", "chatkey_stack", "chatkey_oauth"},
    "chatkey_peer": {"chatkey_protocol", "chatkey_stack"},
    "chatkey_check": {"chatkey_protocol", "chatkey_stack", "chatkey_oauth", "chatkey_peer"},
    "chatkey_conform": {"chatkey_protocol", "chatkey_stack", "chatkey_peer"},
    "chatkey_load": {"chatkey_protocol", "chatkey_stack", "chatkey_peer"},
    "chatkey_e2e": {"chatkey_protocol", "chatkey_stack", "chatkey_oauth", "chatkey_peer", "chatkey_conform"},
}
PAGE_ONLY = {"js", "pyodide", "pyodide_js"}
RULES_ALLOWED = {"cryptography", "idna", "msgspec"}


def modules(package: str) -> Iterator[Path]:
    return HOMES[package].rglob("*.py")


def imported(module: Path) -> Iterator[str]:
    """Yield the absolute name of every module that a file imports, including imports inside functions."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            yield node.module or ""


def roots(module: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported(module)}


@pytest.mark.parametrize("package", HOMES)
def test_a_component_imports_only_the_components_below_it(package: str) -> None:
    wrong = {
        str(module.relative_to(ROOT)): found
        for module in modules(package)
        if (found := roots(module) & HOMES.keys() - OURS_ALLOWED[package] - {package})
    }

    assert not wrong


def test_what_is_installed_without_extras_needs_only_itself() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    base = {Path(package).name for package in wheel["packages"]}

    assert base == {package for package in base if OURS_ALLOWED[package] <= base}


@pytest.mark.parametrize("package", ["chatkey", "chatkey_oauth", "chatkey_check", "chatkey_peer", "chatkey_serving"])
def test_the_fake_and_the_checks_need_only_what_is_installed_without_extras(package: str) -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    installed = {re.split(r"[^\w-]", each)[0] for each in needed} | {"markupsafe"}  # Jinja brings it
    optional = {"playwright", "pytest", "uvloop", "websockets"}

    for module in modules(package):
        assert roots(module) <= sys.stdlib_module_names | HOMES.keys() | installed | optional, module


@pytest.mark.parametrize("package", ["chatkey_stack", "chatkey_demo", "chatkey_e2e", "chatkey_check"])
def test_other_components_import_only_the_client_of_the_fake_provider(package: str) -> None:
    known = {name for module in modules(package) for name in imported(module) if name.startswith("chatkey_oauth")}

    assert known == {"chatkey_oauth.client"}


def test_the_guard_of_labs_needs_nothing_but_the_standard_library() -> None:
    others = {"faults.py": {"msgspec"}, "checked_request.py": {"litestar"}}
    for module in modules("chatkey_lab"):
        assert roots(module) <= sys.stdlib_module_names | {"chatkey_lab"} | others.get(module.name, set()), module


@pytest.mark.parametrize("package", ["chatkey_protocol", "chatkey_widget"])
def test_code_for_the_page_imports_only_the_standard_library(package: str) -> None:
    allowed = sys.stdlib_module_names | OURS_ALLOWED[package] | {package}

    for module in modules(package):
        extra = PAGE_ONLY if module.is_relative_to(HOMES["chatkey_widget"] / "browser") else set()
        assert roots(module) <= allowed | extra, module


def test_the_identity_package_imports_no_framework() -> None:
    allowed = sys.stdlib_module_names | RULES_ALLOWED | {"chatkey_protocol"}

    for module in (HOMES["chatkey_server"] / "identity").glob("*.py"):
        assert roots(module) - {"chatkey_server"} <= allowed, module
        assert all(
            name.startswith("chatkey_server.identity") for name in imported(module) if name.startswith("chatkey_server")
        ), module


@pytest.mark.parametrize("component", ["server", "widget_sim", "fake_oauth", "e2e", "demo"])
def test_component_folders_are_no_packages(component: str) -> None:
    assert not (ROOT / component / "__init__.py").exists()
    assert not (ROOT / component / "conftest.py").exists()


def test_the_linter_knows_every_component() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (circles,) = (contract for contract in linter["contracts"] if contract["id"] == "circles")

    assert HOMES.keys() <= set(linter["root_packages"])
    assert circles["ancestors"] == linter["root_packages"]


@pytest.mark.parametrize("tool", ["ruff", "import-linter"])
def test_the_pre_commit_hooks_use_the_versions_of_the_lint_session(tool: str) -> None:
    locked = re.search(rf"^{tool}==(\S+)", (ROOT / "requirements" / "checks.txt").read_text(), re.MULTILINE)
    hooks = re.findall(rf"\[{tool}==(\S+?)\]", (ROOT / ".pre-commit-config.yaml").read_text())

    assert locked is not None
    assert set(hooks) == {locked[1]}
