"""Tests of the stack's three servers: a common start, a common clock, and a complete stop."""

from pathlib import Path

import httpx
import pytest

from chatkey_stack.patience import PATIENCE
from chatkey_stack.process import ProcessError
from chatkey_stack.stack import Flavour, running
from chatkey_stack.tls import trust

pytestmark = pytest.mark.long

LAB_TOKEN = "a-token-of-the-labs-0123"


@pytest.mark.contract("D-13/clock", "D-14/lab-token")
@pytest.mark.parametrize("flavour", [Flavour.PLAIN, Flavour.TLS])
def test_all_clocks_move_together_with_the_token_of_the_labs_and_every_server_ends(
    tmp_path: Path, flavour: Flavour
) -> None:
    with running(flavour, folder=tmp_path, lab_token=LAB_TOKEN) as stack:
        ca = stack.certificates.ca if stack.certificates else None
        refused = [
            httpx.get(f"{server.local_url}/lab/clock", verify=trust(ca), trust_env=False, timeout=PATIENCE)
            for server in stack.servers
        ]
        before = stack.service_lab.now()
        stack.advance(86_400)
        moved = [lab.advance(0) for lab in (stack.service_lab, stack.provider_lab, stack.site_lab)]
        stack.reset()
        after = stack.service_lab.now()

    assert [answer.status_code for answer in refused] == [401, 401, 401]
    assert max(moved) - min(moved) < 1
    assert (moved[0] >= before + 86_400, after < before + 60) == (True, True)
    assert not [server for server in stack.servers if server.process.running]


def test_a_setting_the_service_refuses_is_shown_with_its_own_words(tmp_path: Path) -> None:
    with (
        pytest.raises(ProcessError, match=r"service ended before it was ready[\s\S]*CHATKEY_LIMIT_TOKEN_RATE"),
        running(Flavour.PLAIN, folder=tmp_path, settings={"CHATKEY_LIMIT_TOKEN_RATE": "many"}),
    ):
        pass
