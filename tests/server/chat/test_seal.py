"""Tests of a deployment's channel names and sealed payloads. Only processes with the key can make or read them."""

from __future__ import annotations

import pytest

from chatkey_server.chat import seal as seal_module
from chatkey_server.chat.seal import Seal

ONE, OTHER = b"k" * 32, b"t" * 32


def test_the_names_of_a_channel_depend_on_the_key_and_are_stable() -> None:
    assert Seal([ONE, OTHER]).names("a") == Seal([ONE]).names("a") + Seal([OTHER]).names("a")
    assert Seal([ONE]).names("a") != Seal([OTHER]).names("a")
    assert Seal([ONE]).names("a") != Seal([ONE]).names("b")


def test_a_channel_name_has_the_prefix_of_the_deployment_and_reveals_no_person() -> None:
    seal = Seal([ONE])

    (name,) = seal.names("customer:prov:custom:ann")

    assert name.startswith(f"{seal.prefixes[0]}:")
    assert "ann" not in name


def test_a_payload_sealed_by_one_session_can_be_opened_by_others_of_the_deployment() -> None:
    old, both, new = Seal([ONE]), Seal([ONE, OTHER]), Seal([OTHER])

    sealed = [both.close(b"first"), both.close(b"second")]

    assert [old.open(one) for one in sealed] == [(both.session, 0, b"first"), (both.session, 1, b"second")]
    assert [both.open(one) for one in sealed] == [old.open(one) for one in sealed]
    assert [new.open(one) for one in sealed] == [None, None]
    assert both.open(new.close(b"third")) == (new.session, 0, b"third")


def test_no_byte_can_be_changed_and_no_two_payloads_have_one_key_and_nonce() -> None:
    seal, other = Seal([ONE]), Seal([ONE])
    sealed = seal.close(b"payload")

    changed = [sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :] for at in range(len(sealed))]
    cut = [sealed[:at] for at in range(len(sealed))]

    assert {other.open(one) for one in (*changed, *cut, sealed + b"x")} == {None}
    assert len({one[:28] for one in (sealed, seal.close(b"payload"), Seal([ONE]).close(b"payload"))}) == 3


def test_the_number_of_kept_session_keys_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal_module, "MOST_SESSIONS", 3)
    seal = Seal([ONE])

    for number in range(10):
        assert seal.open(Seal([ONE]).close(b"hello")) is not None
        assert seal.open(seal.close(b"own")) == (seal.session, number, b"own")

    assert len(seal._ciphers) <= 3
