"""Defines the tables of administrators and sessions. Both are subclasses of Piccolo Admin's sign-in tables."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from hashlib import sha256
from http import HTTPStatus
from typing import Final

import structlog
from piccolo.apps.user.tables import BaseUser
from piccolo.columns import Varchar
from piccolo_api.session_auth.tables import SessionsBase
from starlette.exceptions import HTTPException

from chatkey_server.identity.errors import Refused
from chatkey_server.panel.admin.sign_ins import count_sign_in
from chatkey_server.storage import accounts
from chatkey_server.storage.tables import Administrator

IDLE: Final = timedelta(hours=1)
LONGEST: Final = timedelta(hours=12)

log = structlog.get_logger("chatkey.admin")


class Administrators(BaseUser, tablename="administrator"):
    """The administrators. Every row is an active administrator; Piccolo's other user columns are left out."""

    username = Varchar(length=64, unique=True)
    password = first_name = last_name = email = last_login = None  # type: ignore[assignment]
    active = admin = True
    superuser = False

    _min_password_length, _max_password_length = accounts.PASSWORD_CHARS

    @classmethod
    async def login(cls, username: str, password: str) -> int | None:
        """Return the administrator's id, or None if name or password are wrong.

        Raises `RateLimited`.
        """
        await count_sign_in.get()()
        found = await accounts.check(Administrator, str(username), str(password))
        if found is None:
            log.info("admin.refused")
            return None
        log.info("admin.signed_in", admin=found.username)
        return int(found.id)

    @classmethod
    async def update_password(cls, user: str | int, password: str) -> None:
        """Set a new password for an administrator. The panel shows the reason if the password is refused."""
        row = await cls.select(cls.username).where(cls.id == int(user)).first()
        try:
            await accounts.set_password(Administrator, row["username"] if row else "", password)
        except Refused as refused:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, refused.message) from refused


class Sessions(SessionsBase, tablename="admin_session"):
    """The sessions of administrators.

    Only the hash of a token is stored, so nobody can sign in with a copy of the database.
    """

    @classmethod
    async def create_session(
        cls, user_id: int, expiry_date: datetime | None = None, max_expiry_date: datetime | None = None
    ) -> Sessions:
        """Create a session and return it with its plain token. Also delete expired sessions."""
        await cls.delete().where(cls.expiry_date < datetime.now())  # noqa: DTZ005 - Piccolo's are without a zone
        token = secrets.token_urlsafe(32)
        session = cls(token=_hash(token), user_id=user_id, expiry_date=expiry_date, max_expiry_date=max_expiry_date)
        await session.save()
        session.token = token
        return session

    @classmethod
    async def get_user_id(cls, token: str, increase_expiry: timedelta | None = None) -> int | None:
        return await super().get_user_id(_hash(token), increase_expiry)

    @classmethod
    async def remove_session(cls, token: str) -> None:
        await super().remove_session(_hash(token))


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()
