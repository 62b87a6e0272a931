"""Measures how many messages a deployment on several hosts loses, and what each message costs.

Run it with `nox -s bench -- hosts`, optionally with names of figures. Hosts, PostgreSQL, Redis and the users are
network namespaces, which only root can create. `--quick` does everything once with fewer users and messages.
`--times=5` repeats each fault five times. Figures are counts and ratios. Seconds and milliseconds apply to this machine
only.

- `redis-killed`, `redis-paused`, `postgres-killed`, `postgres-paused`, `process-killed`, `process-ended`,
  `redis-replaced`, `cut-from-redis`, `long-cut-from-redis`, `cut-from-postgres`, `cut-from-clients`: the name says
  which part fails, and how. `lost` counts acknowledged messages that are not stored, `unknown` those that are missing
  on an open page, and `doubled` those that a page shows twice. The other figure is the time until the last tab and
  the last agent panel work again (median and maximum), including the time that a page waits before it reconnects
- `clients-offline`: the same figures, while the people are cut off from every host for 15 seconds
- `process-stopped`: the same, while a process is stopped for 20 seconds and keeps its connections
- `disk-full`: the same, while the disk of PostgreSQL's data, but not of its write-ahead log, is full for 10 seconds
- `pool-exhausted`: the same, while every query waits for a lock for 10 seconds and occupies a connection of a pool
- `packet-loss`: the same, while one packet in ten between people and hosts is lost, in each direction, for 30 seconds
- `clock-behind`: people write while Redis is unavailable and the clock of one host is 300 seconds ahead. `unheard`
  counts the messages that were missing on a page when Redis came back, and `known_s` is the time until none was
  missing, although nobody wrote any more
- `idle-proxy`: whether nginx, which closes a silent connection after a minute, closes the connections of people who do
  nothing for 150 seconds. Skipped without nginx
- `stampede`: the time until 2,000 widgets whose connections broke at once are connected again, and how long the
  messages of other people take meanwhile
- `process-killed-crowd`: the time until 2,000 widgets of a killed process are connected to other processes
- `restart`: the time until 2,000 widgets are connected again to a restarted process, and their close code
- `latency`: the 99th percentile of the time of a message to a tab on another host, compared with the same host
- `processor`: the processor time per delivered message on four hosts, compared with one host
- `idle`: the memory of an idle, authenticated socket
- `volume`: the time of a history, of a search and of the agents' list with a million messages, compared with ten
  thousand, for both databases, in a conversation of constant length and in one with a tenth of all messages
- `upgrade`: the time that messages wait for their acknowledgement (typical and maximum) while the migrations of an
  imagined next release run in a database with a million messages, and the longest wait for the lock of a table.
  Afterwards, members write through servers of both releases. At the end, the same with an index that is not built
  concurrently

`packet-loss` uses an nftables rule, because many kernels have no netem. If the kernel has netem (`"netem"` in the
output), every link has a delay of 1 ms and loses one packet in a thousand, in each direction.
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
