# /// script
# dependencies = ["nox[uv]"]
# ///
"""All sessions of this project: `python -m nox` runs the checks, `python -m nox -s demo` starts the demo.

The block above makes a plain `nox` fetch uv and run itself again with uv.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import nox

ROOT = Path(__file__).parent
COMPONENTS = ("server", "widget_sim", "fake_oauth", "e2e", "demo")
PROJECTS = (ROOT, ROOT / "kit")
"""The folders of the distributions: `chatkey`, and `chatkey-kit` with what only its extras need."""
TYPED = (*COMPONENTS, "tests", "benchmarks", "tools", "noxfile.py", "hatch_build.py", "kit")
PYPI_PEER = "oidc-provider-mock==0.3.4"  # 0.4 brings httpx2, which Authlib takes before httpx
BENCHES = ("boot", "tokens", "connect", "fan-out", "fake-oauth", "suite", "hosts")
CHECKS = ("lint", "typing", "tests", "e2e", "build", "docs")
LONG_CHECKS = ("long", "e2e-long", "mutants", "firefox", "webkit")
"""Checks too long for the default run. `all` leaves out `firefox-long`, `coverage`, `mutation`, `newest`, `lowest` and
`upcoming`."""

OF_DOCS, OF_WEBKIT = "tests/docs", "tests/webkit"
"""Folders of tests, each run by the session of the same name."""
BUILD_SITE = "from pathlib import Path; from chatkey_build import pack_site; print(pack_site(Path.cwd()))"
PARALLEL = ("--numprocesses=auto", "--dist=loadscope", f"--ignore={OF_WEBKIT}", "tests")
SHORT = ("-m", "not long")

MANY_AT_ONCE = ("--numprocesses=6", "--dist=worksteal", f"--ignore={OF_WEBKIT}", "tests")
"""Long tests wait most of the time, for deadlines, servers and browsers: several fit on one processor."""

TWO_AT_ONCE = ("--numprocesses=2",)
"""Scenarios also wait most of the time. Each process has its own servers and its own browser."""

OLDEST_PYTHON, NEWEST_PYTHON = "3.11", "3.15"
"""The oldest and the newest Python on which all dependencies are known to work."""

WITHOUT_WIDGET = ("test_admin_panel.py", "test_check.py", "test_demo.py", "test_social_lab.py")
"""Scenarios of pages other than the widget's. They run in one browser only."""

WEBKIT = ("WebKitWebDriver", "Xvfb")
"""The programs of Debian's WebKitGTK driver, which Playwright cannot use, and of its virtual screen."""

INSTALL_BROWSER = ("chatkey", "browser", "--install")
NO_BROWSER = 8
"""Exit status of `chatkey browser --install` if it cannot get a browser."""

KNOWN_TO_BREAK = ("httpx",)
"""Packages that `upcoming` keeps within their bounds. httpx 1.0.dev6 has no transports, and respx needs them."""

FLAKY = ROOT / ".nox" / "flaky.txt"
"""Lists the tests of this run that failed at first and passed when run alone."""

NOT_OURS = ("--no-emit-package", "chatkey-kit")
"""Keeps our own distribution, which no index has before a release, out of a list of requirements."""

REINSTALL = ("--reinstall-package=chatkey", "--reinstall-package=chatkey-kit")
"""Every build has the same version, so an installed one would be kept."""

