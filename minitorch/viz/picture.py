"""`Picture`: a directed graph as text, DOT or SVG."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any, NamedTuple

__all__ = ["Edge", "Picture", "PictureNode"]

# Kind of node -> fill, in all pictures.
COLOURS = {
    "operator": "#e8e8e8", "parameter": "#cfe2f3", "input": "#d9ead3", "output": "#fce5cd", "key": "#d9d2e9", "kernel": "#fff2cc",
    "missing": "#f4cccc",
}  # fmt: skip


class PictureNode(NamedTuple):
    """A box: its lines of text, and what kind of thing it stands for (a key of `COLOURS`)."""

    lines: tuple[str, ...]
    kind: str


class Edge(NamedTuple):
    """An arrow between the boxes of two names."""

    source: str
    target: str
    label: str = ""


class Picture:
    """A directed graph without cycles, to be looked at.

    Attributes
    ----------
    nodes : dict of str to PictureNode
        In the order in which they were added.
    edges : list of Edge

    Examples
    --------
    >>> picture = Picture()
    >>> picture.node("a", "x", kind="input")
    >>> picture.node("b", "exp")
    >>> picture.edge("a", "b", "(3,)")
    >>> print(picture.text())
    exp
      <- x  (3,)
    """

    def __init__(self, title: str = ""):
        self.title = title
        self.nodes: dict[str, PictureNode] = {}
        self.edges: list[Edge] = []

    def node(self, name: str, *lines: str, kind: str = "operator") -> None:
        """Add a box, or give the box of that name another content."""
        self.nodes[name] = PictureNode(tuple(lines) or (name,), kind)

    def edge(self, source: str, target: str, label: str = "") -> None:
        """Add an arrow.

        Raises
        ------
        KeyError
            If there is no box of one of the names.
        """
        for name in (source, target):
            if name not in self.nodes:
                raise KeyError(f"Picture.edge: there is no node {name!r}; add it with node() first")
        self.edges.append(Edge(source, target, label))

    def text(self) -> str:
        """Return the graph as indented lines: below each node those that lead to it, unless it came before."""
        sources: dict[str, list[Edge]] = {name: [] for name in self.nodes}
        has_target = set()
        for edge in self.edges:
            sources[edge.target].append(edge)
            has_target.add(edge.source)
        lines = [self.title] if self.title else []
        seen: set[str] = set()
        # The nodes still to be shown, with their depth and the arrow that leads on from them: graphs are deeper than recursion.
        stack: list[tuple[str, int, Edge | None]] = [(n, 0, None) for n in reversed(self.nodes) if n not in has_target]
        while stack:
            name, depth, edge = stack.pop()
            label = ", ".join(self.nodes[name].lines)
            arrow = "<- " if edge is not None else ""
            shape = f"  {edge.label}" if edge is not None and edge.label else ""
            again = name in seen and bool(sources[name])
            lines.append(f"{'  ' * depth}{arrow}{label}{shape}{'  (above)' if again else ''}")
            if not again:
                seen.add(name)
                stack += [(e.source, depth + 1, e) for e in reversed(sources[name])]
        return "\n".join(lines)

    def dot(self) -> str:
        """Return the graph in DOT, the language of Graphviz."""
        lines = [
            "digraph {",
            "  rankdir=TB;",
            '  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=11];',
        ]
        lines.append('  edge [fontname="Helvetica", fontsize=9];')
        if self.title:
            lines += [f"  label={_quoted(self.title)};", "  labelloc=t;"]
        numbers = {name: f"n{i}" for i, name in enumerate(self.nodes)}
        for name, node in self.nodes.items():
            fill = COLOURS.get(node.kind, "#ffffff")
            lines.append(f'  {numbers[name]} [label={_quoted(*node.lines)}, fillcolor="{fill}"];')
        for edge in self.edges:
            label = f" [label={_quoted(edge.label)}]" if edge.label else ""
            lines.append(f"  {numbers[edge.source]} -> {numbers[edge.target]}{label};")
        return "\n".join([*lines, "}"]) + "\n"

    def svg(self) -> str:
        """Return the graph as an SVG image, laid out in layers from top to bottom."""
        from minitorch.viz.layout import svg_of

        return svg_of(self)

    def save(self, path: Any) -> None:
        """Write the picture; what the name ends in says how: ``.svg``, ``.dot``, ``.txt``, or ``.png`` and ``.pdf`` by Graphviz.

        Raises
        ------
        ValueError
            If it ends in something else.
        RuntimeError
            If Graphviz' program ``dot`` is needed and not there, or fails.
        """
        path = os.fspath(path)
        kind = os.path.splitext(path)[1].lower()
        if kind in (".png", ".pdf"):
            _render(self.dot(), path, kind[1:])
            return
        texts = {".svg": self.svg, ".dot": self.dot, ".gv": self.dot, ".txt": self.text}
        if kind not in texts:
            raise ValueError(f"save(): {path} must end in .svg, .dot, .gv, .txt, .png or .pdf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(texts[kind]())

    def _repr_svg_(self) -> str:
        return self.svg()

    __str__ = text

    def __repr__(self) -> str:
        return f"<Picture of {len(self.nodes)} nodes and {len(self.edges)} edges>"


def _quoted(*lines: str) -> str:
    inner = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return f'"{inner}"'


def _render(text: str, path: str, kind: str) -> None:
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            f"save(): {path} needs Graphviz' program dot, which is not installed; save as .svg or .dot instead"
        )
    done = subprocess.run([program, f"-T{kind}", "-o", path], input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"save(): dot failed on {path}: {done.stderr.strip()}")
