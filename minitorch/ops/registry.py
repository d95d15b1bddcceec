"""`operator`: the one table of operators, kept as text until an operator is first used."""

from __future__ import annotations

FUNCTION = 1
METHOD = 2

# Tags. POINTWISE and REDUCTION derive what a family shares; the rest is metadata.
POINTWISE = ("pointwise",)
REDUCTION = ("reduction",)
CORE = ("core",)
RANDOM = ("nondeterministic_seeded",)
DATA_DEPENDENT = ("data_dependent_output",)
DYNAMIC_SHAPE = ("dynamic_output_shape",)


class Declaration:
    """One declared overload."""

    __slots__ = ("doc", "functional", "kind", "name", "out_names", "python_module", "schema", "tags", "variants")

    def __init__(self, name, schema, variants, tags, python_module, doc, kind, functional, out_names=()):
        self.name = name  # "mul.Tensor"
        self.schema = schema  # text, without namespace
        self.variants = variants
        self.tags = tags
        self.python_module = python_module
        self.doc = doc
        self.kind = kind  # "functional", "inplace" or "out"
        self.functional = functional  # name of the operator this one is derived from
        self.out_names = out_names


DECLARATIONS: dict[str, Declaration] = {}


def _declare(declaration: Declaration) -> None:
    if declaration.name in DECLARATIONS:
        raise ValueError(f"operator {declaration.name} is declared twice")
    DECLARATIONS[declaration.name] = declaration


def operator(
    schema: str,
    *,
    inplace: str | None = None,
    out: str | None = None,
    out_names: tuple[str, ...] = ("out",),
    variants: int = FUNCTION | METHOD,
    inplace_variants: int | None = None,
    tags: tuple[str, ...] = (),
    python_module: str | None = None,
    doc: str = "",
) -> None:
    """Declare an operator, and with it its in-place and ``out=`` overloads.

    A schema whose first argument is ``Tensor(a!) self`` declares an operator that works in
    place and has no functional form; its array kernel writes into the first array.
    One that ends with ``Tensor(a!) out`` declares an ``out=`` overload that is implemented
    by itself, where computing the functional operator and copying would not do.

    Parameters
    ----------
    schema : str
        PyTorch's schema string, without namespace.
    inplace, out : str, optional
        Names of the derived overloads (``"mul_.Tensor"``, ``"mul.out"``).
    out_names : tuple of str
        The names of the ``out=`` overload's written arguments, one a return.
    variants : int
        ``FUNCTION | METHOD``: where the public name appears; 0 for nowhere.
    inplace_variants : int, optional
        The same for the in-place overload, where it differs.
    python_module : {"nn", "linalg", "special", "fft"}, optional
    """
    name = schema[: schema.index("(")]
    kind = "functional"
    if schema.startswith("(Tensor(a!)", len(name)):
        kind = "inplace"
    elif "Tensor(a!) out)" in schema:
        kind = "out"
    names = ("out",) if kind == "out" else ()
    _declare(Declaration(name, schema, variants, tags, python_module, doc, kind, None, names))
    if inplace is not None:
        _declare(
            Declaration(
                inplace, inplace_schema(schema, inplace), variants if inplace_variants is None else inplace_variants,
                tags, python_module, doc, "inplace", name,
            )
        )
    if out is not None:
        _declare(
            Declaration(
                out, out_schema(schema, out, out_names), variants & FUNCTION, tags, python_module, doc, "out", name, out_names
            )
        )


def inplace_schema(schema: str, name: str) -> str:
    """Return the schema of the in-place overload of a functional schema."""
    arguments = schema[schema.index("(") :]
    arguments = arguments[: arguments.rindex("->")].rstrip()
    for plain in ("(Tensor self", "(Tensor(a) self"):  # the second of views: `t_` writes too
        arguments = arguments.replace(plain, "(Tensor(a!) self", 1)
    return name + arguments + " -> Tensor(a!)"


def out_schema(schema: str, name: str, out_names: tuple[str, ...]) -> str:
    """Return the schema of the ``out=`` overload of a functional schema."""
    head = schema[schema.index("(") : schema.rindex("->")].rstrip()
    if not head.endswith(")"):
        raise ValueError(f"{name}: cannot derive an out= schema from {schema!r}")
    arguments = head[:-1]
    letters = "abcdefgh"
    outs = ", ".join(f"Tensor({letters[i]}!) {out}" for i, out in enumerate(out_names))
    separator = ", " if arguments != "(" else ""
    star = "" if "*" in arguments.replace("*)", "") else "*, "
    returns = schema[schema.rindex("->") + 2 :].strip()
    if len(out_names) == 1:
        result = "Tensor(a!)"
    else:
        names = [part.split()[-1] if len(part.split()) > 1 else "" for part in returns.strip("()").split(",")]
        result = "(" + ", ".join(f"Tensor({letters[i]}!) {n}".rstrip() for i, n in enumerate(names)) + ")"
    return f"{name}{arguments}{separator}{star}{outs}) -> {result}"
