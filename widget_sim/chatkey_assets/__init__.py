"""The files that the service sends to browsers: Pyodide, the widget's snapshot, and the script that starts both."""

from pathlib import Path
from typing import Final

BUILT: Final = Path(__file__).parent / "built"
"""The folder of the files. In a checkout, `python widget_sim/build_assets.py` writes it."""
