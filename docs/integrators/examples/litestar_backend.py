"""A getToken endpoint in Litestar. It needs litestar, pyjwt and uvicorn; README.md says how to run it."""

import os
import secrets
import time
from typing import Annotated

import jwt
from litestar import Litestar, Request, Response, post
from litestar.datastructures import CacheControlHeader, State
from litestar.exceptions import PermissionDeniedException
from litestar.middleware.session.server_side import ServerSideSessionConfig
from litestar.response import Redirect
from msgspec import Meta, Struct

SECRET_KEY = os.environ["CHAT_SECRET_KEY"]  # the text as you got it: not decoded, without quotes or a newline
PEOPLE = {"ada": (1001, "Ada Lindqvist"), "bo": (1002, "Bo Sørensen")}  # stands for your customers


class Question(Struct):  # without forbid_unknown_fields: a newer widget may send more
    jkt: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{43}\Z")]  # $ would allow a final newline


@post("/chat/token", status_code=200, cache_control=CacheControlHeader(no_store=True))  # no guard: it answers 401
async def chat_token(data: Question, request: Request[None, None, State]) -> dict[str, str | None]:
    if request.content_type[0] != "application/json":  # another site's form can send text/plain
        raise PermissionDeniedException
    # Take the user from your session, never from the body, the address or a header.
    person = PEOPLE.get(request.session.get("user", ""))
    if person is None:
        return {"token": None}  # a visitor: not 401, not a redirect to the login, not a token for a guest
    now = int(time.time())  # whole seconds, UTC; not milliseconds, and not datetime.utcnow().timestamp()
    claims = {
        "pid": os.environ["CHAT_PROVIDER_ID"],
        "uid": str(person[0]),  # text, not the number; an id that never changes, not the e-mail address
        "cnf": {"jkt": data.jkt},  # inside cnf, unchanged; no cache=True: another browser would get this token
        "name": person[1],  # only displayed; anyone can read the payload, so put nothing secret here
    }
    times = {"type": "user", "iat": now, "exp": now + 3600}  # exp is a time, not a lifetime
    return {"token": jwt.encode(claims | times, SECRET_KEY, algorithm="HS256")}


@post("/login")  # stands for your own login
async def login(request: Request[None, None, State]) -> Redirect:
    form = await request.form()
    if form["user"] not in PEOPLE or not secrets.compare_digest(form["password"], os.environ["LOGIN_PASSWORD"]):
        raise PermissionDeniedException
    request.set_session({"user": form["user"]})
    return Redirect("/", status_code=303)


@post("/logout")
async def logout(request: Request[None, None, State]) -> Redirect:
    request.clear_session()
    return Redirect("/", status_code=303)


sessions = ServerSideSessionConfig(secure=True)  # stored on the server, so a logout ends them; SameSite=Lax
chat_token.exception_handlers = dict.fromkeys((UnicodeError, RecursionError), lambda *_: Response({}, status_code=400))
app = Litestar([chat_token, login, logout], middleware=[sessions.middleware], request_max_body_size=10_000)
