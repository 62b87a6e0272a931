"""The channels of a deployment are its own."""

from __future__ import annotations

from chatkey_server.chat.seal import Seal

ONE, OTHER = b"k" * 32, b"t" * 32


def test_each_key_has_names_of_its_own_and_always_the_same() -> None:
    assert Seal([ONE, OTHER]).names("a") == Seal([ONE]).names("a") + Seal([OTHER]).names("a")
    assert Seal([ONE]).names("a") != Seal([OTHER]).names("a")
    assert Seal([ONE]).names("a") != Seal([ONE]).names("b")


def test_a_name_begins_with_the_deployments_own_prefix_and_says_nothing_of_whose_it_is() -> None:
    seal = Seal([ONE])

    (name,) = seal.names("customer:prov:custom:ann")

    assert name.startswith(f"{seal.prefixes[0]}:")
    assert "ann" not in name