_built: list[Path] = []
"""The wheels built in this run, if any."""

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Sessions start hundreds of Python processes. With this variable, each of them would compile its imports again."""

for name in ("REQUESTS_CA_BUNDLE", "PIP_CERT"):
    if bundle := os.environ.get(name):
        os.environ.setdefault("SSL_CERT_FILE", bundle)  # uv reads only this one

FLAKY.unlink(missing_ok=True)

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = CHECKS


@nox.session(name="all", venv_backend="none")
def everything(session: nox.Session) -> None:
    """All checks, including those that take long."""
    for name in (*CHECKS, *LONG_CHECKS, "flaky"):
        session.notify(name)


@nox.session(venv_backend="none")
def flaky(session: nox.Session) -> None:
    """List the tests of this run that failed at first and passed when run alone."""
    session.run("python", "tools/run_tests.py", "--report", str(FLAKY))


@nox.session
def lint(session: nox.Session) -> None:
    """Style and format (ruff), and the allowed imports between packages (import-linter)."""
    _install(session, "dev", "checks")
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check")
    session.run("lint-imports", "--no-logo", env={"PYTHONPATH": os.pathsep.join(COMPONENTS)})


@nox.session
def typing(session: nox.Session) -> None:
    """Types: mypy in strict mode, pyright, and TypeScript for the scripts of our pages."""
    _install(session, "dev", "checks", "load", "mutation")
    session.run("mypy", *TYPED)
    session.run("pyright", "--pythonpath", str(Path(session.bin) / "python"))
    session.run("python", "-m", "tools.check_scripts")


@nox.session
def tests(session: nox.Session) -> None:
    """Our own tests, on SQLite and on PostgreSQL, except the long ones."""
    _install(session, "dev")
    _install_project(session)
    _test(session, "pytest", *(session.posargs or (*SHORT, f"--ignore={OF_DOCS}", *PARALLEL)))


@nox.session(name="long")
def long_ones(session: nox.Session) -> None:
    """Our own tests that take too long for the default run. Installs a Chromium if there is none."""
    _install(session, "dev", "load")
    _install_project(session)
    _install_browser(session)
    _test(session, "pytest", "-m", "long", f"--ignore={OF_DOCS}", *MANY_AT_ONCE)


@nox.session(name="e2e-long")
def long_scenarios(session: nox.Session) -> None:
    """The browser scenarios that take too long for the default run. Installs a Chromium if there is none."""
    _install(session, "dev")
    _install_project(session)
    _install_browser(session)
    _test(session, "chatkey", "e2e", "-m", "long", *TWO_AT_ONCE)


@nox.session
def coverage(session: nox.Session) -> None:
    """Our own tests, which must cover every branch of the rules, the socket, the public endpoints and the widget."""
    _install(session, "dev")
    _install_project(session)
    if not session.posargs:
        _install_browser(session)
    session.run("pytest", "--cov", "--cov-report=term-missing:skip-covered", *(session.posargs or PARALLEL))


@nox.session
def newest(session: nox.Session) -> None:
    """Our own tests on the newest Python. Skipped if this Python is not installed."""
    python = _python(NEWEST_PYTHON)
    if python is None:
        session.skip(f"Python {NEWEST_PYTHON} is not on this machine: `uv python install {NEWEST_PYTHON}` brings it")
    _tests_elsewhere(session, python, ROOT / "requirements" / "dev.txt")


@nox.session
def lowest(session: nox.Session) -> None:
    """Our own tests with the lowest versions that pyproject.toml allows."""
    _tests_elsewhere(session, str(Path(session.bin) / "python"), ROOT / "requirements" / "lowest.txt")


@nox.session
def upcoming(session: nox.Session) -> None:
    """Our own tests with the newest versions, pre-releases too, whatever bounds pyproject.toml sets. Reports both."""
    session.install("uv")
    project = nox.project.load_toml("pyproject.toml")
    extras = project["project"]["optional-dependencies"]
    asked = [*project["project"]["dependencies"], *(name for extra in extras for name in extras[extra])]
    room = _beside(session, "lists")
    room.mkdir(exist_ok=True)
    listed = [line for line in [*asked, *project["dependency-groups"]["dev"]] if not line.startswith(KNOWN_TO_BREAK)]
    unbounded = (re.sub(r",?<[\w.]+", "", line) for line in listed)
    (room / "unbounded.txt").write_text("\n".join(line for line in unbounded if not line.startswith("chatkey")))
    newest = (
        "--prerelease=allow",
        "--override",
        str(room / "unbounded.txt"),
        "--generate-hashes",
        "--quiet",
        *NOT_OURS,
    )
    whole = ("pyproject.toml", "--extra", "all", "--group", "dev", "--no-header", "--no-annotate")
    session.run("uv", "pip", "compile", *newest, *whole, "-o", str(room / "upcoming.txt"))
    versions = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
    locked = versions.findall((ROOT / "requirements" / "dev.txt").read_text())
    for name, version in versions.findall((room / "upcoming.txt").read_text()):
        if (name, version) not in locked:
            others = " or ".join(old for same, old in locked if same == name)
            session.log(f"{name} {version} instead of {others or 'none'}")
    _tests_elsewhere(session, str(Path(session.bin) / "python"), room / "upcoming.txt")


@nox.session
def e2e(session: nox.Session) -> None:
    """Browser scenarios over TLS and WSS, except long ones. Installs a Chromium. Arguments go to `chatkey e2e`."""
    _install(session, "dev")
    _install_project(session)
    if not any(argument.startswith("--browser") for argument in session.posargs):
        _install_browser(session)
    _test(session, "chatkey", "e2e", *(session.posargs or (*SHORT, *TWO_AT_ONCE)))


@nox.session
def firefox(session: nox.Session) -> None:
    """The widget's scenarios in Firefox, except the long ones. Installs a Firefox if there is none."""
    _in_firefox(session, SHORT)


