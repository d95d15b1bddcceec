"""Where the boxes of a `Picture` stand, and its SVG.

A node's layer is the longest way to it. In a layer nodes stand in the order of the mean place of their neighbours, which keeps
most arrows apart (the barycenter heuristic of Sugiyama, Tagawa and Toda, 1981).
"""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

_LETTER, _LINE, _PADDING = 6.6, 15.0, 8.0
_GAP_X, _GAP_Y = 24.0, 44.0
_SWEEPS = 6


def layers_of(names: list[str], edges: list[Any]) -> list[list[str]]:
    """Return the names by layer, each after all that lead to it.

    Raises
    ------
    ValueError
        If the edges go in a circle.
    """
    targets: dict[str, list[str]] = {name: [] for name in names}
    waiting = dict.fromkeys(names, 0)
    for edge in edges:
        targets[edge.source].append(edge.target)
        waiting[edge.target] += 1
    depth = dict.fromkeys(names, 0)
    ready = [name for name in names if not waiting[name]]
    done = 0
    while done < len(ready):
        name = ready[done]
        done += 1
        for target in targets[name]:
            depth[target] = max(depth[target], depth[name] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    if done < len(names):
        raise ValueError("the edges of the picture go in a circle, so that it has no layers; write it with dot()")
    # What nothing leads to stands right above what it leads to.
    reached = {edge.target for edge in edges}
    for name in ready:
        if targets[name] and name not in reached:
            depth[name] = min(depth[target] for target in targets[name]) - 1
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in names:
        layers[depth[name]].append(name)
    return layers


def ordered(layers: list[list[str]], edges: list[Any]) -> list[list[str]]:
    """Return the layers with each in the order of its neighbours' mean places."""
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for edge in edges:
        above.setdefault(edge.target, []).append(edge.source)
        below.setdefault(edge.source, []).append(edge.target)
    place = {name: float(i) for layer in layers for i, name in enumerate(layer)}
    for sweep in range(_SWEEPS):
        neighbours = above if sweep % 2 == 0 else below
        for layer in layers if sweep % 2 == 0 else reversed(layers):

            def mean(name: str, neighbours: dict[str, list[str]] = neighbours) -> float:
                others = neighbours.get(name)
                return sum(place[o] for o in others) / len(others) if others else place[name]

            layer.sort(key=mean)
            place.update({name: float(i) for i, name in enumerate(layer)})
    return layers


def svg_of(picture: Any) -> str:
    """Return a picture as SVG."""
    from minitorch.viz.picture import COLOURS

    layers = ordered(layers_of(list(picture.nodes), picture.edges), picture.edges)
    sizes = {
        name: (max(len(line) for line in node.lines) * _LETTER + 2 * _PADDING, len(node.lines) * _LINE + 2 * _PADDING)
        for name, node in picture.nodes.items()
    }
    widths = [sum(sizes[name][0] for name in layer) + _GAP_X * (len(layer) - 1) for layer in layers]
    width = max(widths, default=0.0) + 2 * _GAP_X
    boxes: dict[str, tuple[float, float, float, float]] = {}
    top = _GAP_X + (_LINE if picture.title else 0.0)
    for layer, layer_width in zip(layers, widths, strict=True):
        left = (width - layer_width) / 2
        height = max(sizes[name][1] for name in layer)
        for name in layer:
            w, h = sizes[name]
            boxes[name] = (left, top + (height - h) / 2, w, h)
            left += w + _GAP_X
        top += height + _GAP_Y
    height = top - _GAP_Y + _GAP_X if layers else _GAP_X
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="11">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    if picture.title:
        lines.append(f'<text x="{width / 2:.1f}" y="{_LINE:.1f}" text-anchor="middle">{escape(picture.title)}</text>')
    for edge in picture.edges:
        x1, y1, w1, h1 = boxes[edge.source]
        x2, y2, w2, _ = boxes[edge.target]
        start, end = (x1 + w1 / 2, y1 + h1), (x2 + w2 / 2, y2)
        bend = (end[1] - start[1]) / 2
        lines.append(
            f'<path d="M{start[0]:.1f},{start[1]:.1f} C{start[0]:.1f},{start[1] + bend:.1f} {end[0]:.1f},{end[1] - bend:.1f} '
            f'{end[0]:.1f},{end[1]:.1f}" fill="none" stroke="#555" marker-end="url(#arrow)"/>'
        )
        if edge.label:
            x, y = (start[0] + end[0]) / 2 + 4, (start[1] + end[1]) / 2
            lines.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="9" fill="#333">{escape(edge.label)}</text>')
    for name, (x, y, w, h) in boxes.items():
        node = picture.nodes[name]
        fill = COLOURS.get(node.kind, "#ffffff")
        lines.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="4" fill="{fill}" stroke="#555"/>'
        )
        for i, text in enumerate(node.lines):
            baseline = y + _PADDING + _LINE * (i + 0.75)
            lines.append(f'<text x="{x + w / 2:.1f}" y="{baseline:.1f}" text-anchor="middle">{escape(text)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"
