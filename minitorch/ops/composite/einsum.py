"""`einsum`: contraction of tensors named by letters, by pairs, through batched products."""

from __future__ import annotations

import math

from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check

_ELLIPSIS = "..."


def _tokens(text: str) -> list[str]:
    """Return the letters of one operand's subscripts, with ``...`` as one of them."""
    result: list[str] = []
    i = 0
    while i < len(text):
        letter = text[i]
        if letter == " ":
            i += 1
        elif letter == ".":
            check(
                text[i : i + 3] == _ELLIPSIS and _ELLIPSIS not in result,
                f"einsum(): found '.' in {text!r} that is not part of any ellipsis, or a second "
                "ellipsis",
            )
            result.append(_ELLIPSIS)
            i += 3
        else:
            check(
                letter.isalpha() and letter.isascii(),
                f"einsum(): invalid subscript given: {letter!r}, subscripts must be in [a-zA-Z]",
            )
            result.append(letter)
            i += 1
    return result


def parse(equation: str, ndims: list[int]) -> tuple[list[list], list]:
    """Return each operand's labels and the output's.

    Labels are letters, and integers for the dimensions of an ellipsis, counted from its end
    so that they line up as in broadcasting.

    Raises
    ------
    RuntimeError
        If the equation is malformed or does not fit the numbers of dimensions.
    """
    left, arrow, right = equation.partition("->")
    operands = [_tokens(part) for part in left.split(",")]
    check(
        len(operands) == len(ndims),
        f"einsum(): {'more' if len(operands) < len(ndims) else 'fewer'} operands were provided "
        f"than specified in the equation: {len(ndims)} for {len(operands)} in {equation!r}",
    )
    widest = 0
    labels: list[list] = []
    for place, (tokens, ndim) in enumerate(zip(operands, ndims, strict=True)):
        named = len(tokens) - (_ELLIPSIS in tokens)
        covered = ndim - named
        check(
            covered == 0 or (covered > 0 and _ELLIPSIS in tokens),
            f"einsum(): the number of subscripts in the equation ({named}) does not match the "
            f"number of dimensions ({ndim}) for operand {place}",
        )
        widest = max(widest, covered)
        own: list = []
        for token in tokens:
            own.extend(range(covered - 1, -1, -1) if token == _ELLIPSIS else token)
        labels.append(own)
    ellipsis = list(range(widest - 1, -1, -1))
    if not arrow:
        letters = [label for own in labels for label in own if isinstance(label, str)]
        once = sorted(label for label in set(letters) if letters.count(label) == 1)
        return labels, ellipsis + once
    output: list = []
    for token in _tokens(right):
        if token == _ELLIPSIS:
            output.extend(ellipsis)
            continue
        check(
            token not in output,
            f"einsum(): output subscript {token} appears more than once in the output",
        )
        check(
            any(token in own for own in labels),
            f"einsum(): output subscript {token} does not appear in the equation for any input "
            "operand",
        )
        output.append(token)
    return labels, output


