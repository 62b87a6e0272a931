"""The lab's endpoints for the providers: signing keys, switches, automatic approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatkey_oauth.engine import id_tokens
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.hooks import UNTOUCHED
from chatkey_oauth.engine.http import Answer, text_answer
from chatkey_oauth.engine.switches import SwitchError
from chatkey_oauth.engine.token import minted
from chatkey_oauth.lab.clients_and_people import check_provider
from chatkey_oauth.lab.endpoints import Endpoint, get, post, put
from chatkey_oauth.lab.lab_wire import AutoApproval, Keys, Mint, SwitchSet, SwitchShown
from chatkey_oauth.lab.refusals import LabRefused

if TYPE_CHECKING:
    from chatkey_oauth.fake import Fake


def provider_handlers(fake: Fake) -> list[Endpoint]:
    """Return the endpoints for signing keys, switches and automatic approval."""

    @post("/providers/{name}/keys", "Sign with a new key; earlier keys stay published")
    def rotate(name: str) -> Keys:
        check_provider("name", name)
        provider = fake.provider(name)
        if all(route.leg is not Leg.KEYS for route in provider.routes().values()):
            raise LabRefused(400, "keys_none", f"name: {name} does not sign tokens, so it has no keys to rotate.")
        keys = provider.keys
        keys.jwks()  # creates the first key if there is none yet, so that a rotation leaves two
        return Keys(keys.rotate(), keys.jwks()["keys"])

    @post("/token", "Issue tokens without a login")
    def mint(data: Mint) -> dict[str, Any]:
        check_provider("provider", data.provider)
        provider = fake.issuer(data.provider, data.tenant)
        client = fake.world.clients.get(data.provider, data.client_id)
        person = None if data.account is None else fake.world.people.get(data.account)
        if client is None:
            message = (
                f"client_id: {data.provider} has no client {data.client_id!r}; GET /lab/clients lists all clients."
            )
            raise LabRefused(404, "client_unknown", message)
        if data.account is not None and person is None:
            raise unknown_person(fake, data.account)
        scopes = tuple(provider.scopes) if data.scopes is None else tuple(dict.fromkeys(data.scopes))
        issued = minted(provider, client, person, scopes, data.nonce)
        id_token = id_tokens.sign(provider, UNTOUCHED, issued) if provider.brings_id_token(issued) else None
        return provider.token_body(issued, id_token)

    @get("/switches", "The switches and their settings")
    def switches() -> list[SwitchShown]:
        return [SwitchShown(*position) for position in fake.world.switches.all()]

    @put("/switches/{key}", "Set a switch")
    def switch(key: str, data: SwitchSet) -> SwitchShown:
        try:
            return SwitchShown(*fake.world.switches.set(key, on=data.on))
        except SwitchError as error:
            raise LabRefused(404, "switch_unknown", f"key: {error}") from error

    @get("/auto-approve", "Which account approves every request automatically")
    def approval() -> AutoApproval:
        return AutoApproval(fake.world.approval.account)

    @put("/auto-approve", "Let an account approve every request automatically, or nobody")
    def approve(data: AutoApproval) -> AutoApproval:
        if data.account is not None and fake.world.people.get(data.account) is None:
            raise unknown_person(fake, data.account)
        fake.world.approval.account = data.account
        return data

    @get("/ready-made/apple.p8", "The private key of the ready-made Apple application")
    def apple_key() -> Answer:
        from chatkey_oauth.ready_made import apple_p8

        return text_answer(apple_p8())

    return [rotate, mint, switches, switch, approval, approve, apple_key]


def unknown_person(fake: Fake, account: str) -> LabRefused:
    known = ", ".join(person.id for person in fake.world.people.all())
    return LabRefused(404, "person_unknown", f"account: there is no person {account!r}. Available: {known}.")
