"""Tokens whose form is right and whose payload is not: its JSON, and each claim (RFC 7519, contract 2.4 and 2.5)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from doors import AuthDoor, Door, SocketDoor
    from honest import Json, Maker
    from shipped import Service
    from shop import Shop

    Spoil = Callable[[bytes], bytes]

HOUR = 3600


# the JSON


def with_member(text: str) -> Spoil:
    """Add a member, written as it is, at the end of the object."""
    return lambda payload: payload[:-1] + b"," + text.encode() + b"}"


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda _: b"[]", id="JWT-085-array"),
        pytest.param(lambda _: b'"x"', id="JWT-085-string"),
        pytest.param(lambda _: b"1", id="JWT-085-number"),
        pytest.param(lambda _: b"null", id="JWT-085-null"),
        pytest.param(lambda _: b"", id="JWT-085-empty"),
        pytest.param(lambda payload: payload + b"}", id="JWT-086"),
        pytest.param(lambda payload: b"\xef\xbb\xbf" + payload, id="JWT-088"),
        pytest.param(lambda payload: payload.decode().encode("utf-16"), id="JWT-089-utf-16"),
        pytest.param(lambda payload: payload.decode().encode("utf-16-le"), id="JWT-089-utf-16-le"),
        pytest.param(lambda payload: payload.decode().encode("utf-32"), id="JWT-089-utf-32"),
        pytest.param(lambda payload: payload.replace(b"Ada", b"\xff\xfe"), id="JWT-090"),
        pytest.param(lambda payload: payload.replace(b"Ada", b"\\ud800"), id="JWT-091"),
        pytest.param(with_member(r'"uid":"customer-8"'), id="JWT-094-plain"),
        pytest.param(with_member(r'"u\u0069d":"customer-8"'), id="JWT-094"),
        pytest.param(with_member(r'"x":{"a":1,"a":2}'), id="JWT-094-inside"),
        pytest.param(with_member('"x":NaN'), id="JWT-096-nan"),
        pytest.param(with_member('"x":Infinity'), id="JWT-096-infinity"),
        pytest.param(with_member('"x":-Infinity'), id="JWT-096-minus-infinity"),
        pytest.param(with_member('"x":1e400'), id="JWT-097-beyond-a-double"),
        pytest.param(with_member(f'"x":{"7" * 5000}'), id="JWT-097-5000-digits"),
        pytest.param(with_member(f'"x":{"[" * 2500}{"]" * 2500}'), id="JWT-098-2500-levels"),
        pytest.param(with_member(f'"x":{"[" * 33}{"]" * 33}'), id="JWT-098-34-levels"),
    ],
)
def test_a_payload_is_one_strict_json_object(door: Door, make: Maker, spoil: Spoil) -> None:
    """F111: a name that stands twice would have two readers see two values."""
    payload = make.dumps(door.claims())

    door.accept(door.shop.sign(payload))
    door.refuse(door.shop.sign(spoil(payload)), "token_malformed")


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(with_member(f'"x":{"[" * 100_000}{"]" * 100_000}'), id="JWT-098"),
        pytest.param(with_member(",".join(f'"x{number}":1' for number in range(100_000))), id="JWT-099"),
    ],
)
def test_a_payload_beyond_all_bounds_is_refused_by_its_size(
    service: Service, shop: Shop, make: Maker, spoil: Spoil
) -> None:
    payload = make.dumps(shop.claims())
    token = shop.sign(spoil(payload))

    assert service.try_token(shop.sign(payload), shop.key).granted
    with service.socket() as peer:
        peer.say({"type": "connect", "token": token, "proof": "x"})
        ended = peer.end()

    assert (ended.frames, ended.close) == ([], 1009)


@pytest.mark.row("JWT-087")
@pytest.mark.parametrize(
    "spaced",
    [
        lambda payload: payload + b" ",
        lambda payload: payload + b"\n",
        lambda payload: b"\t" + payload + b"\r\n",
        lambda payload: payload.replace(b",", b",\n  ").replace(b"{", b"{\n  "),
    ],
    ids=["space", "newline", "around", "pretty"],
)
def test_white_space_around_json_is_json(door: Door, make: Maker, spaced: Spoil) -> None:
    door.accept(door.shop.sign(spaced(make.dumps(door.claims()))))


@pytest.mark.row("JWT-095", "JWT-137", "JWT-140")
@pytest.mark.contract("D-20/passed-over")
def test_claims_of_other_peoples_are_passed_over(door: Door, row: str) -> None:
    """F111: claims that are not known are ignored."""
    claims: Json = {
        "JWT-095": {"__proto__": {"uid": "root"}, "constructor": {"prototype": {}}, "toString": "x"},
        "JWT-137": {"sub": 7, "jti": 7, "iss": ["https://issuer.example"]},
        "JWT-140": {"role": "admin", "admin": True, "is_agent": True, "scope": "agent"},
    }[row]

    door.accept(door.shop.sign(door.claims(**claims)))


@pytest.mark.row("JWT-140")
def test_nobody_becomes_an_agent_by_a_claim(service: Service, shop: Shop) -> None:
    ended = service.try_token(shop.token(role="agent", admin=True, is_agent=True), shop.key)

    assert (ended.last["identity"], ended.last["uid"]) == ("member", "customer-7")


@pytest.mark.row("JWT-136")
@pytest.mark.contract("D-20/passed-over")
@pytest.mark.parametrize("aud", ["somebody-else", ["a", "b"], 7])
def test_an_audience_is_passed_over(door: Door, aud: object) -> None:
    """F111: the contract gives `aud` no meaning."""
    door.accept(door.shop.sign(door.claims(aud=aud)))


# each claim: its presence, type and bounds

MISSING = object()


def each(row: str, claim: str, **values: object) -> list[Any]:
    """Return a case for each of these values of a claim; `MISSING` leaves it out."""
    return [pytest.param({claim: value}, claim, id=f"{row}-{name}") for name, value in values.items()]


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        *each("JWT-100", "exp", missing=MISSING),
        *each("JWT-101", "exp", string="1795174498"),
        *each("JWT-105", "exp", negative=-1),
        *each("JWT-106", "exp", null=None, true=True, list=[9_999_999_999], object={}),
        *each("JWT-108", "exp", ten_to_the_30=10**30, ten_to_the_400=10**400, eleven_digits=10**10),
        *each("JWT-113", "iat", missing=MISSING),
        *each("JWT-119", "pid", missing=MISSING, number=7, list=["a"], null=None),
        *each("JWT-122", "uid", missing=MISSING, empty="", null=None, number=42, list=["a"], true=True),
        *each("JWT-123", "uid", chars_256="u" * 256),
        *each("JWT-092", "uid", nul="a\0b", newline="a\nb", delete="a\x7fb"),
        *each("JWT-128", "type", missing=MISSING, list=["user"], null=None),
        *each("JWT-138", "name", chars_256="n" * 256, number=7),
    ],
)
def test_a_claim_is_there_and_has_its_type_and_bounds(
    door: Door, make: Maker, changes: dict[str, Any], member: str
) -> None:
    """F058, F105, F107: the member is named, whatever is wrong with it."""
    changes = {name: make.removed if value is MISSING else value for name, value in changes.items()}

    door.accept(door.shop.sign(door.claims()))
    told = door.refuse(door.shop.sign(door.claims(**changes)), "token_claims")

    assert told["member"] == member
    assert f"claim {member} " in told["message"]


@pytest.mark.parametrize(
    ("literal"),
    [pytest.param("1e10", id="JWT-104-exponent"), pytest.param("1900000000.0", id="JWT-104-fraction")],
)
def test_a_time_is_written_as_an_integer(door: Door, make: Maker, literal: str) -> None:
    """F058: a fraction is refused as well; there is no mode that would let it pass."""
    payload = make.dumps(door.claims(exp=0)).replace(b'"exp":0', b'"exp":' + literal.encode())

    door.accept(door.shop.sign(door.claims()))
    told = door.refuse(door.shop.sign(payload), "token_claims")

    assert told["member"] == "exp"


@pytest.mark.row("JWT-108")
def test_milliseconds_are_told_from_seconds(door: Door) -> None:
    """F057: the cause is named."""
    told = door.refuse(door.shop.sign(door.claims(exp=door.shop.now * 1000)), "token_claims")

    assert (told["member"], told["cause"]) == ("exp", "exp looks like milliseconds; write seconds")


@pytest.mark.row("JWT-138")
def test_a_name_is_text_whatever_it_looks_like(service: Service, shop: Shop) -> None:
    name = '<img src=x onerror="alert(1)">'

    assert service.try_token(shop.token(name=name), shop.key).granted
    assert shop.exchange(shop.identity_token(name=name)).status_code == 200
    assert service.try_token(shop.token(name="n" * 10_000), shop.key).refusal == ("token_too_large", 4401)


@pytest.mark.row("JWT-123")
def test_a_uid_of_255_characters_is_accepted_and_one_of_10_kb_is_not(service: Service, shop: Shop) -> None:
    """F105: a `uid` has its bound."""
    assert service.try_token(shop.token(uid="u" * 255), shop.key).granted
    assert service.try_token(shop.token(uid="u" * 10_000), shop.key).refusal == ("token_too_large", 4401)


# times


@pytest.mark.parametrize(
    ("times", "code", "member"),
    [
        pytest.param(lambda now: {"iat": now - HOUR, "exp": 0}, "token_expired", "exp", id="JWT-105-zero"),
        pytest.param(lambda now: {"iat": now - HOUR, "exp": now}, "token_expired", "exp", id="JWT-109"),
        pytest.param(lambda now: {"iat": now - HOUR, "exp": now - 1}, "token_expired", "exp", id="JWT-110"),
        pytest.param(lambda now: {"iat": now, "exp": now + 48 * HOUR}, "token_claims", "exp", id="JWT-111"),
        pytest.param(lambda now: {"iat": now + 50, "exp": now + 40}, "token_claims", "exp", id="JWT-112"),
        pytest.param(
            lambda now: {"iat": now + HOUR, "exp": now + 2 * HOUR}, "token_not_yet_valid", "iat", id="JWT-115"
        ),
        pytest.param(lambda now: {"nbf": now + 600}, "token_not_yet_valid", "nbf", id="JWT-117"),
    ],
)
def test_a_token_counts_in_its_time(door: Door, times: Callable[[int], dict[str, int]], code: str, member: str) -> None:
    door.accept(door.shop.sign(door.claims()))

    told = door.refuse(door.shop.sign(door.claims(**times(door.shop.now))), code)

    assert told["member"] == member


@pytest.mark.row("JWT-105")
def test_a_lifetime_is_told_from_a_time(door: Door) -> None:
    told = door.refuse(door.shop.sign(door.claims(iat=0, exp=3600)), "token_expired")

    assert told["cause"] == "exp looks like a lifetime; write the time of expiry"


@pytest.mark.row("JWT-111")
def test_a_custom_token_lives_two_hours_at_most(socket_door: SocketDoor) -> None:
    """F059: a day is too long for a token that anybody could copy."""
    now = socket_door.shop.now

    socket_door.accept(socket_door.shop.token(iat=now, exp=now + 7200))
    for lifetime in (7201, 24 * HOUR):
        told = socket_door.refuse(socket_door.shop.token(iat=now, exp=now + lifetime), "token_claims")
        assert told["message"] == f"The token's claim exp is {lifetime} s after iat; up to 7200 s are accepted here."


@pytest.mark.row("JWT-114")
@pytest.mark.parametrize("ahead", [2, 30, 59])
def test_a_clock_that_is_a_little_ahead_is_honest(door: Door, ahead: int) -> None:
    """F054: up to a minute."""
    now = door.shop.now

    door.accept(door.shop.sign(door.claims(iat=now + ahead, nbf=now + ahead)))


@pytest.mark.row("JWT-115")
def test_a_clock_that_is_ten_minutes_ahead_is_told_by_how_much(door: Door) -> None:
    """F054: the message has the difference, and says whose clock it is."""
    now = door.shop.now

    told = door.refuse(door.shop.sign(door.claims(iat=now + 600, nbf=now + 600, exp=now + 1800)), "token_not_yet_valid")

    ahead = re.search(r"iat lies (\d+) s ahead of this server's clock; set the clock that made it", told["message"])
    assert ahead is not None
    assert 595 <= int(ahead[1]) <= 600


# which business


@pytest.mark.row("JWT-120")
def test_a_token_for_another_business_is_refused(service: Service, door: Door) -> None:
    """F045: the widget does not send it; the server would refuse it."""
    other = service.shop()
    forged = door.shop.sign(door.claims(pid=other.id))

    door.accept(door.shop.sign(door.claims()))
    # The socket finds the secret by the pid, the endpoint by its path.
    door.refuse(forged, "token_signature" if door.name == "socket" else "token_provider")


@pytest.mark.row("JWT-121")
@pytest.mark.parametrize(
    "bent",
    [str.upper, lambda pid: pid + " ", lambda pid: unicodedata.normalize("NFD", pid + "é")],
    ids=["case", "space", "nfd"],
)
def test_a_pid_is_compared_byte_by_byte(service: Service, door: Door, bent: Callable[[str], str]) -> None:
    door.accept(door.shop.sign(door.claims()))

    told = door.refuse(
        door.shop.sign(door.claims(pid=bent(door.shop.id))),
        "provider_unknown" if door.name == "socket" else "token_provider",
    )

    assert told["member"] == "pid" or door.name == "socket"


# who


def says(service: Service, shop: Shop, uid: str, body: str | None = None) -> list[str]:
    """Connect as the member `uid`, say something, and return what this conversation holds before."""
    with service.socket() as peer:
        token = shop.token(uid=uid)
        ready = peer.connect(token, peer.prove(shop.key, token))
        assert ready.last["uid"] == uid
        entries = peer.ask({"type": "history", "id": "h"})["messages"]
        if body is not None:
            assert peer.ask({"type": "message", "id": "m", "body": body})["type"] == "ack"
        return [entry["body"] for entry in entries]


@pytest.mark.row("JWT-125")
@pytest.mark.parametrize(
    ("one", "other"),
    [("caf\u00e9", "cafe\u0301"), ("Ada", "ada"), ("ada", "\u0430d\u0430"), ("ada", "ada ")],
    ids=["nfc-nfd", "case", "homoglyph", "space"],
)
def test_uids_that_look_alike_are_two_people(service: Service, one: str, other: str) -> None:
    """F105: compared byte by byte, and never evened out."""
    shop = service.shop()

    says(service, shop, one, "mine")

    assert says(service, shop, other, "theirs") == []
    assert says(service, shop, one) == ["mine"]
    assert sorted(member["uid"] for member in service.lab.members(shop.id)) == sorted([one, other])


@pytest.mark.row("JWT-127")
def test_a_member_called_like_a_visitor_does_not_see_the_visitors_conversation(service: Service) -> None:
    shop = service.shop()
    token = shop.visitor_token()
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).last["uid"] == shop.key.uid
        assert peer.ask({"type": "message", "id": "m", "body": "a secret"})["type"] == "ack"

    assert says(service, shop, shop.key.uid, "hello") == []
    assert says(service, shop, shop.key.uid) == ["hello"]


@pytest.mark.parametrize(
    "type_",
    [
        pytest.param("agent", id="JWT-128-agent"),
        pytest.param("admin", id="JWT-128-admin"),
        pytest.param("User", id="JWT-128-case"),
        pytest.param("USER", id="JWT-128-capitals"),
        pytest.param("user ", id="JWT-128-space"),
        pytest.param("", id="JWT-128-empty"),
    ],
)
def test_a_token_of_an_unknown_kind_is_refused(door: Door, type_: str) -> None:
    """F107: letter case counts."""
    door.accept(door.shop.sign(door.claims()))

    assert door.refuse(door.shop.sign(door.claims(type=type_)), "token_type")["member"] == "type"


@pytest.mark.row("JWT-128")
def test_the_kind_visitor_is_signed_with_the_minute_and_never_with_the_secret(
    socket_door: SocketDoor, make: Maker
) -> None:
    """F107: nobody signs a visitor's token but the service."""
    shop = socket_door.shop

    socket_door.refuse(shop.token(type="visitor"), "token_signature")
    claims = shop.visitor_claims()
    socket_door.accept(shop.sign(claims, key=make.minute_key(shop.secret, claims["iat"])))


