"""GitLab: OpenID Connect. An id_token is valid for two minutes. The subject is the user's number as text."""

from typing import Final

from chatkey_server.social import openid
from chatkey_server.social.provider import SocialProvider

PROVIDER: Final = SocialProvider(
    name="gitlab",
    authorize_url="https://gitlab.com/oauth/authorize",
    tokens_url="https://gitlab.com/oauth/token",
    scope="openid profile email",
    choose_account={"prompt": "login"},
    client_auth="client_secret_basic",
    issuers=("https://gitlab.com",),
    keys_url="https://gitlab.com/oauth/discovery/keys",
    read_person=openid.reader("https://gitlab.com/oauth/userinfo"),
)
