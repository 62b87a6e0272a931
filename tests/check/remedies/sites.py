"""Sites in Flask and Express, made from a template, the lines of `remedies.toml`, and the lines that a check prints."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from threading import Thread
from typing import Any, Final
from unittest.mock import patch

import jwt
from tests.check.examples.kit.reference_backends import EXAMPLES, environment, installed
from tests.node import NODE
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import make_server

from chatkey_check import checks
from chatkey_check.reading import encoded, hs256
from chatkey_check.target import Login, Target

HERE: Final = Path(__file__).parent
TABLE: Final[Mapping[str, Any]] = tomllib.loads((HERE / "remedies.toml").read_text())
SECRET: Final = "sk_5vJ0nQe-8yRwX2_dLkT7uB4mHsA9pZcG"
SESSION_KEY: Final = "only for the sessions of these sites, 41"
PROVIDER: Final = "prov_remedies"
ENVIRON: Final = {"CHAT_PROVIDER_ID": PROVIDER, "CHAT_SECRET": f"{SECRET}\n"}
PEOPLE: Final = {"1001": "s-7f3a9c1e5b8d2046", "1002": "s-2b6d8e0f4a1c9357"}
SLOT: Final = re.compile(r"^( *)(.*?)<([a-z_]+)>(.*)$", re.MULTILINE)
LANGUAGES: Final = {"Python": "site.py.txt", "Node.js": "site.mjs.txt"}


@dataclass(frozen=True)
class Remedy:
    """A broken example of a check in one language, and the place at which the check's printed lines belong."""

    check: str
    language: str
    place: str
    broken: Mapping[str, str]
    around: str
    session: str

    @property
    def id(self) -> str:
        return f"{self.check.replace('.', '-')}-{self.language.partition('.')[0].lower()}"

    def site(self, *, mended: bool) -> str:
        """Return the source of the site, with the printed lines if it is `mended`."""
        lines = {**TABLE["places"][self.language], **self.broken}
        if mended:
            printed = checks.load_one(self.check).mend[self.language]
            if self.place == "route":
                printed = printed.splitlines()[0]  # the lines after it are the handler
            expression = printed if self.language == "Python" else printed.removesuffix(";")
            lines[self.place] = self.around.replace("{printed}", expression) if self.around else printed
        template = (HERE / LANGUAGES[self.language]).read_text()
        return SLOT.sub(lambda slot: _filled(slot, lines), template)


def _filled(slot: re.Match[str], lines: Mapping[str, str]) -> str:
    space, before, name, after = slot.groups()
    text = lines.get(name, "").strip()
    if name == "name":
        return slot[0]
    return f"{space}{before}{text}{after}" if before or after else indent(text, space)


def remedies() -> list[Remedy]:
    return [
        Remedy(
            row["check"],
            language,
            row["place"],
            row[language],
            row.get("around", {}).get(language, ""),
            row.get("session", "cookie"),
        )
        for row in TABLE["remedy"]
        for language in LANGUAGES
        if language in row
    ]


def session_of(remedy: Remedy, uid: str) -> str:
    """Return the session cookie's value for a person."""
    audience = {"aud": "session"} if remedy.session == "audience" else {}
    if remedy.session in {"jwt", "audience"}:
        return jwt.encode({"uid": uid, **audience}, SESSION_KEY, algorithm="HS256")
    return PEOPLE[uid]


def target(remedy: Remedy, base: str) -> Target:
    def login(uid: str) -> Login:
        if remedy.session == "form":
            return Login(url=f"{base}/login", fields=(("user", uid), ("password", "hunter-2")))
        return Login((("Cookie", f"sid={session_of(remedy, uid)}"),))

    logout = f"{base}/logout" if remedy.session == "cookie" else None
    people = [login(uid) for uid in PEOPLE]
    return Target(f"{base}/chat/token", PROVIDER, SECRET, login=people[0], login_b=people[1], logout_url=logout)


def sign_text(text: str, key: str) -> str:
    """Return a correct token whose payload is any text."""
    signed = f"{encoded(json.dumps({'alg': 'HS256'}).encode())}.{encoded(text.encode())}"
    return f"{signed}.{encoded(hs256(key.encode(), signed.encode()))}"


@contextmanager
def flask_sites(sources: Mapping[str, str]) -> Iterator[str]:
    """Serve the sites, each below its name, and yield the address of the server."""
    given = {"SIDS": {sid: uid for uid, sid in PEOPLE.items()}, "SESSION_KEY": SESSION_KEY, "sign_text": sign_text}
    with patch.dict("os.environ", ENVIRON):
        apps: dict[str, Any] = {}
        for name, source in sources.items():
            made = {**given, "__name__": name}
            exec(compile(source, name, "exec"), made)
            apps[f"/{name}"] = made["app"]
        server = make_server("127.0.0.1", 0, DispatcherMiddleware(NotFound(), apps), threaded=True)
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


HEAD: Final = """
import { createHmac, randomUUID } from "node:crypto";
import express from "express";
import jwt from "jsonwebtoken";
const sites = express();
const part = (text) => Buffer.from(text).toString("base64url");
const signText = (text, key) => {
  const signed = `${part('{"alg":"HS256"}')}.${part(text)}`;
  return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`;
};
"""
TAIL: Final = """
const server = sites.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""


@contextmanager
def express_sites(sources: Mapping[str, str], cache: Path) -> Iterator[str]:
    """Serve the sites, each below its name, and yield the address of the server. Raises `Unavailable`."""
    environ = environment()
    folder = installed(EXAMPLES / "express", cache, environ)
    known = f"const SIDS = {json.dumps({sid: uid for uid, sid in PEOPLE.items()})};\n"
    known += f"const SESSION_KEY = {json.dumps(SESSION_KEY)};\n"
    file = folder / "remedies.mjs"
    sites = "".join(source.replace("<name>", name) for name, source in sources.items())
    file.write_text(f"{HEAD}{known}{sites}{TAIL}")
    command = [NODE, str(file)]
    with subprocess.Popen(command, env={**environ, **ENVIRON}, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            port = child.stdout.readline().strip()
            assert port, "node ended before it listened; its error is above"
            yield f"http://127.0.0.1:{port}"
        finally:
            child.terminate()
