"""Functions for the rows of `proof_verdicts.py`.

Each function makes a proof from a valid handshake, with one change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chatkey_conform.making.damage import PAYLOAD, Damage, Jws
from chatkey_conform.making.honest import Maker
from chatkey_conform.making.wrong_keys import Spelled
from chatkey_peer.key import BrowserKey, Json, b64, dumps, merged, unb64


@dataclass(frozen=True)
class Handshake:
    """The values for a valid proof. `htu` is the address of the socket."""

    key: BrowserKey
    token: str
    nonce: str
    htu: str
    now: float

    def prove(self, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """Return a valid proof, except for these changes to its header and claims."""
        given: Json = {"nonce": self.nonce, "htu": self.htu, **claims}
        return self.key.prove(token=self.token, now=self.now, header=header, **given)


Make = Callable[[Handshake], str]


def damaged(damage: Damage) -> Make:
    """Corrupt a valid proof. The corrupted text may be signed again with the same key."""
    return lambda handshake: damage.make(Jws(handshake.prove(), handshake.key.sign))


def sent(text: str) -> Make:
    """Use this text as the proof."""
    return lambda _: text


def claims(**changes: object) -> Make:
    """Change claims. A callable value gets the handshake. Marks such as `{host}` stand for parts of the `htu`."""
    return lambda handshake: handshake.prove(**filled(changes, handshake))


def filled(changes: Mapping[str, Any], handshake: Handshake) -> Json:
    """Call each callable value with the handshake, and replace the marks in strings."""
    known = {name: value(handshake) if callable(value) else value for name, value in changes.items()}
    parts = marks(handshake.htu)

    def written(value: Any) -> Any:
        for mark, part in parts.items() if isinstance(value, str) else ():
            value = value.replace(mark, part)
        return value

    return {name: written(value) for name, value in known.items()}


def marks(htu: str) -> dict[str, str]:
    """Return the marks and their values for a socket's address, such as ws://localhost:8800/v1/socket."""
    split = urlsplit(htu)
    folder, slash, file = split.path.rpartition("/")
    name = f"[{split.hostname}]" if ":" in (split.hostname or "") else split.hostname or ""
    port = f":{split.port}" if split.port else ""
    return {
        "{ws}": split.scheme,
        "{WS}": split.scheme.upper(),
        "{other}": {"ws": "wss", "wss": "ws"}[split.scheme],
        "{host}": split.netloc,
        "{name}": name,
        "{NAME}": name.upper(),
        "{port}": port,
        "{no-port}": "" if port else ":2",
        "{path}": split.path,
        "{folder}": folder,
        "{file}": slash + file,
        "{cut}": split.path[:-2],
        "{encoded}": f"{slash}%{ord(file[0]):02X}{file[1:]}" if file else f"{slash}%20",
    }


def header(**changes: object) -> Make:
    """Change members of the header."""
    return lambda handshake: handshake.prove(changes)


def jwk(**changes: object) -> Make:
    """Change members of the JWK in the header."""

    def make(handshake: Handshake) -> str:
        honest = handshake.key.jwk
        spelled = {
            name: change.spell(honest[name]) if isinstance(change, Spelled) else change
            for name, change in changes.items()
        }
        return handshake.prove({"jwk": merged(honest, spelled)})

    return make


def signature(change: Callable[[bytes], bytes]) -> Make:
    """Change the bytes of the signature."""

    def make(handshake: Handshake) -> str:
        signed, _, honest = handshake.prove().rpartition(".")
        return f"{signed}.{b64(change(unb64(honest)))}"

    return make


def over(signed: Callable[[str, str], bytes]) -> Make:
    """Sign the bytes that `signed` returns in place of the proof's header and payload."""

    def make(handshake: Handshake) -> str:
        head, body, _ = handshake.prove().split(".")
        return f"{head}.{body}.{b64(handshake.key.sign(signed(head, body)))}"

    return make


def unsigned(alg: object) -> Make:
    """Set `alg`, and leave the signature empty."""
    return lambda handshake: handshake.prove({"alg": alg}).rpartition(".")[0] + "."


def mac(alg: str, spell: Callable[[BrowserKey], bytes]) -> Make:
    """Set `alg`, and replace the signature with a MAC. `spell` derives the secret of the MAC from the public key."""

    def make(handshake: Handshake) -> str:
        signed = handshake.prove({"alg": alg}).rpartition(".")[0]
        return f"{signed}.{b64(Maker().mac(signed, spell(handshake.key)))}"

    return make


def public(encoding: Encoding) -> Callable[[BrowserKey], bytes]:
    """Return a function that serialises the public key as SubjectPublicKeyInfo."""
    return lambda key: key.private.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)


def exchanged(part: int) -> Make:
    """Replace the header or payload with that of another proof, and keep the signature."""

    def make(handshake: Handshake) -> str:
        mine, other = handshake.prove().split("."), handshake.prove({"more": 1}, more=1).split(".")
        return ".".join([*mine[:part], other[part], *mine[part + 1 :]])

    return make


def spaced(handshake: Handshake) -> str:
    """Write the claims as JSON with extra white space."""
    jws = Jws(handshake.prove(), handshake.key.sign)
    return jws.with_json(PAYLOAD, b" \n" + json.dumps(json.loads(jws.json(PAYLOAD)), indent=2).encode() + b"\r\n\t")


def x_twice(handshake: Handshake) -> str:
    """Write the member `x` of the JWK twice."""
    key = dumps(handshake.key.jwk)[:-1] + b',"x":"' + handshake.key.jwk["x"].encode() + b'"}'
    head = b'{"typ":"wf-proof+jwt","alg":"ES256","jwk":' + key + b"}"
    signed = f"{b64(head)}.{handshake.prove().split('.')[1]}"
    return f"{signed}.{b64(handshake.key.sign(signed.encode()))}"


def ath(spell: Callable[[bytes], str]) -> Make:
    """Set `ath` to the result of `spell` for the token."""
    return lambda handshake: handshake.prove(ath=spell(handshake.token.encode()))


def nonce(spell: Callable[[str], str]) -> Make:
    """Set `nonce` to the result of `spell` for the valid nonce."""
    return lambda handshake: handshake.prove(nonce=spell(handshake.nonce))


def der(raw: bytes) -> bytes:
    """Convert a raw signature to DER, the format that most libraries produce."""
    return encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
