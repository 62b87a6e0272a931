"""A getToken endpoint in FastAPI. It needs fastapi, pyjwt, python-multipart, uvicorn; README.md says how to run it."""

import os
import secrets
import time
from typing import Annotated

import jwt
from fastapi import Cookie, FastAPI, Form, Header, HTTPException, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel, Field

SECRET_KEY = os.environ["CHAT_SECRET_KEY"]  # the text as you got it: not decoded, without quotes or a newline
PEOPLE = {"ada": (1001, "Ada Lindqvist"), "bo": (1002, "Bo Sørensen")}  # stands for your customers
SESSIONS: dict[str, str] = {}  # stands for your session store

Sid = Annotated[str, Cookie()]
Small = Annotated[int, Header(alias="Content-Length", lt=10_000)]  # so that large bodies do not keep your workers busy
app = FastAPI()  # no CORSMiddleware for this route: page and endpoint have the same origin
app.add_exception_handler(RequestValidationError, lambda *_: JSONResponse({"error": "no"}, 400))  # not FastAPI's 422


class Question(BaseModel):
    # Without the pattern you would sign any text that a stranger sends. Unknown members are ignored.
    jkt: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{43}$")]


@app.post("/chat/token")  # not api_route: GET responses are cached, prefetched and logged
def chat_token(question: Question, _size: Small, response: Response, sid: Sid = "") -> dict[str, str | None]:
    response.headers["Cache-Control"] = "no-store"
    # Take the user from your session, never from the body, the address or a header.
    person = PEOPLE.get(SESSIONS.get(sid, ""))
    if person is None:
        return {"token": None}  # a visitor: not 401, not a redirect to the login, not a token for a guest
    now = int(time.time())  # whole seconds, UTC; not milliseconds, and not datetime.utcnow().timestamp()
    claims = {
        "pid": os.environ["CHAT_PROVIDER_ID"],
        "uid": str(person[0]),  # text, not the number; an id that never changes, not the e-mail address
        "cnf": {"jkt": question.jkt},  # inside cnf, unchanged; so a token is made for each call and never kept
        "name": person[1],  # only displayed; anyone can read the payload, so put nothing secret here
    }
    claims |= {"type": "user", "iat": now, "exp": now + 3600}  # a time, not a lifetime
    return {"token": jwt.encode(claims, SECRET_KEY, algorithm="HS256")}


@app.post("/login")  # stands for your own login
def login(user: Annotated[str, Form()], password: Annotated[str, Form()]) -> Response:
    if user not in PEOPLE or not secrets.compare_digest(password.encode(), os.environ["LOGIN_PASSWORD"].encode()):
        raise HTTPException(403)
    response = RedirectResponse("/", 303)
    SESSIONS[sid := secrets.token_urlsafe(32)] = user
    response.set_cookie("sid", sid, httponly=True, secure=True, samesite="lax")  # Lax keeps other sites from using it
    return response


@app.post("/logout")
def logout(sid: Sid = "") -> RedirectResponse:
    SESSIONS.pop(sid, None)  # end it on the server: otherwise a copied cookie would still work
    return RedirectResponse("/", 303)
