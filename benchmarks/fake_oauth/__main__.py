"""Compare the fake provider with its peers: cold start, memory, discovery, complete logins, and 100,000 logins of ours.

Peers are `oidc-provider-mock` (PyPI), `oauth2-mock-server`, and the Google of `emulate` (npm, installed into a
temporary folder). Each server is started with its own command, as shipped, with one worker. Ours has its lab on, except
as `ours_no_lab`. Rounds are interleaved, so that other load on the machine affects all of them. A figure is the median
of its rounds, a comparison the median of the rounds' ratios. A login is everything that a browser and a backend do
together: the authorization request with state, nonce and PKCE, the consent form if there is one, exchanging the code
for tokens, and the profile. Each round has a fixed number of logins, not a fixed time, so that all servers have done
the same work when memory is read. Memory is the resident set of the whole process tree. The client is plain asyncio;
its maximum rate is measured against a server that sends the same bytes without parsing the request.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.fake_oauth.clients import discovery_rate, login_rate
from benchmarks.fake_oauth.servers import Server, memory, running, servers

ROUNDS: Final = 7
STARTS: Final = 7
WARM_UP_LOGINS: Final = 6_000
MANY_LOGINS: Final = 100_000
KINDS: Final = ("id_token", "plain")
MANY: Final = f"memory_{MANY_LOGINS}_logins_mb"
MEMORY_RATIO: Final = 1.3
MEMORY_GROWTH: Final = 1.02
NODE_RATIO: Final = 1.3


def main() -> None:
    """Run the benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Figures(servers(Path(folder)))
        figures.starts()
        figures.loads()
        figures.many_logins()
        figures.report()


class Figures:
    """Takes the measurements, prints them and compares them with the targets.

    A figure has one value per round and server.
    """

    def __init__(self, found: dict[str, Server]) -> None:
        self.servers = found
        self.rounds: dict[str, dict[str, list[float]]] = {}

    def starts(self) -> None:
        """Measure the cold start: from running the command to the first 200 for the discovery document."""
        times: dict[str, list[float]] = {name: [] for name in self.servers if name != "ceiling"}
        for _ in range(STARTS):
            for name, taken in times.items():
                began = time.perf_counter()
                with running(self.servers[name]):
                    taken.append((time.perf_counter() - began) * 1000)
        self.note("cold_start_ms", times)

    def loads(self) -> None:
        """Measure memory after the start, discovery, logins of both kinds, and memory after the logins."""
        with ExitStack() as stack:
            pids = {name: stack.enter_context(running(server)) for name, server in self.servers.items()}
            self.note("memory_start_mb", {name: [memory(pid)] for name, pid in pids.items()})
            self.in_turns("discovery_per_s", discovery_rate, set(KINDS))
            for kind in KINDS:
                self.in_turns(f"logins_{kind}_per_s", partial(login_rate, kind=kind), {kind})
            self.note("memory_logins_mb", {name: [memory(pid)] for name, pid in pids.items()})

    def in_turns(self, figure: str, measure: Callable[[Server], float], kinds: set[str]) -> None:
        """After a warm-up round, measure each server that supports all these kinds of login, once per round."""
        rates: dict[str, list[float]] = {name: [] for name, one in self.servers.items() if kinds <= one.logins.keys()}
        for number in range(ROUNDS + 1):
            for name in sorted(rates, reverse=bool(number % 2)):
                rates[name].append(measure(self.servers[name]))
        self.note(figure, {name: measured[1:] for name, measured in rates.items()})

    def many_logins(self) -> None:
        """Measure our memory before and after many logins. Warm-up logins fill every ring buffer first."""
        ours = self.servers["ours"]
        with running(ours) as pid:
            for kind in KINDS:
                login_rate(ours, kind, WARM_UP_LOGINS)
            before = memory(pid)
            for kind in KINDS:
                login_rate(ours, kind, MANY_LOGINS // len(KINDS))
            self.note(MANY, {"before": [before], "after": [memory(pid)]})

    def note(self, figure: str, values: dict[str, list[float]]) -> None:
        """Store and print a figure."""
        self.rounds[figure] = values
        print(f"{figure:<26}" + "  ".join(f"{name} {median(each):,.0f}" for name, each in values.items()), flush=True)

    def report(self) -> None:
        """Print `true` or `false` for each target, then one line of JSON for programs."""
        reached = self.reached()
        for target, is_reached in reached.items():
            print(f"  {str(is_reached).lower():<5} {target}")
        figures = {
            figure: {name: round(median(each), 1) for name, each in values.items()}
            for figure, values in self.rounds.items()
        }
        print(json.dumps({"bench": "fake-oauth", "ahead": all(reached.values()), "reached": reached, **figures}))

    def reached(self) -> dict[str, bool]:
        """Return every target, and whether our server reaches it."""
        flask, node, emulate = "oidc_provider_mock", "oauth2_mock_server", "emulate"
        many = self.rounds[MANY]
        return {
            "starts before every peer": all(self.of("cold_start_ms", peer) < 1 for peer in (flask, node, emulate)),
            "more discovery than every peer": all(self.of("discovery_per_s", peer) >= 1 for peer in (flask, node)),
            "more logins than oidc-provider-mock": all(self.of(f"logins_{kind}_per_s", flask) > 1 for kind in KINDS),
            f"{NODE_RATIO} times the logins of oauth2-mock-server": all(
                self.of(f"logins_{kind}_per_s", node) >= NODE_RATIO for kind in KINDS
            ),
            f"{NODE_RATIO} times the logins of emulate's Google": (
                self.of("logins_id_token_per_s", emulate) >= NODE_RATIO
            ),
            f"memory below {MEMORY_RATIO} of oidc-provider-mock": all(
                self.of(f"memory_{when}_mb", flask) < MEMORY_RATIO for when in ("start", "logins")
            ),
            f"memory stays over {MANY_LOGINS} logins": many["after"][0] < many["before"][0] * MEMORY_GROWTH,
        }

    def of(self, figure: str, peer: str) -> float:
        """Return our figure divided by a peer's: the median of the rounds' ratios."""
        values = self.rounds[figure]
        return median(ours / other for ours, other in zip(values["ours"], values[peer], strict=True))


if __name__ == "__main__":
    main()
