from collections.abc import Sequence
from pathlib import Path

def pgexec(command: str, args: Sequence[str], bin_path: Path, *, user: str | None = None) -> str: ...
