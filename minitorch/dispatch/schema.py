"""Schemas as data: types, arguments, returns, aliases, and their printed form.

`schema_parser` makes these objects from text, `schema_matching` fits calls to them.  They
do not change once made, and equal arguments of different operators may be one object.

Note [Two spellings of a type]
    A schema writes ``int[]?``; error messages, and ``str(argument.type)``, say
    ``Optional[List[int]]`` and name what the value is when it arrives: ``SymInt``,
    ``ScalarType``, ``Layout`` and ``MemoryFormat`` are ``int`` there, ``Scalar`` is
    ``number``.  `Type.text` is the first spelling, ``str`` gives the second.
"""

from __future__ import annotations

from typing import Any

_SHOWN_BASES = {
    "SymInt": "int",
    "SymBool": "bool",
    "Scalar": "number",
    "ScalarType": "int",
    "Layout": "int",
    "MemoryFormat": "int",
    "DeviceIndex": "int",
}

# What an enum default is called in a schema, and the number it prints as.
SCALAR_TYPE_CODES = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "complex32": 8,
    "complex64": 9,
    "complex128": 10,
    "bool": 11,
    "bfloat16": 15,
}
LAYOUT_CODES = {
    "strided": 0,
    "sparse_coo": 1,
    "sparse_csr": 2,
    "sparse_csc": 4,
    "sparse_bsr": 5,
    "sparse_bsc": 6,
}
MEMORY_FORMAT_CODES = {
    "contiguous_format": 0,
    "preserve_format": 1,
    "channels_last": 2,
    "channels_last_3d": 3,
}
ENUM_CODES = {
    "ScalarType": SCALAR_TYPE_CODES,
    "Layout": LAYOUT_CODES,
    "MemoryFormat": MEMORY_FORMAT_CODES,
}


class Type:
    """The declared type of an argument or a return.

    A type is a base name, or a list of an element type; either may be optional.

    Attributes
    ----------
    base : str
        The innermost name: ``"Tensor"``, ``"SymInt"``, ``"Scalar"``, ...  ``"tuple"``,
        ``"Dict"``, ``"Future"`` and ``"RRef"`` have `parameters`.
    element : Type or None
        The type of a list's elements.
    is_list : bool
    is_optional : bool
        Whether the outermost suffix is ``?``.
    size : int or None
        The ``2`` of ``int[2]``.
    parameters : tuple of Type
    """

    __slots__ = ("base", "element", "is_list", "is_optional", "parameters", "size")

    def __init__(
        self,
        base: str,
        *,
        element: Type | None = None,
        is_optional: bool = False,
        size: int | None = None,
        parameters: tuple[Type, ...] = (),
    ):
        self.base = base if element is None else element.base
        self.element = element
        self.is_list = element is not None
        self.is_optional = is_optional
        self.size = size
        self.parameters = parameters

    @property
    def element_optional(self) -> bool:
        """Whether this is a list whose elements may be None."""
        return self.element is not None and self.element.is_optional

    @property
    def is_variable(self) -> bool:
        """Whether the base is a type variable, such as ``t``."""
        return self.base[0].islower() and self.base not in _LOWER_CASE_BASES

    def optional(self) -> Type:
        """Return the type that is this one or None."""
        return self if self.is_optional else self._with_optional(True)

    def required(self) -> Type:
        """Return this type without the outer ``?``."""
        return self._with_optional(False) if self.is_optional else self

    def _with_optional(self, is_optional: bool) -> Type:
        return Type(
            self.base,
            element=self.element,
            is_optional=is_optional,
            size=self.size,
            parameters=self.parameters,
        )

    @property
    def text(self) -> str:
        """The type as a schema writes it: ``"int[2]?"``."""
        return _type_text(self, None)

    def __str__(self) -> str:
        return _shown_type(self, _SHOWN_BASES)

    def __repr__(self) -> str:
        return f"<Type {self.text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


_LOWER_CASE_BASES = frozenset(("int", "float", "bool", "str", "number", "complex", "tuple"))