# the binding


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"cnf": None}, id="JWT-130-null"),
        pytest.param({"cnf": MISSING}, id="JWT-130-missing"),
        pytest.param({"cnf": "{jkt}"}, id="JWT-130-string"),
        pytest.param({"cnf": '{{"jkt":"{jkt}"}}'}, id="JWT-130-json-in-a-string"),
        pytest.param({"cnf": ["{jkt}"]}, id="JWT-130-array"),
        pytest.param({"cnf": 7}, id="JWT-130-number"),
        pytest.param({"cnf": {}}, id="JWT-131-missing"),
        pytest.param({"cnf": {"jkt": ""}}, id="JWT-131-empty"),
        pytest.param({"cnf": {"jkt": None}}, id="JWT-131-null"),
        pytest.param({"cnf": {"jkt": ["{jkt}"]}}, id="JWT-131-array"),
        pytest.param({"cnf": {"jkt": 7}}, id="JWT-131-number"),
        pytest.param({"cnf": {"jkt": "{jkt}="}}, id="JWT-131-padded"),
        pytest.param({"cnf": {"jkt": "abc"}}, id="JWT-131-short"),
        pytest.param({"cnf": {"cnf": {"jkt": "{jkt}"}}}, id="JWT-132-nested"),
        pytest.param({"cnf": MISSING, "jkt": "{jkt}"}, id="JWT-132-top-level"),
        pytest.param({"cnf": MISSING, "cnf.jkt": "{jkt}"}, id="JWT-132-dotted-name"),
    ],
)
def test_a_member_without_a_bound_key_is_refused(socket_door: SocketDoor, make: Maker, changes: dict[str, Any]) -> None:
    """F104: missing, empty, flat, or of another form: 4403."""
    jkt = socket_door.shop.key.jkt

    socket_door.accept(socket_door.shop.token())
    told = socket_door.refuse(socket_door.shop.token(**filled(changes, jkt, make.removed)), "proof_binding_missing")

    assert told["member"] == "cnf.jkt"
    assert "getToken" in told["message"]


def filled(value: Any, jkt: str, removed: object) -> Any:
    """Write the thumbprint into a case."""
    if isinstance(value, dict):
        return {name: filled(part, jkt, removed) for name, part in value.items()}
    if isinstance(value, list):
        return [filled(part, jkt, removed) for part in value]
    if value is MISSING:
        return removed
    return value.format(jkt=jkt) if isinstance(value, str) else value


@pytest.mark.row("JWT-131")
def test_an_identity_token_with_a_broken_binding_is_refused(auth_door: AuthDoor) -> None:
    auth_door.accept(auth_door.shop.identity_token())
    for cnf in ("x", {}, {"jkt": ""}, {"jkt": 7}):
        auth_door.refuse(auth_door.shop.identity_token(cnf=cnf), "proof_binding_missing")


@pytest.mark.row("JWT-135")
def test_a_second_way_of_binding_beside_jkt_is_passed_over(door: Door) -> None:
    door.accept(door.shop.sign(door.claims(cnf={"jkt": door.shop.key.jkt, "x5t#S256": "A" * 43})))
