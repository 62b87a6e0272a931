"""Measures how many messages a deployment on several hosts loses, and what each message costs.

Run it with `nox -s bench -- hosts`, optionally with names of figures. Hosts, PostgreSQL, Redis and the users are
network namespaces, which only root can create. `--quick` does everything once with fewer users and messages.
`--times=5` repeats each fault five times. Figures are counts and ratios. Seconds and milliseconds apply to this machine
only. If the kernel has netem, each link gets a delay and packet loss, otherwise the links are perfect. The line of JSON
says whether netem was used.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.hosts import costs, faults, many, network, proxy, upgrade, volume
from benchmarks.hosts.deployment import Machines
from benchmarks.hosts.sizes import QUICK, WHOLE, Size

from chatkey_stack.process import ended_in_order

Figure = dict[str, object]
Measure = Callable[[Machines, Size], Awaitable[Figure]]

TIMES: Final = "--times="
MEASURES: Final[Mapping[str, Measure]] = {
    **{name: partial(faults.measure, name=name) for name in faults.FAULTS},
    "clock-behind": faults.clock_behind,
    "process-killed-crowd": many.killed,
    "restart": many.restart,
    "stampede": many.stampede,
    "idle-proxy": proxy.idle,
    "latency": costs.latency,
    "processor": costs.processor,
    "message": costs.message,
    "idle": many.idle,
    "volume": volume.measure,
    "upgrade": upgrade.measure,
}


def main() -> None:
    """Measure the figures named on the command line, or all of them."""
    words = sys.argv[1:]
    names = [word for word in words if not word.startswith("--")] or [*MEASURES]
    unknown = set(names) - set(MEASURES)
    if unknown:
        sys.exit(f"Unknown figures: {', '.join(sorted(unknown))}. Known are {', '.join(MEASURES)}.")
    reason = network.why_not()
    if reason is not None:
        print(json.dumps({"bench": "hosts", "skipped": reason}))
        return
    if network.INSIDE not in words:
        network.enter()
    size = QUICK if "--quick" in words else WHOLE
    times = [int(word.removeprefix(TIMES)) for word in words if word.startswith(TIMES)]
    with ended_in_order():
        asyncio.run(run(names, size._replace(times=times[-1]) if times else size))


async def run(names: list[str], size: Size) -> None:
    """Measure the figures. Prints each figure for people, and all figures as one line of JSON for programs."""
    figures: dict[str, Figure] = {}
    with tempfile.TemporaryDirectory(prefix="chatkey-hosts-") as folder:
        machines = Machines(Path(folder), costs.MOST_HOSTS)
        with machines.running():
            for name in names:
                began = time.monotonic()
                figures[name] = await MEASURES[name](machines, size)
                said = ", ".join(f"{what} {value}" for what, value in figures[name].items())
                print(f"  {name:<21} {said}  ({time.monotonic() - began:.0f} s)", flush=True)
    print(json.dumps({"bench": "hosts", "netem": machines.network.has_netem, **figures}))


if __name__ == "__main__":
    main()