class AliasInfo:
    """What an argument or return shares memory with, and whether it is written.

    Attributes
    ----------
    before_set, after_set : frozenset of str
        Alias sets on entry and on return: ``{"a"}``, ``{"*"}`` for anything.
    is_write : bool
    element : AliasInfo or None
        For a list annotated as ``Tensor(a!)[]``: the sets of its elements; its own are
        empty then.
    """

    __slots__ = ("after_set", "before_set", "element", "is_write")

    def __init__(
        self,
        before_set: frozenset[str],
        after_set: frozenset[str],
        is_write: bool,
        element: AliasInfo | None = None,
    ):
        self.before_set = before_set
        self.after_set = after_set
        self.is_write = is_write or (element is not None and element.is_write)
        self.element = element

    @property
    def sets(self) -> frozenset[str]:
        """The alias sets on entry, of the value itself and of its elements."""
        return self.before_set if self.element is None else self.before_set | self.element.sets

    @property
    def text(self) -> str:
        """The annotation as a schema writes it: ``"(a! -> b)"``."""
        before = "|".join(sorted(self.before_set)) + ("!" if self.is_write else "")
        if self.after_set == self.before_set:
            return f"({before})"
        return f"({before} -> {'|'.join(sorted(self.after_set))})"

    def __repr__(self) -> str:
        return f"<AliasInfo {self.text if self.element is None else self.element.text + '[]'}>"


class Argument:
    """One argument of a schema.

    Attributes
    ----------
    name : str
    type : Type
    default : object
        The Python value; a list for list types.  None also where there is no default.
    has_default, kwarg_only : bool
    N : int or None
        The size of a sized list.
    alias_info : AliasInfo or None
    is_write : bool
    is_out : bool
        Whether it is a written keyword-only argument.
    """

    __slots__ = (
        "N",
        "alias_info",
        "default",
        "has_default",
        "is_out",
        "is_write",
        "kwarg_only",
        "name",
        "type",
    )

    def __init__(
        self,
        name: str,
        type: Type,
        *,
        default: Any = None,
        has_default: bool = False,
        kwarg_only: bool = False,
        alias_info: AliasInfo | None = None,
    ):
        self.name = name
        self.type = type
        self.default = default
        self.has_default = has_default
        self.kwarg_only = kwarg_only
        self.N = type.size
        self.alias_info = alias_info
        self.is_write = alias_info is not None and alias_info.is_write
        self.is_out = kwarg_only and self.is_write

    @property
    def real_type(self) -> str:
        """The type in the spelling of messages, with the declared base names."""
        return _shown_type(self.type, {})

    def has_default_value(self) -> bool:
        """Return whether a call may leave the argument out."""
        return self.has_default

    @property
    def default_value(self) -> Any:
        """The default, as `default` (PyTorch's name for it)."""
        return self.default

    def __str__(self) -> str:
        text = f"{_type_text(self.type, self.alias_info)} {self.name}"
        return f"{text}={_default_text(self.default, self.type)}" if self.has_default else text

    def __repr__(self) -> str:
        return f"<Argument {self}>"


class Return:
    """One return of a schema; `name` is empty where the schema gives none."""

    __slots__ = ("alias_info", "name", "type")

    def __init__(self, type: Type, name: str = "", alias_info: AliasInfo | None = None):
        self.type = type
        self.name = name
        self.alias_info = alias_info

    def __str__(self) -> str:
        text = _type_text(self.type, self.alias_info)
        return f"{text} {self.name}" if self.name else text

    def __repr__(self) -> str:
        return f"<Return {self}>"


