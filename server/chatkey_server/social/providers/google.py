"""Google: OpenID Connect. The id comes from the verified id_token; name and picture come from userinfo."""

from typing import Final

from chatkey_server.social import openid
from chatkey_server.social.provider import SocialProvider

PROVIDER: Final = SocialProvider(
    name="google",
    authorize_url="https://accounts.google.com/o/oauth2/v2/auth",
    tokens_url="https://oauth2.googleapis.com/token",
    scope="openid email profile",
    choose_account={"prompt": "select_account"},
    client_auth="client_secret_post",
    issuers=("https://accounts.google.com", "accounts.google.com"),
    keys_url="https://www.googleapis.com/oauth2/v3/certs",
    read_person=openid.reader("https://openidconnect.googleapis.com/v1/userinfo"),
)
