"""The lab's endpoints for clients and people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from chatkey_oauth.engine.clients import Client, ClientError
from chatkey_oauth.engine.people import Person
from chatkey_oauth.lab.endpoints import Endpoint, delete, get, post, put
from chatkey_oauth.lab.refusals import LabRefused
from chatkey_oauth.providers import NAMES, load

if TYPE_CHECKING:
    from chatkey_oauth.fake import Fake


def client_handlers(fake: Fake) -> list[Endpoint]:
    @get("/clients", "The registered clients, without their secrets")
    def clients() -> list[Client]:
        return [without_secret(client) for client in fake.world.clients.all()]

    @post("/clients", "Register a client, or replace the one with the same id", status=201)
    def register(data: Client) -> Client:
        check_provider("provider", data.provider)
        try:
            fake.world.clients.add(data)
        except ClientError as error:
            raise LabRefused(400, "client_invalid", str(error)) from error
        return without_secret(data)

    @delete("/clients/{provider}/{client_id}", "Remove a client")
    def forget(provider: str, client_id: str) -> None:
        if not fake.world.clients.remove(provider, client_id):
            message = f"client_id: {provider} has no client {client_id!r}; GET /lab/clients lists all clients."
            raise LabRefused(404, "client_unknown", message)

    return [clients, register, forget]


def people_handlers(fake: Fake) -> list[Endpoint]:
    @get("/people", "Everyone who can sign in")
    def people() -> list[Person]:
        return fake.world.people.all()

    @put("/people/{person_id}", "Add a person, or replace the one with the same id")
    def put_person(person_id: str, data: Person) -> Person:
        if data.id != person_id:
            message = f"id: the body has {data.id!r}, but the address has {person_id!r}; use the same id in both."
            raise LabRefused(400, "person_invalid", message)
        for name, subject in data.subjects.items():
            check_subject(name, subject)
        fake.world.people.put(data)
        return data

    @delete("/people/{person_id}", "Remove a person; their tokens stop working")
    def forget(person_id: str) -> None:
        if not fake.world.people.remove(person_id):
            message = f"id: there is no person {person_id!r}; GET /lab/people lists all people."
            raise LabRefused(404, "person_unknown", message)

    return [people, put_person, forget]


def check_provider(member: str, name: str) -> None:
    if name not in NAMES:
        raise LabRefused(404, "provider_unknown", f"{member}: {name!r} is not one of {', '.join(NAMES)}.")


def check_filter(provider: str | None) -> None:
    """Refuse a filter for an unknown provider, which would never match."""
    if provider is not None:
        check_provider("provider", provider)


def check_subject(name: str, subject: str) -> None:
    """Refuse a subject id in a format that its provider does not use."""
    if name not in NAMES:
        known = ", ".join(NAMES)
        raise LabRefused(400, "person_invalid", f"subjects.{name}: there is no such provider. Available: {known}.")
    if load(name).numeric_subjects and not (subject.isascii() and subject.isdigit() and len(subject) < 20):
        message = f"subjects.{name}: {subject!r} is not a number; the ids of {name} have up to 19 digits."
        raise LabRefused(400, "person_invalid", message)


def without_secret(client: Client) -> Client:
    return msgspec.structs.replace(client, client_secret="")
