"""Compiles the native core when a wheel or an editable installation is made; without a compiler it is left out.

``GLOGNN_PURE=1`` leaves it out where there is one, too: the wheel is then one for every platform.
"""

from __future__ import annotations

import importlib.util
import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeBuildHook(BuildHookInterface[Any]):
    """The libraries depend on the platform but on no version of Python: the tag is py3-none-<platform>."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root) / "src/glognn/native/build.py"
        spec = importlib.util.spec_from_file_location("native_build", source)
        assert spec is not None
        assert spec.loader is not None
        native = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(native)
        if os.environ.get("GLOGNN_PURE", "0") != "0":
            return
        try:
            native.build()
        except RuntimeError as error:
            native.remove()
            self.app.display_warning(f"The native core is left out, training will use PyTorch alone: {error}.")
            return
        build_data["artifacts"] = ["src/glognn/native/*.so"]
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
