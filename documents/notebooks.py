"""``python -m documents.notebooks [NAME ...]``: run notebooks of docs/notebooks and keep what they show; their pages.

A cell is run as plain Python, one after another in one namespace, in an empty folder. Kept are what it prints, the
value of its last line and the figures that are open at its end, as Jupyter keeps them.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "docs" / "notebooks"

Notebook = dict[str, Any]


def read(path: Path) -> Notebook:
    found: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return found


def run(notebook: Notebook, changed: Callable[[str], str] = lambda code: code) -> None:
    """Run the cells in an empty folder and put what they show into the notebook; ``changed`` may alter their code."""
    names: dict[str, Any] = {"__name__": "notebook"}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
            for number, cell in enumerate(cells, 1):
                cell["execution_count"], cell["outputs"] = (
                    number,
                    _run_cell(changed(_text(cell["source"])), names, number),
                )
        finally:
            os.chdir(here)


def _run_cell(code: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    tree = ast.parse(code, f"cell {number}")
    last = tree.body[-1] if tree.body and not code.rstrip().endswith(";") else None
    value, said = None, io.StringIO()
    with redirect_stdout(said):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(tree.body[:-1], []), f"cell {number}", "exec"), names)
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        else:
            exec(compile(tree, f"cell {number}", "exec"), names)
    outputs: list[dict[str, Any]] = []
    if said.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": said.getvalue().splitlines(keepends=True)})
    for figure in map(pyplot.figure, pyplot.get_fignums()):
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=80, bbox_inches="tight", metadata={"Software": None})
        drawn = {"image/png": base64.b64encode(picture.getvalue()).decode("ascii")}
        outputs.append({"output_type": "display_data", "data": drawn, "metadata": {}})
    pyplot.close("all")
    if value is not None:
        shown: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "execution_count": number, "data": shown, "metadata": {}})
    return outputs


def _text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def pages() -> dict[str, str]:
    """A page for each notebook, by its place in the site."""
    return {
        f"notebooks/{path.stem}.md": to_markdown(read(path), path.name) for path in sorted(NOTEBOOKS.glob("*.ipynb"))
    }


def to_markdown(notebook: Notebook, name: str) -> str:
    """Cells and what they show, under a link to the notebook itself."""
    parts = []
    for cell in notebook["cells"]:
        text = _text(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        parts += [_shown(output) for output in cell.get("outputs", [])]
    title, _, rest = "\n\n".join(parts).partition("\n")
    return f"{title}\n\nThis page is a notebook: [{name}]({name}).\n{rest}\n"


def _shown(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{_text(output['text']).rstrip()}\n```"
    data = output["data"]
    if "image/png" in data:
        return f"![What the cell above draws](data:image/png;base64,{data['image/png']})"
    if "text/html" in data:
        lines = (line.strip() for line in _text(data["text/html"]).partition("</style>")[2].splitlines())
        return "".join(lines).removesuffix("</div>").replace(' border="1" class="dataframe"', "")
    return f"```text\n{_text(data['text/plain']).rstrip()}\n```"


def main() -> None:
    wanted = [NOTEBOOKS / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.ipynb"))
    for path in wanted:
        notebook = read(path)
        run(notebook)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(notebook['cells'])} cells", file=sys.stderr)


if __name__ == "__main__":
    main()
