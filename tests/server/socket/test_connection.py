"""Tests of the state machine of one socket (D-10), without a network: each way to connect, and each refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatkey_protocol.codes import Close, Code
from chatkey_protocol.frames import Kind
from chatkey_protocol.names import REVISION
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import Secrets, unverified
from chatkey_server.settings import Limits
from chatkey_server.socket.connection import State

NOW = 1_800_000_030.0
END_OF_NEXT_MINUTE = 1_800_000_120

Make = Any


def refusal(code: Code, close: Close, member: str | None = None) -> Any:
    """Return a context that expects a refusal with this code, close code and member."""

    def matches(refused: Refused) -> bool:
        return (refused.code, refused.meaning.close, refused.member) == (code, close, member)

    return pytest.RaisesExc(Refused, check=matches)


class TestHello:
    @pytest.mark.contract("D-10/hello")
    def test_hello_has_a_nonce_the_time_and_the_limits(self, make_peer: Make) -> None:
        peer = make_peer(limits=Limits(auth_timeout=7, ping=20))

        hello = peer.hello

        assert hello == {
            "type": "hello",
            "nonce": hello["nonce"],
            "server_time": int(NOW),
            "auth_timeout": 7,
            "ping": 20,
        }
        assert len(hello["nonce"]) >= 22

    def test_every_connection_has_a_nonce_of_its_own(self, make_peer: Make) -> None:
        assert len({make_peer().nonce for _ in range(100)}) == 100


class TestConnect:
    @pytest.mark.contract("2.3/uid-derived", "5.5/proof-matches", "D-10/ready")
    def test_a_visitor_is_ready_with_the_uid_of_his_key(self, peer: Make, browser: Make) -> None:
        ready = peer.join(browser.visitor_token())

        assert ready == {
            "type": "ready",
            "identity": "visitor",
            "uid": browser.uid,
            "expires_at": END_OF_NEXT_MINUTE,
            "server_time": int(NOW),
            "revision": REVISION,
        }
        assert peer.machine.state is State.READY

    @pytest.mark.parametrize(("make", "uid"), [("custom_token", "ann"), ("social_token", "google:7")])
    def test_a_member_is_ready_under_his_own_uid(self, peer: Make, browser: Make, make: str, uid: str) -> None:
        ready = peer.join(getattr(browser, make)())

        assert (ready["identity"], ready["uid"]) == ("member", uid)

    @pytest.mark.contract("7/proof-mismatch", "5.5/stolen-token")
    def test_a_stolen_token_with_another_key_is_refused(self, peer: Make, browser: Make, other_browser: Make) -> None:
        token = browser.custom_token()

        with refusal(Code.PROOF_KEY_MISMATCH, Close.FORBIDDEN, "jwk"):
            peer.connect(token, other_browser.proof(token, peer.nonce))

    @pytest.mark.contract("5.5/stolen-uid", "4.2/no-binding")
    def test_a_visitors_token_with_another_key_is_refused(self, peer: Make, browser: Make, other_browser: Make) -> None:
        token = browser.visitor_token()

        with refusal(Code.PROOF_KEY_MISMATCH, Close.FORBIDDEN, "jwk"):
            peer.connect(token, other_browser.proof(token, peer.nonce))

    @pytest.mark.contract("4.9/one-time")
    def test_a_proof_made_for_another_connection_is_refused(self, make_peer: Make, browser: Make) -> None:
        seen, peer = make_peer(), make_peer()
        token = browser.custom_token()
        proof = browser.proof(token, seen.nonce)
        seen.connect(token, proof)

        with refusal(Code.PROOF_NONCE, Close.NONCE, "nonce"):
            peer.connect(token, proof)

    def test_a_refused_proof_spends_the_nonce(self, peer: Make, browser: Make, other_browser: Make) -> None:
        token, nonce = browser.custom_token(), peer.nonce
        with refusal(Code.PROOF_KEY_MISMATCH, Close.FORBIDDEN, "jwk"):
            peer.connect(token, other_browser.proof(token, nonce))

        with refusal(Code.PROOF_NONCE, Close.NONCE, "nonce"):
            peer.connect(token, browser.proof(token, nonce))

    def test_a_proof_for_another_address_is_refused(self, peer: Make, browser: Make) -> None:
        token = browser.custom_token()

        with refusal(Code.PROOF_HTU, Close.FORBIDDEN, "htu"):
            peer.connect(token, browser.proof(token, peer.nonce, uri="wss://evil.test/v1/socket"))

    def test_a_proof_over_another_token_is_refused(self, peer: Make, browser: Make) -> None:
        with refusal(Code.PROOF_ATH, Close.FORBIDDEN, "ath"):
            peer.connect(browser.custom_token("ann"), browser.proof(browser.custom_token("bob"), peer.nonce))

    def test_a_token_under_another_secret_is_refused(self, make_peer: Make, make_provider: Make, browser: Make) -> None:
        peer = make_peer(provider=make_provider(secrets=Secrets(b"another secret key of thirty-two bytes and more")))

        with refusal(Code.TOKEN_SIGNATURE, Close.TOKEN, "signature"):
            peer.join(browser.custom_token())

    def test_an_expired_token_is_refused(self, peer: Make, browser: Make) -> None:
        with refusal(Code.TOKEN_EXPIRED, Close.TOKEN_EXPIRED, "exp"):
            peer.join(browser.custom_token(now=NOW - 3600))

    def test_a_widget_whose_clock_is_wrong_connects_and_its_skew_is_known(self, peer: Make, browser: Make) -> None:
        token = browser.custom_token()

        admitted = peer.admit(token, browser.proof(token, peer.nonce, now=NOW + 7200))

        assert peer.machine.state is State.READY
        assert admitted.skew == pytest.approx(7200)

    @pytest.mark.contract("D-10/checks")
    def test_the_first_failing_check_determines_the_refusal(
        self, make_peer: Make, make_provider: Make, browser: Make, other_browser: Make
    ) -> None:
        off = make_peer(provider=make_provider(enabled=False))
        token = browser.custom_token()
        faults = {
            Code.TOKEN_EXPIRED: (browser.custom_token(now=NOW - 9000), "no proof"),
            Code.PROOF_MALFORMED: (token, "no proof"),
            Code.PROOF_KEY_MISMATCH: (token, other_browser.proof("t", "n", uri="wss://x.test/")),
            Code.PROOF_NONCE: (token, browser.proof("t", "n", uri="wss://x.test/")),
        }
        told = {}
        for code, (sent, proof) in faults.items():
            with pytest.raises(Refused) as refused:
                off.connect(sent, proof)
            told[code] = refused.value.code

        assert told == {code: code for code in faults}


class TestProvider:
    def test_a_provider_that_is_switched_off_is_refused_last(
        self, make_peer: Make, make_provider: Make, browser: Make
    ) -> None:
        peer = make_peer(provider=make_provider(enabled=False))

        with refusal(Code.PROVIDER_OFF, Close.FORBIDDEN, "pid"):
            peer.join(browser.custom_token())

    @pytest.mark.contract("D-10/origin-restriction")
    @pytest.mark.parametrize(
        "origin", [None, "https://evil.test", "https://shop.test.evil.test", "https://shop.test:444"]
    )
    def test_a_provider_may_keep_its_socket_to_its_own_origins(
        self, make_peer: Make, make_provider: Make, browser: Make, origin: str | None
    ) -> None:
        peer = make_peer(origin=origin, provider=make_provider(restrict_socket_origins=True))

        with refusal(Code.ORIGIN_NOT_ALLOWED, Close.FORBIDDEN, "Origin"):
            peer.join(browser.custom_token())

    @pytest.mark.contract("D-10/origin-restriction")
    def test_its_own_origin_may_connect(self, make_peer: Make, make_provider: Make, browser: Make) -> None:
        peer = make_peer(origin="https://shop.test", provider=make_provider(restrict_socket_origins=True))

        assert peer.join(browser.custom_token())["uid"] == "ann"


class TestOrder:
    @pytest.mark.parametrize(
        "frame",
        [
            {"type": "message", "id": "m1", "body": "hi"},
            {"type": "history", "id": "h1"},
            {"type": "search", "id": "s1", "query": "x"},
            {"type": "call", "id": "c1", "action": "start"},
            {"type": "refresh", "token": "x"},
            {"type": "ping"},
        ],
        ids=lambda frame: frame["type"],
    )
    def test_frames_before_connect_are_refused(self, peer: Make, frame: dict[str, str]) -> None:
        with refusal(Code.FRAME_UNEXPECTED, Close.BAD_FRAME, "type"):
            peer.machine.receive(json.dumps(frame), NOW)

    def test_a_second_connect_is_refused(self, peer: Make, browser: Make) -> None:
        peer.join(browser.custom_token("ann"))
        token = browser.custom_token("bob")

        with refusal(Code.FRAME_UNEXPECTED, Close.BAD_FRAME, "type"):
            peer.connect(token, browser.proof(token, "n"))

    def test_a_connection_closed_while_the_provider_was_looked_up_does_not_become_ready(
        self, peer: Make, browser: Make
    ) -> None:
        token = browser.custom_token()
        frame = peer.machine.receive(peer.text(Kind.CONNECT, token=token, proof=browser.proof(token, peer.nonce)), NOW)
        peer.machine.close()

        with refusal(Code.FRAME_UNEXPECTED, Close.BAD_FRAME, "type"):
            peer.machine.connect(frame, unverified(token), peer.provider, NOW)
        assert peer.machine.state is State.CLOSED

    def test_a_ping_is_answered_with_the_time(self, peer: Make, browser: Make) -> None:
        peer.join(browser.custom_token())

        peer.machine.receive(peer.text(Kind.PING), NOW + 5)

        assert peer.machine.pong(NOW + 5) == {"type": "pong", "server_time": int(NOW) + 5}


class TestTime:
    @pytest.mark.contract("D-10/auth-timeout")
    def test_no_connect_in_time_is_refused(self, make_peer: Make) -> None:
        peer = make_peer(limits=Limits(auth_timeout=10))
        assert peer.machine.wakes_at == NOW + 10
        assert peer.machine.tick(NOW + 9.9) is None

        with refusal(Code.AUTH_TIMEOUT, Close.AUTH_TIMEOUT):
            peer.machine.tick(NOW + 10)

    def test_a_connect_that_comes_too_late_is_refused_even_before_the_timer_fires(
        self, peer: Make, browser: Make
    ) -> None:
        token = browser.custom_token()
        proof = browser.proof(token, peer.nonce)
        peer.now = NOW + 10

        with refusal(Code.AUTH_TIMEOUT, Close.AUTH_TIMEOUT):
            peer.connect(token, proof)

    @pytest.mark.contract("D-10/reauth")
    def test_a_newer_token_is_asked_for_once_before_the_end(self, peer: Make, browser: Make) -> None:
        peer.join(browser.custom_token())
        end = int(NOW) + 3600
        assert peer.machine.wakes_at == end - 30
        assert peer.machine.tick(end - 31) is None

        assert peer.machine.tick(end - 30) == {"type": "reauth", "deadline": end}
        assert peer.machine.tick(end - 29) is None
        assert peer.machine.wakes_at == end

    @pytest.mark.contract("D-10/reauth")
    def test_without_a_newer_token_the_connection_ends_with_the_token(self, peer: Make, browser: Make) -> None:
        peer.join(browser.custom_token())

        with refusal(Code.TOKEN_EXPIRED, Close.TOKEN_EXPIRED):
            peer.machine.tick(NOW + 3600)

    def test_a_frame_after_the_end_is_refused_even_before_the_timer_fires(self, peer: Make, browser: Make) -> None:
        peer.join(browser.custom_token())

        with refusal(Code.TOKEN_EXPIRED, Close.TOKEN_EXPIRED):
            peer.machine.receive(peer.text(Kind.PING), NOW + 3600)

    def test_a_token_that_ends_within_the_warning_is_asked_for_at_once(self, peer: Make, browser: Make) -> None:
        peer.join(browser.custom_token(lifetime=20))

        assert peer.machine.tick(NOW) == {"type": "reauth", "deadline": int(NOW) + 20}


class TestRefresh:
    @pytest.mark.contract("2.6/refresh", "D-10/refresh")
    @pytest.mark.parametrize("make", ["visitor_token", "custom_token", "social_token"])
    def test_a_newer_token_of_the_same_person_and_key_prolongs(self, peer: Make, browser: Make, make: str) -> None:
        mint = getattr(browser, make)
        peer.join(mint())
        peer.now = NOW + 50
        token = mint(now=peer.now)

        refreshed = peer.refresh(token)

        assert refreshed == {
            "type": "refreshed",
            "expires_at": int(peer.machine.ends_at),
            "server_time": int(NOW) + 50,
        }
        assert peer.machine.ends_at > NOW + 60

    def test_after_reauth_a_newer_token_starts_a_new_round(self, peer: Make, browser: Make) -> None:
        peer.join(browser.custom_token(lifetime=40))
        peer.now = NOW + 10
        assert peer.machine.tick(peer.now) is not None

        peer.refresh(browser.custom_token(now=peer.now))

        assert peer.machine.tick(peer.now) is None
        assert peer.machine.wakes_at == int(NOW) + 10 + 3600 - 30

    def test_an_older_token_changes_nothing(self, peer: Make, browser: Make) -> None:
        peer.join(browser.custom_token())

        refreshed = peer.refresh(browser.custom_token(lifetime=60))

        assert refreshed["expires_at"] == int(NOW) + 3600

    @pytest.mark.contract("D-10/refresh")
    @pytest.mark.parametrize(
        ("kind", "changed", "member"),
        [
            ("custom_token", {"uid": "bob"}, "uid"),
            ("custom_token", {"pid": "other"}, "pid"),
            ("visitor_token", {}, "type"),
            ("social_token", {}, "type"),
        ],
    )
    def test_a_token_of_another_identity_ends_the_connection(
        self, peer: Make, browser: Make, kind: str, changed: dict[str, str], member: str
    ) -> None:
        peer.join(browser.custom_token("ann"))

        with refusal(Code.IDENTITY_CHANGED, Close.IDENTITY_CHANGED, member):
            peer.refresh(getattr(browser, kind)(**changed))

    @pytest.mark.contract("D-10/refresh")
    def test_the_same_person_with_another_key_is_refused(self, peer: Make, browser: Make, other_browser: Make) -> None:
        peer.join(browser.custom_token("ann"))

        with refusal(Code.IDENTITY_CHANGED, Close.IDENTITY_CHANGED, "cnf.jkt"):
            peer.refresh(other_browser.custom_token("ann"))

    def test_a_provider_switched_off_meanwhile_ends_the_connection(
        self, peer: Make, make_provider: Make, browser: Make
    ) -> None:
        peer.join(browser.custom_token())
        peer.provider = make_provider(enabled=False)

        with refusal(Code.PROVIDER_OFF, Close.FORBIDDEN, "pid"):
            peer.refresh(browser.custom_token())

    def test_a_token_that_does_not_verify_is_refused(self, peer: Make, browser: Make) -> None:
        peer.join(browser.custom_token())
        token = browser.custom_token()

        with refusal(Code.TOKEN_SIGNATURE, Close.TOKEN, "signature"):
            peer.refresh(f"{token[:-6]}AAAAAA")

    def test_a_newer_token_may_be_as_long_as_the_first(self, make_peer: Make, browser: Make) -> None:
        token = browser.custom_token()
        peer = make_peer(limits=Limits(token_bytes=len(token)))
        peer.join(token)

        peer.refresh(token)
        with refusal(Code.TOKEN_TOO_LARGE, Close.TOKEN):
            peer.refresh(f"{token}A")


class TestRate:
    @pytest.mark.contract("D-10/rate")
    def test_one_frame_too_many_within_a_second_is_refused(self, make_peer: Make, browser: Make) -> None:
        peer = make_peer(limits=Limits(frames_per_second=5))
        peer.join(browser.custom_token())
        for _ in range(4):
            peer.machine.receive(peer.text(Kind.PING), NOW)

        with refusal(Code.RATE_LIMITED, Close.RATE_LIMITED):
            peer.machine.receive(peer.text(Kind.PING), NOW)

    def test_frames_within_the_rate_are_accepted(self, make_peer: Make, browser: Make) -> None:
        peer = make_peer(limits=Limits(frames_per_second=5))
        peer.join(browser.custom_token())

        for step in range(1, 101):
            peer.machine.receive(peer.text(Kind.PING), NOW + step / 5)

    def test_zero_means_no_limit(self, make_peer: Make, browser: Make) -> None:
        peer = make_peer(limits=Limits(frames_per_second=0))
        peer.join(browser.custom_token())

        for _ in range(1000):
            peer.machine.receive(peer.text(Kind.PING), NOW)
