"""The login with requests."""

import json
import sys
from urllib.parse import parse_qs, urlsplit

import requests

provider, provider_lab, service_lab = sys.argv[1:]
client = {"client_id": "stranger", "redirect_uri": "http://localhost/back"}
application = {"provider": "oidc", "client_secret": "hush", "redirect_uris": [client["redirect_uri"]]}
asked = {**client, "response_type": "code", "scope": "openid profile"}

with requests.Session() as http:
    registered = http.post(f"{provider_lab}/clients", json=application | {"client_id": client["client_id"]})
    page = http.get(f"{provider}/oidc/authorize", params=asked)
    form = {"account": "rhea", "decision": "approve"}
    approved = http.post(f"{provider}/oidc/consent", params=asked, data=form, allow_redirects=False)
    (code,) = parse_qs(urlsplit(approved.headers["location"]).query)["code"]
    form = {**client, "client_secret": "hush", "grant_type": "authorization_code", "code": code}
    token = http.post(f"{provider}/oidc/token", data=form)
    bearer = {"Authorization": f"Bearer {token.json()['access_token']}"}
    person = http.get(f"{provider}/oidc/userinfo", headers=bearer)
    moved = http.post(f"{service_lab}/clock", json={"advance": 0})

answers = [registered, page, approved, token, person, moved]
json.dump({"statuses": [answer.status_code for answer in answers], "name": person.json()["name"]}, sys.stdout)
