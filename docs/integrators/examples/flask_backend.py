"""A getToken endpoint in Flask. It needs flask and pyjwt; README.md says how to run it."""

import os
import re
import secrets
import time

import jwt
from flask import Flask, Response, abort, jsonify, request

SECRET_KEY = os.environ["CHAT_SECRET_KEY"]  # not app.secret_key; the text as you got it, without quotes or a newline
PEOPLE = {"ada": (1001, "Ada Lindqvist"), "bo": (1002, "Bo Sørensen")}  # stands for your customers
SESSIONS: dict[str, str] = {}  # stands for your session store

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 10_000
app.register_error_handler(RecursionError, lambda _: (jsonify(error="nested too deep"), 400))


@app.post("/chat/token")  # not methods=["GET", "POST"]: GET responses are cached; not @login_required: it redirects
def chat_token() -> tuple[Response, int]:
    body = request.get_json(silent=True)  # not force=True: another site's form can send text/plain
    jkt = body.get("jkt") if isinstance(body, dict) else None
    if not isinstance(jkt, str) or not re.fullmatch(r"[A-Za-z0-9_-]{43}", jkt):  # $ would allow a final newline
        return jsonify(error="jkt must be the text that the widget passes to getToken"), 400
    # Take the user from your session, never from the body. Use a local variable, which no other request can change.
    person = PEOPLE.get(SESSIONS.get(request.cookies.get("sid", ""), ""))
    answer = jsonify(token=token_for(*person, jkt) if person else None)  # a visitor gets null: not 401, not a guest
    answer.headers["Cache-Control"] = "no-store"
    return answer, 200


def token_for(uid: int, name: str, jkt: str) -> str:  # no lru_cache: the token of one browser would go to another
    now = int(time.time())  # whole seconds, UTC; not milliseconds, and not datetime.utcnow().timestamp()
    times = {"iat": now, "exp": now + 3600}  # exp is a time, not a lifetime
    claims = {
        "pid": os.environ["CHAT_PROVIDER_ID"],
        "uid": str(uid),  # text, not the number; an id that never changes, not the e-mail address
        "type": "user",
        "cnf": {"jkt": jkt},  # inside cnf, unchanged
        "name": name,  # only displayed; anyone can read the payload, so put nothing secret here
    }
    return jwt.encode(claims | times, SECRET_KEY, algorithm="HS256")


@app.post("/login")  # stands for your own login
def login() -> Response:
    user, password = request.form["user"], request.form["password"].encode()
    if user not in PEOPLE or not secrets.compare_digest(password, os.environ["LOGIN_PASSWORD"].encode()):
        abort(403)
    SESSIONS[sid := secrets.token_urlsafe(32)] = user
    answer = Response(status=303, headers={"Location": "/"})
    answer.set_cookie("sid", sid, httponly=True, secure=True, samesite="Lax")  # Lax keeps other sites from using it
    return answer


@app.post("/logout")
def logout() -> Response:
    SESSIONS.pop(request.cookies.get("sid", ""), None)  # on the server: otherwise a copied cookie would still work
    return Response(status=303, headers={"Location": "/"})
