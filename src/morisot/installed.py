"""Which modules are installed, so that workers can import them."""

from __future__ import annotations

import site
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

_INSTALLED = tuple(
    str(Path(directory).resolve())
    for directory in {*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_paths()["stdlib"]}
)
_OWN = str(Path(sys.modules[__name__.partition(".")[0]].__path__[0]).resolve())
"""The directory of Morisot, which workers import."""


def is_users(module: ModuleType) -> bool:
    """Whether a module is the user's: neither installed nor Morisot's."""
    file = getattr(module, "__file__", None)
    if file is None:
        return False
    path = str(Path(file).resolve())
    return not path.startswith((*_INSTALLED, _OWN))


def is_installed(module: ModuleType) -> bool:
    """Whether a module is built in, installed, or Morisot's. A module without a file may be `__main__` of a prompt."""
    has_file = getattr(module, "__file__", None) is not None
    return not is_users(module) if has_file else module.__name__ in sys.builtin_module_names
