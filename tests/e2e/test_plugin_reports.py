"""Tests of what the plugin saves and reports when a test fails."""

import zipfile

import pytest
from tests.e2e.stand_ins import kept, run

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.long


def test_a_test_that_passes_leaves_nothing_behind(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(new_context, stack):\n    new_context()")

    result.assert_outcomes(passed=1)
    assert kept(harness) == []


def test_a_failure_keeps_a_redacted_trace_a_screenshot_and_the_servers_output(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(new_context, stack):
            new_context()
            stack.servers[0].process.text = "socket.refused code=proof_ath"
            assert False
        """,
        *("--tracing", "retain-on-failure", "--screenshot", "only-on-failure"),
    )

    folder = "test-a-failure-keeps-a-redacted-trace-a-screenshot-and-the-servers-output-py-test-it-chromium"
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*output of service*",
            "socket.refused code=proof_ath",
            f"chatkey: show the trace with: *show-trace* *{folder}*.zip",
        ]
    )
    assert kept(harness) == [
        f"{folder}/{name}" for name in ("logins.txt", "servers.txt", "test-failed-1.png", "trace.zip")
    ]
    with zipfile.ZipFile(harness.path / "test-results" / folder / "trace.zip") as archive:
        assert archive.read("trace.network") == b"[redacted]"


@pytest.mark.contract("2.6/memory-only")
def test_no_report_of_a_failure_shows_a_token_or_secret(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        from conftest import TOKEN

        def test_it(new_context, witness, output_path, record_property):
            context = new_context(record_har_path="seen.har")
            witness.secrets.add("the-secret-key")
            print(f"said {TOKEN} and the-secret-key")
            record_property("token", TOKEN)
            with open("seen.har", "w") as har:
                har.write(TOKEN)
            assert f"{TOKEN} the-secret-key" == "x"
        """,
        *("--junitxml=junit.xml", "-p", "metadata", "-p", "html", "--html=report.html", "--self-contained-html", "-l"),
    )

    result.assert_outcomes(failed=1)
    written = [path for path in harness.path.rglob("*") if path.is_file() and path.suffix in {".xml", ".html", ".har"}]
    shown = [result.stdout.str(), *(path.read_text() for path in written)]
    assert len(written) == 3
    assert [
        text for text in shown if "eyJhbGciOi" in text or "said the-secret-key" in text or "and the-secret" in text
    ] == []
    assert all("[redacted]" in text for text in shown)
    assert "chatkey_logins" in (harness.path / "junit.xml").read_text()


def test_a_run_that_is_interrupted_leaves_no_secret_either(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pathlib

        def test_it(new_context, witness, output_path):
            witness.secrets.add("the-secret-key")
            folder = pathlib.Path(output_path)
            folder.mkdir(parents=True)
            (folder / "the-secret-key.txt").write_text("it is the-secret-key")
            (folder / "cut-short.zip").write_bytes(b"PK the-secret-key")
            raise KeyboardInterrupt
        """,
    )

    assert result.ret == pytest.ExitCode.INTERRUPTED
    (left,) = (harness.path / "test-results").rglob("*.*")
    assert (left.name, left.read_text()) == ("[redacted].txt", "it is [redacted]")


@pytest.mark.parametrize(
    ("options", "snapshots"),
    [
        (("--tracing", "retain-on-failure"), True),
        (("--tracing", "retain-on-failure", "--chatkey-traces", "steps"), False),
        (("--tracing", "on", "--chatkey-traces", "steps"), True),
    ],
    ids=["full", "steps", "on is full"],
)
def test_a_trace_holds_the_pages_unless_the_steps_are_enough(
    harness: pytest.Pytester, options: tuple[str, ...], snapshots: bool
) -> None:
    code = f"""
        def test_it(new_context, stack):
            assert new_context().tracing.options.get("snapshots", False) is {snapshots}
    """

    run(harness, code, *options).assert_outcomes(passed=1)


@pytest.mark.contract("2.6/memory-only")
def test_a_secret_in_a_servers_output_fails_the_test_and_is_not_shown(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(new_context, witness, stack):
            new_context()
            witness.secrets.add("the-secret-key")
            stack.servers[0].process.text = "oops the-secret-key"
        """,
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*a secret leaked:*", "*a secret of the business in service's output*"])
    result.stdout.no_fnmatch_line("*oops the-secret-key*")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ((), ["logins.txt", "servers.txt", "test-failed-1.png", "trace.zip"]),
        (("--tracing=off", "--screenshot", "off"), ["logins.txt", "servers.txt"]),
        (("--tracing", "off"), ["logins.txt", "servers.txt", "test-failed-1.png"]),
        (("-n1",), ["logins.txt", "servers.txt", "test-failed-1.png", "trace.zip"]),
        (("-n1", "--tracing=off", "--screenshot=off"), ["logins.txt", "servers.txt"]),
    ],
    ids=["default", "both off", "no trace", "worker", "worker, both off"],
)
def test_a_failure_keeps_a_trace_and_a_screenshot_unless_the_project_decides_otherwise(
    harness: pytest.Pytester, options: tuple[str, ...], names: list[str]
) -> None:
    """Only for tests that use the harness: the others keep what pytest-playwright's options say."""
    result = run(
        harness,
        """
        def test_ours(new_context, stack):
            new_context()
            stack.servers[0].process.text = "socket.refused"
            assert False

        def test_theirs(new_context):
            new_context()
            assert False
        """,
        *("-p", "xdist", *options),
    )

    result.assert_outcomes(failed=2)
    assert [name.rpartition("/")[2] for name in kept(harness)] == names


def test_an_output_folder_that_cannot_be_written_is_told(harness: pytest.Pytester) -> None:
    (harness.path / "results").write_text("a file, not a folder")

    result = run(
        harness,
        """
        def test_it(new_context, stack):
            stack.servers[0].process.text = "socket.refused"
            assert 1 == 2
        """,
        *("--output", "results/here", "--tracing=off", "--screenshot=off"),
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2", "*servers not saved*", "*Choose a folder with --output.*"])