def _diagonals(tensor, labels, place):
    """Take the diagonal of dimensions that bear the same label."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            check(
                tensor.shape[first] == tensor.shape[second],
                f"einsum(): subscript {label} is repeated for operand {place} but the sizes don't "
                f"match, {tensor.shape[second]} != {tensor.shape[first]}",
            )
            tensor = F.diagonal(tensor, 0, first, second)
            del labels[second], labels[first]
            labels.append(label)
    return tensor, labels


def _sum_out(tensor, labels, kept):
    """Sum over the dimensions whose label nobody else needs."""
    gone = [d for d, label in enumerate(labels) if label not in kept]
    if not gone:
        return tensor, labels
    return F.sum(tensor, gone), [label for label in labels if label in kept]


def _arranged(tensor, labels, groups, sizes):
    """Return `tensor` with one dimension for each group of labels."""
    order = [labels.index(label) for group in groups for label in group if label in labels]
    if order != sorted(order) or len(order) != len(labels):
        tensor = F.permute(tensor, order)
    shape = [math.prod(sizes[label] for label in group if label in labels) for group in groups]
    return F.reshape(tensor, shape)


def _contract(a, a_labels, b, b_labels, kept):
    """Multiply two operands and sum over the labels that neither the output nor others need."""
    own_a, own_b = set(a_labels), set(b_labels)
    a, a_labels = _sum_out(a, a_labels, kept | own_b)
    b, b_labels = _sum_out(b, b_labels, kept | own_a)
    own_a, own_b = set(a_labels), set(b_labels)
    sizes = {}
    for tensor, labels in ((a, a_labels), (b, b_labels)):
        for d, label in enumerate(labels):
            if sizes.get(label, 1) == 1:
                sizes[label] = tensor.shape[d]
    # A summed dimension of size 1 on one side only is summed on the other side first.
    for label in own_a & own_b - kept:
        if a.shape[a_labels.index(label)] != sizes[label]:
            b, b_labels = F.sum(b, [b_labels.index(label)], True), b_labels
            sizes[label] = 1
        elif b.shape[b_labels.index(label)] != sizes[label]:
            a = F.sum(a, [a_labels.index(label)], True)
            sizes[label] = 1
    batch = [label for label in a_labels if label in own_b and label in kept]
    inner = [label for label in a_labels if label in own_b and label not in kept]
    left = [label for label in a_labels if label not in own_b]
    right = [label for label in b_labels if label not in own_a]
    if not inner:
        return _outer(a, a_labels, b, b_labels, batch + left + right)
    a = _expanded(a, a_labels, batch, sizes)
    b = _expanded(b, b_labels, batch, sizes)
    if batch:
        first = _arranged(a, a_labels, (batch, left, inner), sizes)
        second = _arranged(b, b_labels, (batch, inner, right), sizes)
        product = F.bmm(first, second)
    else:
        first = _arranged(a, a_labels, (left, inner), sizes)
        second = _arranged(b, b_labels, (inner, right), sizes)
        product = F.mm(first, second)
    labels = batch + left + right
    return F.reshape(product, [sizes[label] for label in labels]), labels


def _expanded(tensor, labels, batch, sizes):
    shape = [
        sizes[label] if label in batch else n
        for label, n in zip(labels, tensor.shape, strict=True)
    ]
    return tensor if list(tensor.shape) == shape else F.expand(tensor, shape)


def _outer(a, a_labels, b, b_labels, labels):
    """Multiply elementwise, every label a dimension of the result."""

    def spread(tensor, own):
        order = sorted(range(len(own)), key=lambda d: labels.index(own[d]))
        tensor = F.permute(tensor, order) if order != sorted(order) else tensor
        place = {own[d]: i for i, d in enumerate(order)}
        shape = [tensor.shape[place[label]] if label in place else 1 for label in labels]
        return F.reshape(tensor, shape)

    return F.mul(spread(a, a_labels), spread(b, b_labels)), labels


def _pairs(count, path):
    """Return which two operands to contract at each step; results go to the end."""
    if path is None:
        # The first two, and the result with the next: it stays in front.
        return None
    check(
        len(path) == 2 * max(count - 1, 0),
        f"einsum(): expected contraction path given in path parameter to have size "
        f"{2 * max(count - 1, 0)} but got size {len(path)}",
    )
    return [(path[i], path[i + 1]) for i in range(0, len(path), 2)]


def einsum(equation, tensors, path=None):
    """Return the sum of products that `equation` spells, by pairs of operands."""
    check(len(tensors) > 0, "einsum(): must provide at least one operand")
    labels, output = parse(equation, [t.dim() for t in tensors])
    sizes: dict = {}
    operands = []
    for place, (tensor, own) in enumerate(zip(tensors, labels, strict=True)):
        tensor, own = _diagonals(tensor, own, place)
        for d, label in enumerate(own):
            n = tensor.shape[d]
            known = sizes.get(label, 1)
            check(
                n == known or n == 1 or known == 1,
                f"einsum(): subscript {label} has size {n} for operand {place} which does not "
                f"broadcast with previously seen size {known}",
            )
            sizes[label] = n if known == 1 else known
        operands.append((tensor, own))
    pairs = _pairs(len(operands), path)
    while len(operands) > 1:
        first, second = (0, 1) if pairs is None else sorted(pairs.pop(0))
        b, b_labels = operands.pop(second)
        a, a_labels = operands.pop(first)
        kept = set(output).union(*(own for _, own in operands)) if operands else set(output)
        result = _contract(a, a_labels, b, b_labels, kept)
        operands.insert(0 if pairs is None else len(operands), result)
    tensor, own = _sum_out(*operands[0], set(output))
    order = [own.index(label) for label in output]
    if order != sorted(order):
        return F.permute(tensor, order)
    return F.alias(tensor) if tensor is tensors[0] else tensor