@nox.session(name="firefox-long")
def long_in_firefox(session: nox.Session) -> None:
    """The widget's long scenarios in Firefox, which needs twice as long as Chromium."""
    _in_firefox(session, ("-m", "long"))


@nox.session
def webkit(session: nox.Session) -> None:
    """The most important widget tests in WebKitGTK, over WebDriver. Skipped if the driver is not installed."""
    if not all(map(shutil.which, WEBKIT)):
        session.skip("WebKitGTK is left out: `apt-get install webkit2gtk-driver xvfb` brings its driver and a screen")
    _install(session, "dev")
    _install_project(session)
    _test(session, "pytest", OF_WEBKIT, *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Feed the server's readers random input for one minute, or for ten minutes with `nox -s fuzz -- 600`."""
    _install(session, "dev")
    _install_project(session)
    session.run("python", "-m", "tests.server.properties.kit.fuzz", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Break server and widget in one place at a time; a test must fail. `-- oauth` selects mutants by name."""
    _install(session, "dev")
    _install_project(session)
    session.run("python", "-m", "tools.mutants", *session.posargs)


@nox.session
def mutation(session: nox.Session) -> None:
    """Change the rules, the socket and the widget in every way mutmut knows; takes an hour. Names choose mutants."""
    _install(session, "dev", "checks", "mutation")
    _install_project(session)
    session.run("python", "-m", "tools.mutation", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build wheels and sdists, install the wheels in an empty environment, and start their programs."""
    wheels = _build(session, ROOT / "dist")
    _try(session, wheels, wheels, str(Path(session.bin) / "python"))


@nox.session
def wheels(session: nox.Session) -> None:
    """Build the wheels into dist/, for `pip install` before the first release."""
    _build(session, ROOT / "dist", "--wheel")
    session.log(f"pip finds the wheels after: export PIP_FIND_LINKS={ROOT / 'dist'}")


@nox.session
def release(session: nox.Session) -> None:
    """Make the files of a release in dist/ from the last commit, and try them. Publishes nothing.

    Two builds, in two clones, must be identical. Wheels and source distributions are tried on the oldest and the newest
    Python. One more file, `chatkey-<version>.cdx.json`, lists what the release contains and installs.
    """
    session.install("uv")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    room = Path(session.create_tmp())
    made = str(session.run("git", "log", "-1", "--format=%ct", external=True, silent=True)).strip()
    oldest, latest = _needed_python(session, OLDEST_PYTHON), _needed_python(session, NEWEST_PYTHON)
    for name in ("first", "second"):
        shutil.rmtree(room / name, ignore_errors=True)
        session.run("git", "clone", "--quiet", str(ROOT), str(room / name), external=True)
        build = ("uv", "build", "--python", oldest, "--out-dir", str(room / name / "dist"))
        for project in PROJECTS:
            place = str(room / name / project.relative_to(ROOT))
            session.run(*build, place, env={"SOURCE_DATE_EPOCH": made}, silent=True)
    shutil.copytree(room / "first" / "dist", ROOT / "dist", ignore=shutil.ignore_patterns(".gitignore"))
    wheels, sdists = (sorted((ROOT / "dist").glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    for file in (*wheels, *sdists):
        if file.read_bytes() != (room / "second" / "dist" / file.name).read_bytes():
            session.error(f"two builds of {file.name} differ: compare the files of that name below {room}")
    for python in (oldest, latest):
        for files in (sdists, wheels):
            fresh = _try(session, files, wheels, python)
    session.run("uv", "tool", "run", "--from", str(wheels[0]), "chatkey", "--version")
    session.run(fresh, "tools/sbom.py", *map(str, wheels), external=True)


def _try(session: nox.Session, files: Sequence[Path], wheels: Sequence[Path], python: str) -> str:
    """Install chatkey in an empty environment, first alone and then with all extras, and check it. Return this Python.

    `files` and `wheels` have chatkey first, and chatkey-kit second.
    """
    fresh = Path(session.create_tmp()) / "fresh"
    session.run("uv", "venv", "--quiet", "--clear", "--python", python, str(fresh))
    python = str(fresh / ("Scripts" if os.name == "nt" else "bin") / "python")
    install = ("uv", "pip", "install", "--quiet", "--python", python)
    base = ("--compile-bytecode", "--constraint", "requirements/run.txt")  # compiled, as pip does
    session.run(*install, *base, str(files[0]))
    session.run(python, "-m", "tools.check_base", external=True)
    session.run(*install, "--constraint", "requirements/run.txt", f"chatkey[all] @ {files[0].as_uri()}", str(files[1]))
    session.run(python, "tools/check_wheel.py", *map(str, wheels), external=True)
    return python


@nox.session
def docs(session: nox.Session) -> None:
    """Check that generated pages are up to date, and that every link, name and command in the documentation works.

    `-- --write` updates the generated pages, and `-- --site` builds the site for `chatkey docs` in this checkout.
    """
    _install(session, "dev")
    if "--site" in session.posargs:
        session.run("python", "-c", BUILD_SITE, env={"PYTHONPATH": "widget_sim:server"})
        return
    _install_project(session)
    if session.posargs:
        session.run("python", "-m", "tools.generate_docs", *session.posargs)
    _test(session, "pytest", OF_DOCS)


@nox.session
def demo(session: nox.Session) -> None:
    """Start the demo with all four identity modes on this machine. Passes arguments to `chatkey demo`."""
    _install(session, "run")
    _install_project(session)
    session.run("chatkey", "demo", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Benchmarks: `boot`, `tokens`, `connect`, `fan-out`, `fake-oauth`, `suite` and `hosts`, or only the named ones.

    `boot` and `suite` need a browser, `hosts` needs root. Other arguments are passed on: `-- hosts --quick
    redis-killed`.
    """
    session.env["UV_COMPILE_BYTECODE"] = "1"  # as pip does: otherwise each start of a server would compile again
    _install(session, "dev")
    _install_project(session)
    words = [word for word in session.posargs if word not in BENCHES]
    names = [name for name in BENCHES if name in session.posargs] or BENCHES
    if "fake-oauth" in names:
        session.install(PYPI_PEER)
    if {"boot", "suite"} & set(names):
        _install_browser(session)
    for name in names:
        session.run("python", "-m", f"benchmarks.{name.replace('-', '_')}", *words)


@nox.session
def load(session: nox.Session) -> None:
    """Load test with Locust on a new server with PostgreSQL and Redis, or on another: `-- --host https://…`."""
    _install(session, "dev", "load")
    _install_project(session)
    session.run("python", "-m", "benchmarks.load", *session.posargs)


@nox.session
def lock(session: nox.Session) -> None:
    """Rewrite requirements/*.txt: exact versions with hashes, without index addresses."""
    session.install("uv")
    listed = ("--quiet", "--universal", "--generate-hashes", "--no-emit-index-url", "--no-annotate", "--no-header")
    common = (*listed, *NOT_OURS)
    whole = ("pyproject.toml", "--extra", "all")
    for name, sources in {
        "dev": (*whole, "--group", "dev"),
        "run": ("--constraint", "requirements/dev.txt", *whole),
        "checks": ("--group", "checks"),
        "load": ("--constraint", "requirements/dev.txt", "pyproject.toml", "--extra", "load"),
        "mutation": (*(f"--constraint=requirements/{name}.txt" for name in ("dev", "checks")), "--group", "mutation"),
        "lowest": ("--resolution", "lowest-direct", *whole, "--group", "dev"),
    }.items():
        session.run("uv", "pip", "compile", *common, "--upgrade", *sources, "-o", f"requirements/{name}.txt")


def _test(session: nox.Session, *command: str) -> None:
    """Run tests. If the session has no arguments, failed tests are run once more, alone."""
    again = () if session.posargs else ("python", "tools/run_tests.py", str(FLAKY))
    session.run(*again, *command)


def _in_firefox(session: nox.Session, usual: tuple[str, ...]) -> None:
    """Run the widget's scenarios in Firefox, with the arguments of the command line or else `usual`."""
    _install(session, "dev")
    _install_project(session)
    said = str(session.run(*INSTALL_BROWSER, "firefox", silent=True, success_codes=(0, NO_BROWSER))).splitlines()
    if not said[-1].startswith("found"):
        session.skip("the scenarios in Firefox are left out: " + " ".join(said))
    widgets = f"not ({' or '.join(WITHOUT_WIDGET)})"
    chosen = session.posargs or (*usual, *TWO_AT_ONCE)
    _test(session, "chatkey", "e2e", "--browser", "firefox", "-k", widgets, *chosen)


def _tests_elsewhere(session: nox.Session, python: str, versions: Path) -> None:
    """Run our own tests in an environment with another Python or other versions of the dependencies."""
    session.install("uv")
    home = _beside(session, "environment")
    session.run("uv", "venv", "--quiet", "--clear", "--python", python, str(home))
    at = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = ("uv", "pip", "install", "--quiet", "--python", str(at))
    session.run(*install, "--require-hashes", "-r", str(versions))
    session.run(*install, "--no-deps", *REINSTALL, *map(str, PROJECTS))
    if not session.posargs:
        session.run(str(at.with_name("chatkey")), *INSTALL_BROWSER[1:], external=True)
    session.run(str(at), "-m", "pytest", *(session.posargs or PARALLEL), external=True)


def _beside(session: nox.Session, name: str) -> Path:
    """Return the path of a folder in the session's environment.

    `session.create_tmp` would be the `TMPDIR` of tests, too. There, pytest reads our settings.
    """
    return Path(session.bin).parent / name


def _python(version: str) -> str | None:
    """Return the path of this Python. Look in pyenv's folder first; its shims exist even for unusable versions."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    kept_by_pyenv = sorted(kept.glob(f"{version}.*/bin/python"))
    if kept_by_pyenv:
        return str(kept_by_pyenv[-1])
    return shutil.which(f"python{version}")


def _needed_python(session: nox.Session, version: str) -> str:
    """Return the path of this Python, or end the session."""
    python = _python(version)
    if python is None:
        session.error(f"Python {version} is not on this machine: `uv python install {version}` brings it")
    return python


def _install(session: nox.Session, *names: str) -> None:
    for name in names:
        session.install("--require-hashes", "-r", f"requirements/{name}.txt")


def _install_browser(session: nox.Session) -> None:
    """Install Chromium if there is none: Playwright's own build, or else, for root, Debian's package."""
    session.run(*INSTALL_BROWSER)


def _install_project(session: nox.Session) -> None:
    # Install the wheels, not the checkout, to test what users get.
    session.install("--no-deps", *REINSTALL, *map(str, _wheels(session)))


def _wheels(session: nox.Session) -> list[Path]:
    """Return the wheels of this checkout, built once for all sessions of a run."""
    if not _built:
        _built.extend(_build(session, session.cache_dir / "wheel", "--wheel"))
    return _built


def _build(session: nox.Session, to: Path, *options: str) -> list[Path]:
    """Build the distributions into the folder `to`, and return the wheels. Only a build that fails prints output."""
    session.install("uv")
    shutil.rmtree(to, ignore_errors=True)
    for project in PROJECTS:
        session.run("uv", "build", *options, "--out-dir", str(to), str(project), silent=True)
    return sorted(to.glob("*.whl"))
