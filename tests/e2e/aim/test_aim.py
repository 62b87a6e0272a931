"""Tests of `chatkey e2e --target` with our own service as the target."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.e2e.aim.foreign import foreign

from chatkey_conform.target import TargetError
from chatkey_e2e.aim.aim import take_aim

WRONG = "not the secret of this business, in 32 bytes"
TARGET = """
[target]
name = "A service"
base_url = "https://chat.example:8443"
local_url = "https://10.0.0.7"
have = ["search"]
[businesses]
grade = "prepared"
[[businesses.prepared]]
id = "prov_1"
secret_key_env = "SECRET_OF_1"
origins = ["https://shop.example", "https://shop.localhost:9443"]
"""


def e2e(target: Path, *more: str, secrets: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    """Run `chatkey e2e --target` in the folder of the TARGET.toml."""
    command = [sys.executable, "-m", "chatkey", "e2e", "--target", str(target), *more]
    environ = {**os.environ, **secrets}
    return subprocess.run(command, cwd=target.parent, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_a_service_with_two_businesses_made_by_hand_passes_and_the_clock_is_not_applicable(tmp_path: Path) -> None:
    """The test runs the smoke, a social login, a scenario in which the front proxy loses an acknowledgement, and a
    scenario that needs a clock.
    """
    with foreign(tmp_path) as service:
        chosen = "any_widget and (first_open or signs_in or click or acknowledgement or minute)"
        done = e2e(service.by_hand(), "-k", chosen, secrets=service.secrets)

    assert "Ours, as somebody else's: 4 passed, 0 failed, 1 not applicable" in done.stdout, done.stdout
    assert "1 skipped not applicable: clock" in done.stdout
    assert done.returncode == 0


@pytest.mark.long
def test_a_service_with_a_lab_has_agents_and_is_started_anew(tmp_path: Path) -> None:
    """The service's lab acts as the agent. The restart command of the TARGET.toml runs while a widget is connected."""
    with foreign(tmp_path) as service:
        chosen = "(any_widget and (first_open or agent)) or agent_ends or restart_of"
        done = e2e(service.by_lab(), "-k", chosen)

    assert "Ours, as somebody else's: 5 passed, 0 failed, 0 not applicable" in done.stdout, done.stdout
    assert done.returncode == 0


@pytest.mark.long
def test_where_the_smoke_fails_the_run_ends_and_says_where_to_look(tmp_path: Path) -> None:
    """The secret of the business is wrong, so the server refuses the member. No other scenario may run."""
    with foreign(tmp_path) as service:
        target = service.by_hand()
        wrong = dict.fromkeys(service.secrets, WRONG)
        done = e2e(target, "--patience", "8", "-k", "any_widget", secrets=wrong)

    assert "the smoke test" in done.stdout, done.stdout
    assert WRONG not in done.stdout
    assert done.returncode != 0


def test_browsers_reach_front_and_shops_under_any_host_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_1", "s" * 32)
    path = tmp_path / "TARGET.toml"
    path.write_text(TARGET)

    aim = take_aim(path)

    (rules,) = aim.browser_args
    shop, other = aim.sites.values()
    assert rules == (
        f"--host-resolver-rules=MAP chat.example:8443 127.0.0.1:{aim.front_port},"
        f"MAP shop.example:443 127.0.0.1:{shop},MAP shop.localhost:9443 127.0.0.1:{other}"
    )
    assert aim.script_url == "https://chat.example:8443/assets/sdk.js"
    assert aim.have == {"search", "faults", "widget-events", "widget-texts", "widget-languages"}


def test_a_target_with_its_own_widget_has_declared_capabilities_and_its_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_1", "s" * 32)
    path = tmp_path / "TARGET.toml"
    path.write_text(f'{TARGET}\n[widget]\nscript_url = "https://widget.example/w.js"\n')

    aim = take_aim(path)

    assert (aim.script_url, aim.brings_files) == ("https://widget.example/w.js", False)
    assert aim.have == {"search", "faults"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('have = ["search"]', 'have = ["saerch"]', "did you mean 'search'"),
        ('grade = "prepared"', 'grade = "by-hand"', "by-hand"),
    ],
    ids=["capability", "grade"],
)
def test_a_file_that_cannot_be_used_is_told_before_anything_starts(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = tmp_path / "TARGET.toml"
    path.write_text(TARGET.replace(old, new))

    with pytest.raises(TargetError, match=said):
        take_aim(path)
