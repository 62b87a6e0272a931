"""Every fault by name, in the order in which a login reaches them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chatkey_oauth.faults import anywhere, browser, callback, id_token, keys, profile, token
from chatkey_oauth.faults.fault import Fault

SIGNED: Final = "In the id_token"

FAMILIES: Final[Mapping[str, tuple[type[Fault], ...]]] = {
    "In the popup": (
        browser.PopupLeftOpen,
        browser.ErrorPage,
        browser.CoopSameOrigin,
        browser.CoopSameOriginAllowPopups,
        browser.CoopNoopenerAllowPopups,
    ),
    "On the way back": (
        callback.Deny,
        callback.Cancel,
        callback.CallbackError,
        callback.MissingScope,
        callback.StateDropped,
        callback.StateAltered,
        callback.StateSwapped,
        callback.CodeDropped,
        callback.CodeAltered,
        callback.ErrorAndCode,
        callback.WrongCallbackIssuer,
        callback.NoCallbackIssuer,
        callback.OtherRedirectUri,
    ),
    "At the token endpoint": (
        token.CodeUsed,
        token.CodeExpired,
        token.ClientRefused,
        token.TokenRequestRefused,
        token.NoAccessToken,
        token.NoIdToken,
        token.NoRefreshToken,
        token.NullMember,
        token.OtherTokenType,
        token.OddExpiresIn,
        token.MalformedIdToken,
        anywhere.FormEncoded,
        anywhere.ErrorWith200,
    ),
    SIGNED: (
        id_token.BadSignature,
        id_token.ForeignKey,
        id_token.UnknownKid,
        id_token.EmbeddedKey,
        id_token.NoKid,
        id_token.AlgNone,
        id_token.AlgHs256,
        id_token.UnknownCrit,
        id_token.KeysRotated,
        id_token.WrongIssuer,
        id_token.WrongAudience,
        id_token.SecondAudience,
        id_token.WrongAzp,
        id_token.WrongNonce,
        id_token.NoNonce,
        id_token.Expired,
        id_token.FromTheFuture,
        id_token.WrongAtHash,
        id_token.NoClaim,
        id_token.SubjectNumber,
    ),
    "In the profile": (
        profile.ProfileRefused,
        profile.OtherSubject,
        profile.NoSubject,
        profile.EmptySubject,
        profile.EmailVerifiedText,
        profile.EmptyProfile,
        profile.ProfileList,
    ),
    "In published documents": (
        keys.KeyMissing,
        keys.OtherModulus,
        keys.OtherIssuer,
    ),
    "In any response": (
        anywhere.Slow,
        anywhere.Hang,
        anywhere.Reset,
        anywhere.Truncated,
        anywhere.Status500,
        anywhere.Unavailable,
        anywhere.RateLimited,
        anywhere.Redirected,
        anywhere.MalformedJson,
        anywhere.DuplicateMembers,
        anywhere.EmptyAnswer,
        anywhere.HugeAnswer,
        anywhere.WrongContentType,
    ),
}
"""The faults, grouped by the part of a login that they affect."""

FAULTS: Final[Mapping[str, type[Fault]]] = {fault.name: fault for family in FAMILIES.values() for fault in family}
