"""Real graphs that nothing in the package was chosen on, made from what a Debian machine with Python has.

    python benchmarks/unseen.py tokens --out unseen/tokens.npz
    python benchmarks/unseen.py characters --out unseen/characters.npz       # or functions
    apt-cache dumpavail | python benchmarks/unseen.py packages --out unseen/packages.npz       # or sizes
    python benchmarks/unseen.py verbs --out unseen/verbs.npz < data.verb          # of the package wordnet-base
    jimage extract --dir jdk --include 'regex:/java[.].*[.]class' modules       # of openjdk-17-jre-headless
    find jdk -name '*.class' | python benchmarks/unseen.py classes --out unseen/classes.npz
    python benchmarks/auto.py judge --datasets unseen/tokens.npz --device cpu --threads 2 --out unseen/auto.jsonl
    python benchmarks/defaults.py --models gcn+,linkx --datasets unseen/tokens.npz --out unseen/defaults.jsonl

``tokens``: those of a module of the standard library, each linked to the next, and brackets to their partners and to
what is in them; the class is what a token does in the syntax tree. ``packages``: some of Debian's and what they need;
the class is the section. ``sizes``: the same, and the class is in which fifth of all the installed size is.
``characters``: those of Unicode below 2^16, linked to the one before, to their parts and to their other case; the class
is the general category. ``verbs``: meanings of verbs in WordNet, linked as it links them; the class is the group of
meanings. ``classes``: the named ones of Java's own modules and those whose names are in their code; the class is
what they are declared as (public, final, abstract, an interface, ...). ``functions``: those of Python's own library and
which others they call, by names that few have; the class is what kind of expression they return. Each has three random
splits: half of the nodes for training, a quarter each for validation and test.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import sysconfig
import tokenize
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from torch_geometric.data import Data

from glognn.data.npz import write_npz

MODULE = "argparse"
PACKAGES, CLASSES, SPLITS = 4000, 15, 3
_KINDS = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
_LAST_POINT = 0x10000
_TELLING = {"CAPITAL", "SMALL", "LETTER", "SIGN", "MARK", "SYMBOL", "DIGIT", "NUMBER", "VOWEL", "COMBINING", "MODIFIER"}
_FIELD = re.compile(r"^([A-Za-z-]+): (.*)$", re.MULTILINE)
_TEXT, _CLASS, _TWICE = 1, 7, (5, 6)
_ENTRY = {1: 3, 3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 17: 5, 18: 5, 19: 3, 20: 3}
_DECLARED = {0x1: "public", 0x10: "final", 0x200: "interface", 0x400: "abstract", 0x2000: "annotation", 0x4000: "enum"}
"""Of class files: tags of entries that are text or name a class, or count twice; their bytes, without those of text."""
_OTHER_FOLDERS = {"site-packages", "test", "tests", "idlelib", "lib2to3"}
_FEW_NAMESAKES = 3
_UNNAMED = re.compile(r"\$\d|-info$")


def _graph(x: Any, edges: Sequence[tuple[int, int]], names: Sequence[str]) -> Data:
    """With the most frequent names as classes, and one for all others."""
    frequent = [name for name, _ in Counter(names).most_common(CLASSES)]
    y = torch.tensor([frequent.index(name) if name in frequent else CLASSES for name in names])
    drawn = np.stack([np.random.default_rng(split).permutation(len(y)) for split in range(SPLITS)], axis=1)
    place = torch.from_numpy(np.argsort(drawn, axis=0))
    half, last = len(y) // 2, 3 * len(y) // 4
    return Data(
        x=torch.from_numpy(np.asarray(x, dtype=np.float32)),
        edge_index=torch.tensor(sorted({edge for edge in edges if edge[0] != edge[1]})).T.contiguous(),
        y=y,
        train_mask=place < half,
        val_mask=(place >= half) & (place < last),
        test_mask=place >= last,
    )


def _reduced(counts: Any, width: int) -> Any:
    return TruncatedSVD(width, random_state=0).fit_transform(counts)


def tokens() -> Data:
    spec = find_spec(MODULE)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    found, opened = _roles(ast.parse(source)), list[int]()
    texts, roles, edges = list[str](), list[str](), list[tuple[int, int]]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _KINDS:
            continue
        here = len(texts)
        texts.append(token.string[:30])
        roles.append(found.get(token.start, tokenize.tok_name[token.type]))
        if here:
            edges.append((here - 1, here))
        if token.string in (")", "]", "}") and opened:
            edges.append((opened.pop(), here))
        elif opened:
            edges.append((opened[-1], here))
        if token.string in ("(", "[", "{"):
            opened.append(here)
    letters = HashingVectorizer(analyzer="char_wb", ngram_range=(2, 4), n_features=2**16).transform(texts)
    return _graph(_reduced(letters, 200), edges, roles)


def _roles(tree: ast.AST) -> dict[tuple[int, int], str]:
    """By line and column of a name or constant: the kind of syntax that it is in, and as what."""
    found = {}
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.Name | ast.arg | ast.Constant):
                    found[child.lineno, child.col_offset] = f"{type(parent).__name__}.{field}"
    return found


def packages(index: str, *, sizes: bool = False) -> Data:
    records = {
        found["Package"]: found for block in index.split("\n\n") if "Package" in (found := dict(_FIELD.findall(block)))
    }
    needs = {
        name: [other for part in record.get("Depends", "").split(",") if (other := _named(part)) in records]
        for name, record in records.items()
    }
    drawn = np.random.default_rng(0).choice(sorted(records), PACKAGES, replace=False)
    kept = sorted({*drawn, *(other for name in drawn for other in needs[name])})
    place = {name: number for number, name in enumerate(kept)}
    edges = [(place[name], place[other]) for name in kept for other in needs[name] if other in place]
    installed = np.array([float(records[name].get("Installed-Size", 0)) for name in kept])
    columns = [
        [
            0.0 if sizes else np.log1p(installed[place[name]]),
            0.0 if sizes else np.log1p(float(records[name].get("Size", 0))),
            records[name].get("Architecture") == "all",
            records[name].get("Multi-Arch") == "same",
            np.log1p(len(needs[name])),
        ]
        for name in kept
    ]
    words = HashingVectorizer(n_features=2**16).transform([records[name].get("Description", "") for name in kept])
    x = np.concatenate([np.array(columns, dtype=np.float64), 10 * _reduced(words, 100)], axis=1)
    if sizes:
        return _graph(x, edges, [f"fifth {fifth}" for fifth in 5 * installed.argsort().argsort() // len(kept)])
    return _graph(x, edges, [records[name]["Section"] for name in kept])


def _named(part: str) -> str:
    """The package that one of several needed is, without its version; of alternatives the first."""
    return re.split(r"[ (:|]", part.strip(), maxsplit=1)[0]


def verbs(data: str) -> Data:
    lines = [line.split(" | ", 1) for line in data.splitlines() if not line.startswith("  ")]
    heads, meanings = [head.split(" ") for head, _ in lines], [meaning for _, meaning in lines]
    place = {head[0]: number for number, head in enumerate(heads)}
    edges = []
    for number, head in enumerate(heads):
        start = 5 + 2 * int(head[3], 16)
        for at in range(start, start + 4 * int(head[start - 1]), 4):
            _, other, kind, _ = head[at : at + 4]
            if kind == "v":
                edges.append((number, place[other]))
    words = CountVectorizer(max_features=1000, binary=True, stop_words="english").fit_transform(meanings).toarray()
    return _graph(words, edges, [head[1] for head in heads])


def characters() -> Data:
    """Names without the words that tell the class; edges to the character before, to parts, and to the other case."""
    points = [point for point in range(_LAST_POINT) if unicodedata.name(chr(point), "") and not _drawn_alike(point)]
    place = {point: number for number, point in enumerate(points)}
    names = [" ".join(set(unicodedata.name(chr(point)).split()) - _TELLING) for point in points]
    edges = [(number, number - 1) for number in range(1, len(points))]
    for number, point in enumerate(points):
        parts = [int(part, 16) for part in unicodedata.decomposition(chr(point)).split() if part[0] != "<"]
        cases = [ord(other) for other in (chr(point).upper(), chr(point).lower()) if len(other) == 1]
        edges += [(number, place[other]) for other in (*parts, *cases) if other in place]
    letters = HashingVectorizer(analyzer="char_wb", ngram_range=(2, 4), n_features=2**16).transform(names)
    return _graph(_reduced(letters, 100), edges, [unicodedata.category(chr(point)) for point in points])


def classes(files: str) -> Data:
    """Letters of names are all that is known of a class itself."""
    read = [_declared(Path(file).read_bytes()) for file in sorted(files.split())]
    known = {name: (kind, others) for name, kind, others in read if not _UNNAMED.search(name)}
    place = {name: number for number, name in enumerate(known)}
    edges = [(place[name], place[other]) for name, (_, others) in known.items() for other in others if other in place]
    names = [name.rsplit("/", 1)[-1] for name in known]
    letters = HashingVectorizer(analyzer="char", ngram_range=(2, 4), n_features=2**16, lowercase=False).transform(names)
    return _graph(_reduced(letters, 100), edges, [kind for kind, _ in known.values()])


def _declared(code: bytes) -> tuple[str, str, list[str]]:
    """Of a class file: the name, what it is declared as, and the names of all classes that it refers to."""
    texts, named = dict[int, str](), dict[int, int]()
    number, at = 1, 10
    while number < int.from_bytes(code[8:10]):
        tag, length = code[at], int.from_bytes(code[at + 1 : at + 3])
        if tag == _TEXT:
            texts[number] = code[at + 3 : at + 3 + length].decode(errors="replace")
            at += length
        elif tag == _CLASS:
            named[number] = length
        at += _ENTRY[tag]
        number += 2 if tag in _TWICE else 1
    flags, this = int.from_bytes(code[at : at + 2]), int.from_bytes(code[at + 2 : at + 4])
    kind = " ".join(word for flag, word in _DECLARED.items() if flags & flag)
    return texts[named[this]], kind, [texts[other] for other in named.values()]


def functions() -> Data:
    """Letters of its name, its number of arguments, and whether it is a method are all that is known of one itself."""
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [file for file in sorted(root.rglob("*.py")) if not _OTHER_FOLDERS & set(file.parts)]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    found = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    owners = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    methods = {id(each) for owner in owners for each in owner.body}
    places: dict[str, list[int]] = {}
    for number, node in enumerate(found):
        places.setdefault(node.name, []).append(number)
    edges = [
        (number, other)
        for number, node in enumerate(found)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        for other in places.get(getattr(call.func, "attr", getattr(call.func, "id", "")), [])
        if len(places[found[other].name]) <= _FEW_NAMESAKES
    ]
    letters = HashingVectorizer(analyzer="char", ngram_range=(2, 4), n_features=2**16)
    columns = [[len(node.args.args), id(node) in methods, bool(node.decorator_list)] for node in found]
    x = np.concatenate([_reduced(letters.transform([node.name for node in found]), 100), np.array(columns)], axis=1)
    return _graph(x, edges, [_returned(node) for node in found])


def _returned(node: ast.FunctionDef) -> str:
    """The kind of expression that a function returns last, or that it yields, or nothing."""
    kinds = [type(each.value).__name__ for each in ast.walk(node) if isinstance(each, ast.Return)]
    yields = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node))
    return "yields" if yields else kinds[-1] if kinds else "nothing"


def _drawn_alike(point: int) -> bool:
    """Characters of long lists, whose names are their numbers or sounds."""
    return unicodedata.name(chr(point)).startswith(("CJK ", "HANGUL SYLLABLE", "VARIATION SELECTOR"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", choices=("tokens", "characters", "functions", "packages", "sizes", "verbs", "classes"))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    of_python: dict[str, Callable[[], Data]] = {"tokens": tokens, "characters": characters, "functions": functions}
    of_text: dict[str, Callable[[str], Data]] = {
        "packages": packages,
        "sizes": partial(packages, sizes=True),
        "verbs": verbs,
        "classes": classes,
    }
    made = of_python.get(options.graph)
    data = made() if made is not None else of_text[options.graph](sys.stdin.read())
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_npz(data, options.out)
    sizes = f"{data.num_nodes:,} nodes, {data.num_edges:,} edges, {data.num_features} features"
    print(f"{sizes}, {data.y.unique().numel()} classes")


if __name__ == "__main__":
    main()
