"""`chatkey check`, aimed at the shop: the whole of it, with a browser of its own, over TLS."""

import os
import subprocess
import sys

import pytest

from chatkey_e2e.business import Business


@pytest.mark.contract("3/get-token", "3/reuse-across-loads", "3/renewal", "3/logout", "5.5/proof-matches")
def test_the_checker_finds_the_shops_endpoint_good_in_a_browser(business: Business) -> None:
    """The shop's own page with the strictest policy, its login form, and the service that runs."""
    shop, stack = business.url, business.stack
    environ = {**os.environ, "CHAT_SECRET": business.provider.secret_key}
    command = [sys.executable, "-m", "chatkey_server", "check", f"{shop}chat/token", "--browser", "--verbose"]
    command += ["--provider-id", business.provider.id, "--secret-env", "CHAT_SECRET", "--ca", str(stack.ca)]
    command += ["--login-url", f"{shop}login", "--login-field", "person=u-1001", "--page-url", f"{shop}?csp=strict"]
    command += ["--service-url", stack.service.browser_url, "--only", "e2e.*"]

    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert f'e2e.socket-accepts  ready as the member "u-1001", says {stack.service.browser_url}' in done.stdout
    assert 'e2e.widget-member  member "u-1001" on your page' in done.stdout
    assert "6 passed" in done.stdout
