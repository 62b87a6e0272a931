"""The examples on the profile's pages must come from the real code. They must cover and match the declared frames."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import jwt
import pytest
from tools import examples, parts

from chatkey_protocol import frames, names
from chatkey_protocol.codes import Close, Code
from chatkey_protocol.frames import Kind
from chatkey_server.identity import keys, proofs, tokens
from chatkey_server.identity.tokens import Secrets

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join((DOCS / name).read_text() for name in ("protocol.md", "socket.md"))
MADE = examples.examples()
SECRETS = Secrets(examples.SECRET.encode())


def example_frames() -> dict[str, dict[str, Any]]:
    kinds = set(Kind)
    return {name: made for name, made in MADE.items() if isinstance(made, dict) and made.get("type") in kinds}


def test_the_page_has_exactly_what_the_code_makes() -> None:
    assert parts.named(PAGE, "example") == set(MADE)
    assert parts.filled(PAGE) == PAGE


@pytest.mark.parametrize("name", example_frames())
def test_an_example_has_the_members_of_one_frame_of_its_kind(name: str) -> None:
    frame = example_frames()[name]
    declared = [kind for kind in parts.frame_types() if parts.kind_of(kind) == frame["type"]]

    fitting = [
        kind
        for kind in declared
        if kind.__required_keys__ <= frame.keys() <= kind.__required_keys__ | kind.__optional_keys__
    ]

    assert len(fitting) == 1


def test_there_is_an_example_of_every_frame() -> None:
    shown = Counter(frame["type"] for name, frame in example_frames().items() if "error" not in name)
    declared = Counter(parts.kind_of(kind) for kind in parts.frame_types())
    del declared[Kind.ERROR]

    assert shown == declared
    assert set(declared) | {Kind.ERROR} == set(Kind)


def test_a_stored_message_has_the_members_that_the_page_names() -> None:
    answer: Any = MADE["history answer"]

    assert set(answer["messages"][0]) == set(frames.Entry.__annotations__)
    assert all(f"`{member}`" in PAGE for member in frames.Entry.__annotations__)


def test_the_key_and_its_thumbprint_belong_together() -> None:
    key: Any = MADE["key"]

    assert keys.read_jwk(key["jwk"]).jkt == key["jkt"]
    assert key["wf_visitor_uid"] == keys.visitor_uid(key["jkt"])


def test_the_proof_shown_is_one_that_the_server_accepts() -> None:
    connect: Any = MADE["connect"]
    jkt = examples.KEY.jkt

    proof = proofs.verify(
        connect["proof"],
        token=connect["token"],
        jkt=jkt,
        nonce=examples.NONCE,
        htu=examples.SOCKET_URI,
        now=examples.NOW,
    )

    assert proof.jkt == jkt
    assert jwt.get_unverified_header(connect["proof"]) == MADE["proof header"]


def test_the_tokens_shown_are_those_of_the_frames_and_answers() -> None:
    connect: Any = MADE["connect"]
    answer: Any = MADE["visitor token answer"]
    message: Any = MADE["message to the opener"]

    assert examples.claims(connect["token"]) == MADE["custom token"]
    assert examples.claims(answer["data"]["auth_token"]) == MADE["visitor token"]
    assert examples.claims(message["token"]) == MADE["identity token"]
    assert (
        tokens.read_socket_token(connect["token"], SECRETS, pid=examples.PID, now=examples.NOW).jkt == examples.KEY.jkt
    )


def test_every_close_code_is_in_its_table_and_no_other() -> None:
    listed = re.findall(r"^\| (\d{4}) \|", PAGE, re.MULTILINE)

    assert [int(code) for code in listed] == sorted(Close)


def test_the_order_of_checks_names_codes_that_exist_and_every_one_of_a_token_or_proof() -> None:
    section = PAGE.partition("## Order of checks")[2].partition("\n## ")[0]
    named = {word for word in re.findall(r"`([a-z_]+)`", section) if "_" in word} - {"invalid"}
    only_elsewhere = {Code.TOKEN_KEY_MISMATCH}  # only in the exchange, which opens no socket

    assert named <= set(Code)
    assert {code for code in Code if code.startswith(("token_", "proof_"))} - only_elsewhere == {
        word for word in named if word.startswith(("token_", "proof_"))
    }


def test_every_public_path_is_in_the_table_of_endpoints() -> None:
    paths = {value for name, value in vars(names).items() if name.endswith("_PATH") and name != "SOCKET_PATH"}

    assert set(re.findall(r"`(/v1/public/[^`]*)`", PAGE)) == paths
