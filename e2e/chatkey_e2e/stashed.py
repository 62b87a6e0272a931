"""Keys of pytest's stash, in which hooks keep objects for later hooks. The witness has its key beside its class."""

from pathlib import Path

import pytest

from chatkey_e2e import keeping
from chatkey_e2e.aim.aim import Aim
from chatkey_e2e.aim.known import KnownFailures
from chatkey_e2e.aim.widget import WidgetAim
from chatkey_e2e.misbehaviour import Faults, Marks
from chatkey_e2e.timings import Timings
from chatkey_stack import browsers

kept_key = pytest.StashKey[keeping.Kept]()
found_key = pytest.StashKey[dict[str, browsers.Found]]()
folder_key = pytest.StashKey[Path]()
marks_key = pytest.StashKey[Marks]()
faults_key = pytest.StashKey[list[Faults]]()
aim_key = pytest.StashKey[Aim]()
widget_key = pytest.StashKey[WidgetAim]()
known_key = pytest.StashKey[KnownFailures]()
timings_key = pytest.StashKey[Timings]()
