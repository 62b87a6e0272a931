"""Pages whose scripts contain the secret, somewhere behind the first script and in another form; and pages without."""

from __future__ import annotations

from typing import ClassVar

from tests.check.mutants.mutant_backend import BROKEN, SECRET, UNUSUAL, Backend, register
from tests.check.mutants.mutant_server import Answer, Request

ESCAPED = "".join(f"\\x{ord(char):02x}" for char in SECRET)
UNICODE = "".join(f"\\u{ord(char):04x}" for char in SECRET)
ENTITIES = "".join(f"&#{ord(char)};" for char in SECRET)


class Page(Backend):
    """Serves a page at `/page`, and its files."""

    options = {"page_url": "{base}/page"}
    files: ClassVar[dict[str, str]]

    async def handle(self, request: Request) -> Answer:
        text = self.files.get(request.path)
        if text is None:
            return await super().handle(request)
        kind = "text/html" if request.path == "/page" else "text/javascript"
        return Answer(200, [("Content-Type", kind)], text.encode())


def page(name: str, first: str, **files: str) -> None:
    named = {f"/{path}.js": text for path, text in files.items()}
    members = {"files": {"/page": first, **named}}
    register(BROKEN if name.islower() else UNUSUAL)(name)(type("OnePage", (Page,), members))


MODULE = '<script type="module" src="a.js"></script>'
HELD = f'const key = "{SECRET}"'
page("secret-in-nested-import", MODULE, a='import { b } from "./b.js"', b='import("./c.js")', c=HELD)
page("secret-in-minified-import", MODULE, a='import{b as c}from"./b.js";c()', b=HELD)
page("secret-in-preloaded-module", '<link rel="modulepreload" href="a.js">', a=HELD)
page("secret-in-import-map", '<script type="importmap">{"imports": {"shop": "./a.js"}}</script>', a=HELD)
page("secret-in-worker", MODULE, a='new Worker(new URL("./b.js", import.meta.url))', b=HELD)
page("secret-in-source-map", MODULE, a="x()\n//# sourceMappingURL=b.js", b=HELD)
page("secret-in-configuration", MODULE, a='fetch("config.js").then(start)', config=HELD)
page("secret-escaped", MODULE, a=f'const key = "{ESCAPED}"')
page("secret-escaped-unicode", MODULE, a=f'const key = "{UNICODE}"')
page("secret-as-entities", f'<div data-key="{ENTITIES}"></div>')
page("PageOfModules", MODULE, a='import { b } from "./b.js"; import "shop"', b="export const b = 1; import('./a.js')")
