"""Writes the list of what a wheel contains and installs, as CycloneDX 1.6, beside the wheel.

Run it with a Python in which the wheel and all its extras are installed.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from base64 import b64decode
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
BUNDLED: Final = {"pyodide": ("MPL-2.0", "widget_sim/pyodide"), "@mermaid-js/tiny": ("MIT", "tools/site")}
"""Packages of npm whose files are in the wheel, with licence and folder. NOTICE.md says more about them."""
UNPACKED: Final = ("pip", "setuptools", "uv")
"""Tools of the environment, which chatkey does not need."""


def main() -> None:
    """Write the list beside the wheel that the command line names."""
    wheel = Path(sys.argv[1])
    name, version = wheel.name.split("-")[:2]
    found = sorted(distributions(), key=lambda each: each.name.lower())
    needed = [_installed(each) for each in found if each.name.lower() not in (name, *UNPACKED)]
    digest = {"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}
    itself = {**_component(name, version, _licence(), f"pkg:pypi/{name}@{version}"), "hashes": [digest]}
    listed = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**itself, "components": _bundled()}},
        "components": needed,
    }
    file = wheel.with_name(f"{name}-{version}.cdx.json")
    file.write_text(json.dumps(listed, indent=2, sort_keys=True) + "\n", "utf-8")
    sys.stdout.write(f"{file.name}: {len(needed)} packages\n")


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


def _bundled() -> list[dict[str, Any]]:
    made = []
    for name, (licence, folder) in BUNDLED.items():
        entry = json.loads((ROOT / folder / "package-lock.json").read_text("utf-8"))["packages"][f"node_modules/{name}"]
        content = b64decode(entry["integrity"].removeprefix("sha512-")).hex()
        component = _component(
            name, entry["version"], licence, f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}"
        )
        made.append({**component, "hashes": [{"alg": "SHA-512", "content": content}]})
    return made


def _licence() -> str:
    licence: str = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["license"]
    return licence


if __name__ == "__main__":
    main()