class Schema:
    """The signature of one overload.

    Attributes
    ----------
    name : str
        ``"ns::add"``, or ``"add"`` where the text has no namespace.
    overload_name : str
        Empty for the default overload.
    arguments : list of Argument
    returns : list of Return
    kwarg_only_start : int
        Index of the first keyword-only argument; the number of arguments if there is none.
    is_vararg, is_varret : bool
        Whether ``...`` stands for further arguments, or for the returns.
    is_mutable : bool
        Whether an argument is written.
    is_view : bool
        Whether arguments have aliases, none of which is written.
    """

    __slots__ = (
        "_text",
        "arguments",
        "is_mutable",
        "is_vararg",
        "is_varret",
        "is_view",
        "kwarg_only_start",
        "match_plan",
        "name",
        "overload_name",
        "returns",
    )

    def __init__(
        self,
        name: str,
        overload_name: str,
        arguments: list[Argument],
        returns: list[Return],
        *,
        is_vararg: bool = False,
        is_varret: bool = False,
    ):
        self.name = name
        self.overload_name = overload_name
        self.arguments = arguments
        self.returns = returns
        self.is_vararg = is_vararg
        self.is_varret = is_varret
        start = 0
        is_mutable = False
        has_alias = False
        for argument in arguments:
            if not argument.kwarg_only:
                start += 1
            if argument.alias_info is not None:
                has_alias = True
                is_mutable = is_mutable or argument.is_write
        self.kwarg_only_start = start
        self.is_mutable = is_mutable
        self.is_view = has_alias and not is_mutable
        self._text: str | None = None
        self.match_plan: Any = None  # filled in by schema_matching at the first call

    @property
    def full_name(self) -> str:
        """``"ns::add.out"``."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    def with_namespace(self, namespace: str) -> Schema:
        """Return this schema with its name in `namespace`."""
        return Schema(
            f"{namespace}::{self.name.rpartition('::')[2]}",
            self.overload_name,
            self.arguments,
            self.returns,
            is_vararg=self.is_vararg,
            is_varret=self.is_varret,
        )

    def __str__(self) -> str:
        if self._text is None:
            self._text = _schema_text(self)
        return self._text

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def dispatch_positions(schema: Schema) -> list[int]:
    """Return the indices of the arguments whose tensors take part in dispatch.

    Those declared ``Tensor``, ``Tensor?``, ``Tensor[]`` or ``Tensor?[]``; an optional list
    of tensors does not count, nor does ``Any``, whatever is passed.
    """
    positions = []
    for index, argument in enumerate(schema.arguments):
        kind = argument.type
        if kind.base != "Tensor":
            continue
        if kind.element is None or not (kind.is_optional or kind.element.is_list):
            positions.append(index)
    return positions


# -- printing --------------------------------------------------------------------------


def _type_text(type: Type, alias: AliasInfo | None) -> str:
    """Return a type in schema notation, with an alias annotation in its place."""
    if type.element is not None:
        own, inner = (alias, None) if alias is None else (alias, alias.element)
        annotation = own.text if own is not None and own.before_set else ""
        size = "" if type.size is None else type.size
        text = f"{_element_text(type.element, inner)}[{size}]{annotation}"
    else:
        parameters = ", ".join(parameter.text for parameter in type.parameters)
        if type.base == "tuple":
            text = f"({parameters})"
        else:
            text = f"{type.base}({parameters})" if parameters else type.base
        if alias is not None:
            text += alias.text
    return text + "?" if type.is_optional else text


def _element_text(type: Type, alias: AliasInfo | None) -> str:
    # An annotated optional element prints as Tensor?(a!)[], with the alias after the mark.
    if alias is None or not type.is_optional:
        return _type_text(type, alias)
    return type.text + alias.text


def _shown_type(type: Type, names: dict[str, str]) -> str:
    if type.element is not None:
        text = f"List[{_shown_type(type.element, names)}]"
    else:
        text = names.get(type.base, type.base)
        if type.parameters:
            head = "Tuple" if text == "tuple" else text
            text = f"{head}[{', '.join(_shown_type(p, names) for p in type.parameters)}]"
    return f"Optional[{text}]" if type.is_optional else text


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def quoted(text: str) -> str:
    """Return a string default as schemas write it, in double quotes."""
    return f'"{text.translate(_ESCAPES)}"'


def _default_text(value: Any, type: Type) -> str:
    if value is None:
        return "None"
    if type.element is not None:
        if type.base == "int" and len(value) == type.size and len(value) > 1 == len(set(value)):
            return str(value[0])
        return f"[{', '.join(_default_text(item, type.element) for item in value)}]"
    codes = ENUM_CODES.get(type.base)
    if codes is not None:
        return str(codes[value.name])
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text[:-1] if text.endswith(".0") else text
    if isinstance(value, int):
        return str(value)
    return quoted(str(value))


def _schema_text(schema: Schema) -> str:
    parts = []
    for index, argument in enumerate(schema.arguments):
        if index == schema.kwarg_only_start:
            parts.append("*")
        parts.append(str(argument))
    if schema.is_vararg:
        parts.append("...")
    returns = ", ".join(str(item) for item in schema.returns)
    if schema.is_varret:
        returns = "..."
    elif len(schema.returns) != 1 or returns.startswith("("):
        returns = f"({returns})"
    return f"{schema.full_name}({', '.join(parts)}) -> {returns}"
