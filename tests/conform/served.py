"""Runs our own server as a target, and writes the TARGET.toml files that describe it."""

from __future__ import annotations

import os
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatkey_stack.applications import Application
from chatkey_stack.lab import ServiceLab, SocialKeys

HERE = Path(__file__).parent
ADAPTER = HERE / "adapter.py"
UNLIMITED = "token_rate = 0\noauth_rate = 0"


@dataclass(frozen=True)
class Served:
    base_url: str
    folder: Path

    @property
    def lab(self) -> str:
        return f"{self.base_url}/lab"

    def target(self, businesses: str, *, have: list[str] | None = None, limits: str = "", name: str = "t") -> Path:
        """Write a TARGET.toml with the given [businesses] table, and return the path of the file."""
        path = self.folder / f"{name}.toml"
        declared = f"have = {have!r}\n" if have is not None else ""
        limits = limits or UNLIMITED
        head = f'[target]\nname = "ours"\nversion = "1"\nbase_url = "{self.base_url}"\n{declared}'
        path.write_text(f"{head}[businesses]\n{businesses}\n[limits]\n{limits}\n")
        assert tomllib.loads(path.read_text())
        return path

    def by_lab(self, **given: Any) -> Path:
        return self.target(f'grade = "lab"\nurl = "{self.lab}"', **given)

    def by_command(self, **given: Any) -> Path:
        command = [sys.executable, str(ADAPTER)]
        return self.target(f'grade = "command"\ncommand = {command!r}', **given)

    def by_hand(self, count: int, *, have: list[str], **given: Any) -> Path:
        """Create `count` businesses, and write a TARGET.toml of grade `prepared` that lists them."""
        lab = ServiceLab(self.base_url, None)
        tables = []
        for number in range(count):
            keys = SocialKeys("own", Application("", "shop-client", "shop-client-secret"))
            socials = {name.removeprefix("social:"): keys for name in have if name.startswith("social:")}
            made = lab.add_provider(domains=[f"shop-{number}.example"], socials=socials)
            os.environ[f"CONFORM_SECRET_{number}"] = made.secret_key
            tables.append(
                f'[[businesses.prepared]]\nid = "{made.id}"\nsecret_key_env = "CONFORM_SECRET_{number}"\n'
                f'origins = ["https://shop-{number}.example"]\n'
            )
        lab.close()
        return self.target('grade = "prepared"\n' + "".join(tables), have=have, **given)
