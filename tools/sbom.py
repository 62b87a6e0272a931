"""Writes the list of what a release contains and installs, as CycloneDX 1.6, beside the wheels.

Run it with a Python in which both wheels and all extras are installed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from base64 import b64decode
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
BUNDLED: Final = {
    "chatkey": ("@mermaid-js/tiny", "MIT", "tools/site"),
    "chatkey-kit": ("pyodide", "MPL-2.0", "widget_sim/pyodide"),
}
"""The package of npm whose files are in each wheel, with licence and folder. NOTICE.md says more about them."""
UNPACKED: Final = {"pip", "setuptools", "uv"}
"""Tools of the environment, which chatkey does not need."""


def main() -> None:
    """Write the list beside the wheels that the command line names, chatkey and chatkey-kit."""
    wheels = [Path(argument) for argument in sys.argv[1:]]
    found = {each.name.lower(): each for each in distributions()}
    itself, kit = (_ours(found.pop(name), wheel) for name, wheel in zip(BUNDLED, wheels, strict=True))
    needed = [_installed(found[name]) for name in sorted(found.keys() - UNPACKED)]
    listed = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": itself},
        "components": [kit, *needed],
    }
    file = wheels[0].with_name(f"{itself['name']}-{itself['version']}.cdx.json")
    file.write_text(json.dumps(listed, indent=2, sort_keys=True) + "\n", "utf-8")
    sys.stdout.write(f"{file.name}: {len(needed)} packages besides our own\n")


def _component(name: str, version: str, licence: str, purl: str) -> dict[str, Any]:
    licences = [{"license": {"name": licence}}] if licence else []
    kind = {"type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl}
    return {**kind, "licenses": licences}


def _installed(found: Distribution) -> dict[str, Any]:
    """Return one installed package. Its licence is an SPDX expression, or else classifiers, or else a name."""
    said: dict[str, Any] = found.metadata.json
    classified = [each.rpartition(" :: ")[2] for each in said.get("classifier", ()) if each.startswith("License ::")]
    # Some authors put the whole text of the licence into the old field.
    name = said.get("license", "").partition("\n")[0]
    licence = said.get("license_expression") or "; ".join(classified) or name
    return _component(found.name, found.version, licence, f"pkg:pypi/{found.name.lower()}@{found.version}")


def _ours(found: Distribution, wheel: Path) -> dict[str, Any]:
    """Return one of our own distributions, with the hash of its wheel and the package of npm that it contains."""
    digest = {"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}
    return {**_installed(found), "hashes": [digest], "components": [_bundled(*BUNDLED[found.name])]}


def _bundled(name: str, licence: str, folder: str) -> dict[str, Any]:
    entry = json.loads((ROOT / folder / "package-lock.json").read_text("utf-8"))["packages"][f"node_modules/{name}"]
    content = b64decode(entry["integrity"].removeprefix("sha512-")).hex()
    purl = f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}"
    return {
        **_component(name, entry["version"], licence, purl),
        "hashes": [{"alg": "SHA-512", "content": content}],
    }


if __name__ == "__main__":
    main()
