"""`Tag`: what an operator promises beyond its schema, and the checks of those promises."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from minitorch.dispatch.schema import Schema


class Tag(enum.StrEnum):
    """A property of an operator; a member equals its name, so that ``"core" in op.tags`` works."""

    core = "core"
    cudagraph_unsafe = "cudagraph_unsafe"
    data_dependent_output = "data_dependent_output"
    dynamic_output_shape = "dynamic_output_shape"
    flexible_layout = "flexible_layout"
    generated = "generated"
    inplace = "inplace"
    inplace_view = "inplace_view"
    maybe_aliasing_or_mutating = "maybe_aliasing_or_mutating"
    needs_contiguous_strides = "needs_contiguous_strides"
    needs_exact_strides = "needs_exact_strides"
    needs_fixed_stride_order = "needs_fixed_stride_order"
    nondeterministic_bitwise = "nondeterministic_bitwise"
    nondeterministic_seeded = "nondeterministic_seeded"
    out = "out"
    out_variant = "out_variant"
    pointwise = "pointwise"
    pt2_compliant_tag = "pt2_compliant_tag"
    reduction = "reduction"
    view_copy = "view_copy"

    def __repr__(self) -> str:
        return f"<Tag.{self.value}>"


def as_tags(tags: Tag | str | Iterable[Tag | str]) -> tuple[Tag, ...]:
    """Return `tags`, one or many, as a tuple of `Tag`.

    Raises
    ------
    ValueError
        If one is no tag.
    """
    if isinstance(tags, str):
        tags = (tags,)
    return tuple(Tag(tag) for tag in tags)


def check_tags(schema: Schema, tags: Iterable[Tag | str]) -> None:
    """Check what the tags ``out`` and ``inplace`` promise of the schema.

    Raises
    ------
    ValueError
        If the schema breaks a promise.
    """
    if Tag.out in tags:
        _check_out(schema)
    if Tag.inplace in tags:
        _check_inplace(schema)


def _check_out(schema: Schema) -> None:
    written = [a for a in schema.arguments if a.is_write]
    if not written:
        raise _broken("out", "must have at least one mutable argument", schema)
    positional = [a.name for a in written if not a.kwarg_only]
    if positional:
        raise _broken(
            "out",
            "requires all mutable arguments to be keyword-only (after the *); "
            f"the positional {positional} are mutable",
            schema,
        )
    others = [a.name for a in written if a.type.text != "Tensor"]
    if others:
        raise _broken(
            "out", f"takes only Tensors as mutable arguments, which {others} are not", schema
        )
    if len(schema.returns) != len(written):
        raise _broken(
            "out",
            f"must return its {len(written)} mutable arguments, but has "
            f"{len(schema.returns)} returns",
            schema,
        )
    for index, (item, argument) in enumerate(zip(schema.returns, written, strict=True)):
        if not _aliases(item, argument):
            raise _broken(
                "out", f"return {index} must alias the mutable argument '{argument.name}'", schema
            )


def _check_inplace(schema: Schema) -> None:
    first = schema.arguments[0] if schema.kwarg_only_start else None
    if first is None or not first.is_write or first.type.text != "Tensor":
        raise _broken(
            "inplace", "requires the first positional argument to be a mutable Tensor", schema
        )
    others = [a.name for a in schema.arguments[1:] if a.is_write]
    if others:
        raise _broken(
            "inplace", f"must only mutate the first positional argument, not {others}", schema
        )
    if len(schema.returns) != 1:
        raise _broken(
            "inplace",
            f"must return exactly one value, the first argument; it has "
            f"{len(schema.returns)} returns",
            schema,
        )
    if not _aliases(schema.returns[0], first):
        raise _broken("inplace", f"the return must alias '{first.name}'", schema)


def _aliases(item, argument) -> bool:
    return (
        item.alias_info is not None
        and item.type.text == "Tensor"
        and item.alias_info.sets == argument.alias_info.sets
    )


def _broken(tag: str, what: str, schema: Schema) -> ValueError:
    return ValueError(f"Schema tagged with Tag.{tag} {what}. Got: {schema}")
