"""Microsoft's refusals at the token endpoint: AADSTS numbers, their messages, and the source of each message.

`entra-docs` stands for github.com/MicrosoftDocs/entra-docs, below docs/identity-platform.
"""

from __future__ import annotations

from typing import Final

from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.refusals import VERIFIER_REASONS, Reason, Words

# Quoted in github.com/openid/AppAuth-iOS/issues/671 and, for parameters outside a form,
# github.com/microsoftgraph/microsoft-graph-docs/issues/9207
NOT_IN_BODY: Final = Words(
    400, "invalid_request", "AADSTS900144: The request body must contain the following parameter: '{member}'."
)
# Quoted in github.com/PuzzleServer/mainpuzzleserver/issues/571
DECLINED: Final = "AADSTS65004: User declined to consent to access the app."

# Quoted in github.com/AzureAD/microsoft-authentication-library-for-js/issues/1560 and /5148 (with `login_required`)
NOBODY_SIGNED_IN: Final = "AADSTS50058: A silent sign-in request was sent but no user is signed in."
# Quoted in github.com/KelvinTegelaar/CIPP/issues/1716
NO_CONSENT: Final = (
    "AADSTS65001: The user or administrator has not consented to use the application with ID '{id}' named '{name}'. "
    "Send an interactive authorization request for this user and resource."
)
# Quoted in github.com/Azure/azure-mcp/issues/14, github.com/files-community/Files/issues/17852
PAGE_PERSONAL: Final = (
    "AADSTS500200: User account '{account}' is a personal Microsoft account. Personal Microsoft accounts are not "
    "supported for this application unless explicitly invited to an organization. Try signing out and signing back in "
    "with an organizational account."
)

WORDS: Final = {
    **say(NOT_IN_BODY, (Reason.PARAMETER_MISSING, Reason.CLIENT_MISSING)),
    Reason.CONTENT_TYPE: NOT_IN_BODY.naming("grant_type"),
    # Quoted in github.com/AzureAD/microsoft-authentication-library-for-dotnet/pull/3023
    Reason.GRANT_TYPE: Words(
        400, "unsupported_grant_type", "AADSTS70003: The app requested an unsupported grant type."
    ),
    # Quoted in github.com/MicrosoftDocs/azure-docs/issues/21690, github.com/Azure/login/issues/561
    Reason.CLIENT_UNKNOWN: Words(
        *(400, "unauthorized_client"),
        "AADSTS700016: Application with identifier '{client}' was not found in the directory '{tenant}'. This can "
        "happen if the application has not been installed by the administrator of the tenant or consented to by any "
        "user in the tenant. You may have sent your authentication request to the wrong tenant.",
    ),
    # Quoted in github.com/OfficeDev/microsoft-365-agents-toolkit/issues/8621,
    # github.com/qkqpttgf/OneManager-cfworkerskv/issues/11; both have the `error_uri` as well
    Reason.CLIENT_SECRET: Words(
        *(401, "invalid_client"),
        "AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in the request is the client "
        "secret value, not the client secret ID, for a secret added to app '{client}'.",
    ),
    # Quoted in github.com/haystackeditor/haystack-editor/issues/41
    Reason.SECRET_MISSING: Words(
        *(401, "invalid_client"),
        "AADSTS7000218: The request body must contain the following parameter: 'client_assertion' or 'client_secret'.",
    ),
    # Quoted in github.com/MicrosoftDocs/azure-docs/issues/30777
    Reason.PUBLIC_CLIENT: Words(
        *(401, "invalid_client"),
        "AADSTS7000216: 'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' "
        "grant type.",
    ),
    # Quoted in github.com/BingAds/BingAds-Python-SDK/issues/279
    **say(
        Words(400, "invalid_grant", "AADSTS70000: The provided value for the input parameter '{member}' is not valid."),
        (Reason.CODE_MALFORMED, Reason.CODE_UNKNOWN, Reason.CODE_OF_OTHER_CLIENT, Reason.REFRESH_TOKEN),
    ),
    # Quoted in entra-docs reference-error-codes.md
    Reason.CODE_USED: Words(
        *(400, "invalid_grant"),
        "AADSTS54005: OAuth2 Authorization code was already redeemed, please retry with a new valid code or use an "
        "existing refresh token.",
    ),
    # Quoted in github.com/snok/django-auth-adfs/issues/245
    Reason.CODE_EXPIRED: Words(
        *(400, "invalid_grant"),
        "AADSTS70008: The provided authorization code or refresh token has expired due to inactivity. Send a new "
        "interactive authorization request for this user and resource.",
    ),
    # Quoted in github.com/PartnerCenterSamples/Reseller-Web-Application/issues/73, still with the number 50011
    Reason.REDIRECT_URI: Words(
        *(400, "invalid_grant"),
        "AADSTS500112: The reply address does not match the reply address provided when requesting Authorization code.",
    ),
    # Quoted in github.com/AzureAD/microsoft-authentication-library-for-js/issues/2694
    **say(
        Words(
            *(400, "invalid_grant"),
            "AADSTS501481: The Code_Verifier does not match the code_challenge supplied in the authorization request.",
        ),
        VERIFIER_REASONS,
    ),
    # Quoted in github.com/MicrosoftDocs/azure-docs/issues/99862
    Reason.SCOPE: Words(
        *(400, "invalid_scope"),
        "AADSTS1002012: The provided value for scope {member} is not valid. Client credential flows must have a "
        "scope value with /.default suffixed to the resource identifier (application ID URI).",
    ),
    # Quoted in github.com/AzureAD/microsoft-authentication-library-for-js/issues/6069
    Reason.SCOPES: Words(
        *(400, "invalid_scope"),
        "AADSTS70011: The provided request must include a 'scope' input parameter. The provided value for the "
        "input parameter 'scope' is not valid. The scope {member} is not valid.",
    ),
    # Quoted in github.com/O365/python-o365/issues/323
    Reason.CONSENT: Words(
        *(400, "invalid_grant"),
        "AADSTS65001: The user or administrator has not consented to use the application with ID '{client}' named "
        "'{member}'. Send an interactive authorization request for this user and resource.",
    ),
    # Quoted in github.com/AzureAD/microsoft-authentication-library-for-js/issues/3303, a personal account
    Reason.SCOPE_NOT_GRANTED: Words(
        *(400, "invalid_grant"),
        "AADSTS70000: The request was denied because one or more scopes requested are unauthorized or expired. The "
        "user must first sign in and grant the client application access to the requested scope.",
    ),
}

# Quoted in github.com/MicrosoftDocs/azure-docs/issues/21690
PAGE_CLIENT: Final = "AADSTS700016: Application with identifier {client!r} was not found in the directory."
# Both quoted in github.com/unoplatform/uno.todo/issues/180
PAGE_HEADING: Final = "Sorry, but we're having trouble signing you in."
PAGE_REDIRECT: Final = (
    "AADSTS50011: The redirect URI specified in the request does not match the redirect URIs configured."
)
