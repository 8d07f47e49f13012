"""How fast training is. ``glognn.bench(...)`` is ``suite.bench``.

The package and the function have one name, so that the package is called, as :mod:`glognn.explain` is.
"""

import sys
from types import ModuleType
from typing import Any


class _Bench(ModuleType):
    __module__ = "glognn.bench.suite"

    def __call__(self, *given: Any, **named: Any) -> Any:
        from glognn.bench.suite import bench

        return bench(*given, **named)


sys.modules[__name__].__class__ = _Bench
