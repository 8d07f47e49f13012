"""Why a model predicts what it predicts. ``glognn.explain(model, data, nodes)`` is ``explainer.explain``.

The package and the function have one name, so that the package is called: Python lets a module have a class of its own.
"""

import sys
from types import ModuleType
from typing import Any


class _Explain(ModuleType):
    __module__ = "glognn.explain.explainer"

    def __call__(self, *given: Any, **named: Any) -> Any:
        from glognn.explain.explainer import explain

        return explain(*given, **named)


sys.modules[__name__].__class__ = _Explain
