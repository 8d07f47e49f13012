"""Why a model predicts what it predicts.

The package has the name of the public function ``glognn.explain``, so that the package is called: Python lets a module
have a class of its own.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from glognn import _HOMES


class _Explain(ModuleType):
    __module__ = _HOMES["explain"]

    def __call__(self, *given: Any, **named: Any) -> Any:
        return import_module(self.__module__).explain(*given, **named)


sys.modules[__name__].__class__ = _Explain
