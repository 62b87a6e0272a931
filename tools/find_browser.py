"""Says which browser of a kind can be driven on this machine, or why none can: `python tools/find_browser.py firefox`.

The last line begins with `found` when there is one.
"""

from __future__ import annotations

import os
import sys

from playwright.sync_api import sync_playwright

from chatkey_stack import browsers


def main(kind: str) -> str:
    """Find a browser of this kind, installing it if that is possible."""
    with sync_playwright() as playwright:
        try:
            return f"found {browsers.find(browsers.machine(playwright, os.environ | {'CHATKEY_BROWSER': kind}))}"
        except browsers.NoBrowserError as error:
            return str(error)


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1])}\n")
