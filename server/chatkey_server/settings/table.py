"""All settings: the variable, its parser, and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chatkey_lab.guard import TOKEN_VARIABLE, check_token
from chatkey_protocol.names import ANNOUNCED_SOCIALS, SOCIALS
from chatkey_server.settings import read
from chatkey_server.settings.values import Limits, Settings

PREFIX = "CHATKEY_"

TOGETHER = " Counted over all processes together if Redis is configured."
"""Added to limits that protect the service as a whole. Each process counts the other limits on its own."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable: its parser, its meaning, and whether its value is secret.

    `parse` raises ValueError with a clause that says what is wrong and what to write ("is not …; write …"). The
    clause does not contain the text.
    """

    name: str
    parse: Callable[[str], object]
    help: str
    secret: bool = False

    @property
    def field(self) -> str:
        """The field of `Settings`, `Limits` or `SocialAddress` that this variable sets."""
        return self.name.removeprefix(PREFIX).removeprefix("LIMIT_").lower()

    @property
    def default(self) -> str:
        """The default, in the notation of the variable. Empty if there is no default."""
        if self.name.startswith(f"{PREFIX}LIMIT_"):
            return str(getattr(Limits(), self.field))
        value = getattr(Settings(), self.field, "")
        return "0" if value is False else str(value or "")


def _general() -> Iterator[Setting]:
    yield Setting(
        "CHATKEY_BASE_URL", partial(read.address, path=False), "The address at which browsers reach this server."
    )
    yield Setting(
        "CHATKEY_ASSETS_URL",
        partial(read.address, path=True),
        "The address of `sdk.js`, if it is not `/assets` on this server.",
    )
    yield Setting(
        "CHATKEY_PREVIOUS_ASSETS",
        str,
        "The folder `chatkey_assets/built` of the previous release. Its files are served too, for pages that have "
        "loaded the `sdk.js` of a server that is not upgraded yet.",
    )
    yield Setting("CHATKEY_HOST", read.host, "The network address to listen on.")
    yield Setting("CHATKEY_PORT", partial(read.whole, least=1, most=65535), "The port to listen on.")
    yield Setting("CHATKEY_TLS_CERT", read.file, "The certificate chain, if the server itself handles TLS.")
    yield Setting("CHATKEY_TLS_KEY", read.file, "The private key of the certificate.")
    yield Setting(
        "CHATKEY_TRUSTED_PROXIES",
        read.networks,
        "Addresses and networks of reverse proxies, with commas between them. Their `X-Forwarded-For` names "
        "the client for the limits. Without this setting, all clients behind a proxy count as one client. An IPv4 "
        "address also stands for its IPv6 form (`::ffff:10.0.0.8`).",
    )
    yield Setting("CHATKEY_DATA_DIR", Path, "The folder of the embedded database and of the generated master key.")
    yield Setting(
        "CHATKEY_DATABASE_URL", read.database, "The database, if it is not the embedded SQLite file.", secret=True
    )
    yield Setting(
        "CHATKEY_REDIS_URL",
        read.redis,
        "Redis, for fan-out between several processes or hosts, and for limits that apply to all of them together: "
        "`redis://`, `rediss://`, `unix://`, or `redis+sentinel://` with Sentinels and the name of their service.",
        secret=True,
    )
    yield Setting(
        "CHATKEY_MASTER_KEY",
        read.master_keys,
        "The key from which all other keys are derived. Old keys follow after commas, and can still decrypt.",
        secret=True,
    )
    yield Setting("CHATKEY_CA_FILE", read.authorities, "Certificates to trust when the server calls social providers.")
    yield Setting("CHATKEY_PANEL_FRAME_ANCESTORS", read.frame_ancestors, "The origins that may frame the agent panel.")
    yield Setting(
        "CHATKEY_LAB",
        read.switch,
        "Enables the test controls under `/lab`. This requires either `CHATKEY_LAB_TOKEN`, or a "
        "loopback address without a proxy.",
    )
    yield Setting(
        TOKEN_VARIABLE,
        check_token,
        "The secret that clients of the lab send, as a bearer token or as the password of HTTP basic authentication.",
        secret=True,
    )
    yield Setting(
        "CHATKEY_PREVIEW_PROVIDERS",
        read.announced,
        (
            "Announced social providers that are already offered, with commas between "
            f"them: {', '.join(ANNOUNCED_SOCIALS)}."
        ),
    )
    yield Setting(
        "CHATKEY_ICE_SERVERS",
        read.ice_servers,
        "The STUN and TURN servers for calls, as the JSON array `iceServers` of `RTCPeerConnection`. Widgets and "
        "agents receive it, passwords included. Without it, calls connect only within one network.",
        secret=True,
    )
    yield Setting(
        "CHATKEY_ICE_RELAY_ONLY",
        read.switch,
        "Sends the sound of calls only through TURN servers, so that customers and agents do not learn each other's "
        "addresses.",
    )
    yield Setting(
        "CHATKEY_METRICS_TOKEN",
        check_token,
        "The bearer token with which Prometheus reads `/metrics`. Without it, there are no metrics.",
        secret=True,
    )
    yield Setting(
        "CHATKEY_DRAIN",
        partial(read.whole, least=0, most=3600),
        "How many seconds the server takes to stop. In the first half, `/health/ready` answers 503 and everything else "
        "works as before. In the second half, new connections are refused and sockets are closed one after "
        "the other.",
    )
    yield Setting("CHATKEY_LOG_LEVEL", read.log_level, "How much is logged: debug, info, warning or error.")


def _limits() -> Iterator[Setting]:
    rate, size = partial(read.whole, least=0, most=1_000_000), partial(read.whole, least=1, most=1_000_000)
    wait = partial(read.whole, least=1, most=3600)
    yield Setting(
        "CHATKEY_LIMIT_HEAD_BYTES",
        partial(read.whole, least=16_384, most=1_048_576),
        "Bytes of a request's first line and headers, of which there may be 100.",
    )
    yield Setting(
        "CHATKEY_LIMIT_QUERY_BYTES",
        partial(read.whole, least=2048, most=65_000),
        "The most bytes of a query or a form.",
    )
    yield Setting(
        "CHATKEY_LIMIT_BODY_BYTES", partial(read.whole, least=16_384, most=16_777_216), "Bytes of a request's body."
    )
    yield Setting(
        "CHATKEY_LIMIT_TOKEN_BYTES",
        partial(read.whole, least=1024, most=32_768),
        "Bytes of one token. The widget sends at most 8192.",
    )
    yield Setting(
        "CHATKEY_LIMIT_REQUEST_TIMEOUT",
        wait,
        "Seconds within which a request must be complete, counted from the opening of the connection or from the "
        "request's first byte. Also the seconds for which a response waits for a peer that does not read.",
    )
    yield Setting(
        "CHATKEY_LIMIT_TOKEN_RATE", rate, "Token requests per minute from one client address; 0 means no limit."
    )
    yield Setting(
        "CHATKEY_LIMIT_OAUTH_RATE",
        rate,
        f"OAuth requests per minute from one client address; 0 means no limit.{TOGETHER}",
    )
    yield Setting("CHATKEY_LIMIT_FRAME_BYTES", partial(read.whole, least=16_384, most=1_048_576), "Bytes of one frame.")
    yield Setting("CHATKEY_LIMIT_MESSAGE_CHARS", size, "Characters of one message.")
    yield Setting("CHATKEY_LIMIT_NAME_CHARS", partial(read.whole, least=1, most=255), "Characters of a member's name.")
    yield Setting("CHATKEY_LIMIT_FRAMES_PER_SECOND", size, "Frames per second on one socket of a widget or an agent.")
    yield Setting(
        "CHATKEY_LIMIT_AUTH_TIMEOUT",
        partial(read.whole, least=1, most=60),
        "Seconds until a new socket must have sent a valid `connect` frame.",
    )
    yield Setting("CHATKEY_LIMIT_FRAME_TIMEOUT", wait, "Seconds that a frame may take from its first byte to its last.")
    yield Setting("CHATKEY_LIMIT_IDLE_TIMEOUT", wait, "Seconds that a connected socket may be idle.")
    yield Setting(
        "CHATKEY_LIMIT_PONG_TIMEOUT",
        wait,
        (
            "Seconds between the server's WebSocket pings. Also the seconds within which a peer must answer a ping "
            "or read some of the sent data."
        ),
    )
    yield Setting(
        "CHATKEY_LIMIT_PING", partial(read.whole, least=1, most=300), "Seconds between the pings of a widget."
    )
    yield Setting(
        "CHATKEY_LIMIT_SOCKETS_PER_ADDRESS",
        rate,
        "Sockets that one client address may have open; 0 means no limit. HTTP requests "
        "and sockets together may use twice this number of connections; further connections "
        "are closed. Connections of a trusted proxy are not counted.",
    )
    yield Setting(
        "CHATKEY_LIMIT_SOCKETS_PER_IDENTITY", rate, "Sockets that one person may have open; 0 means no limit."
    )
    yield Setting("CHATKEY_LIMIT_SEARCH_CHARS", partial(read.whole, least=1, most=1000), "Characters of a search text.")
    yield Setting(
        "CHATKEY_LIMIT_SEARCHES_PER_IDENTITY", rate, "Searches per minute of one person or agent; 0 means no limit."
    )
    yield Setting(
        "CHATKEY_LIMIT_SEARCHES_PER_ADDRESS", rate, "Searches per minute from one client address; 0 means no limit."
    )
    yield Setting(
        "CHATKEY_LIMIT_HISTORIES_PER_IDENTITY",
        rate,
        (
            "Pages of history per minute of one person, or lists and pages of conversations of one agent; 0 "
            "means no limit."
        ),
    )
    yield Setting(
        "CHATKEY_LIMIT_HISTORIES_PER_ADDRESS",
        rate,
        "Pages of history per minute from one client address; 0 means no limit.",
    )
    yield from _quotas()
    yield Setting(
        "CHATKEY_LIMIT_IPV6_PREFIX",
        partial(read.whole, least=32, most=128),
        (
            "Bits of an IPv6 address that identify a client. All addresses of one network of this size are "
            "counted together."
        ),
    )
    yield Setting(
        "CHATKEY_LIMIT_LOG_LINES",
        rate,
        "The most log lines of one kind per second. A burst may have ten times as many. Further lines are not "
        "written but counted, and one line every ten seconds reports the count. A traceback counts as ten "
        "lines. 0 means no limit.",
    )


def _quotas() -> Iterator[Setting]:
    amount = partial(read.whole, least=0, most=999_999_999)
    for name, what in (("MESSAGES", "Messages and calls"), ("KILOBYTES", "Kilobytes of messages")):
        for of, whose in (
            ("IDENTITY", "of one person"),
            ("ADDRESS", "from one client address"),
            ("PROVIDER", "of a business's visitors, and separately of its members"),
        ):
            yield Setting(
                f"CHATKEY_LIMIT_{name}_PER_{of}",
                amount,
                f"{what} per day {whose}; the amount for one hour may be used at once. 0 means no limit.{TOGETHER}",
            )


def _socials() -> Iterator[Setting]:
    for social in SOCIALS:
        start = f"{PREFIX}{social.upper()}"
        yield Setting(
            f"{start}_BROWSER_URL",
            partial(read.address, path=True),
            f"The address at which browsers find {social}. Default: the real address.",
        )
        yield Setting(
            f"{start}_SERVER_URL",
            partial(read.address, path=True, insecure=True),
            f"The address at which this server finds {social}. Default: the real address.",
        )
        yield Setting(
            f"{start}_ISSUER",
            partial(read.address, path=True, insecure=True),
            f"The issuer in the id_tokens of {social}.",
        )


SETTINGS: tuple[Setting, ...] = (*_general(), *_limits(), *_socials())
"""All settings, in the order of the documentation."""
