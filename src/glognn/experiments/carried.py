"""Files that an object carries with it."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class CarriedFolder:
    """A temporary folder that is removed with its object; copies and pickles of that have their own, with its files."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="glognn-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __getstate__(self) -> dict[str, bytes]:
        files = (path for path in sorted(self.path.rglob("*")) if path.is_file())
        return {path.relative_to(self.path).as_posix(): path.read_bytes() for path in files}

    def __setstate__(self, files: dict[str, bytes]) -> None:
        CarriedFolder.__init__(self)
        for name, content in files.items():
            place = self.path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
