"""Names: of values in generated code, and of the functions that it calls.

Generated code says ``torch.``, as error texts do; where it runs, ``torch`` is bound to minitorch.
"""

from __future__ import annotations

import builtins
import inspect
import keyword
import math
import re
import sys
import types
from typing import Any, NamedTuple

import minitorch
import minitorch._C  # one of the modules that have names, whether or not somebody used it
from minitorch.core import pytree
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket
from minitorch.fx import _pytree as fx_pytree
from minitorch.tensor.tensor import Tensor

__all__ = ["Namespace", "from_torch", "qualified_name", "snake_case", "type_text"]


class CustomBuiltin(NamedTuple):
    """An object that all generated code can name, because ``repr`` of values says its name."""

    import_text: str
    value: Any


custom_builtins: dict[str, CustomBuiltin] = {}
_illegal_names: dict[str, Any] = {word: object() for word in keyword.kwlist}
_illegal_names.update(vars(builtins))


def register_custom_builtin(name: str, import_text: str, value: Any) -> None:
    """Let generated code name a value without further ado."""
    custom_builtins[name] = CustomBuiltin(import_text, value)
    _illegal_names[name] = value


register_custom_builtin("inf", "from math import inf", math.inf)
register_custom_builtin("nan", "from math import nan", math.nan)
register_custom_builtin("NoneType", "NoneType = type(None)", type(None))
register_custom_builtin("torch", "import minitorch as torch", minitorch)
register_custom_builtin("device", "from minitorch import device", minitorch.device)
register_custom_builtin("fx_pytree", "import minitorch.fx._pytree as fx_pytree", fx_pytree)
register_custom_builtin("pytree", "import minitorch.core.pytree as pytree", pytree)


# ---------------------------------------------------------------- names of values


_VALID = re.compile(r"^([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?$")
_ILLEGAL_CHARACTERS = re.compile("[^0-9a-zA-Z_]+")
_BEFORE_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")


def snake_case(text: str) -> str:
    """Return ``"batch_norm"`` for ``"batchNorm"``."""
    return _BEFORE_CAPITAL.sub(r"_\1", text).lower()


class Namespace:
    """Names, each given once, and none of them a keyword or a builtin that it is not.

    An object, where one is given with the name, keeps the name that it got first.
    """

    def __init__(self) -> None:
        self._name_of: dict[Any, str] = {}
        self._used: set[str] = set()
        self._count: dict[str, int] = {}  # the highest number that a base name has got

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """Return a name that nothing has yet: the candidate, or it with a number behind.

        Parameters
        ----------
        candidate : str
            Characters that no identifier may have become underscores.
        obj : object, optional
            What the name stands for; asked again, it gets the same name.
        """
        if obj is not None and obj in self._name_of:
            return self._name_of[obj]
        found = _VALID.match(candidate)
        if found is None:
            candidate = _ILLEGAL_CHARACTERS.sub("_", candidate) or "_unnamed"
            if candidate[0].isdigit():
                candidate = f"_{candidate}"
            found = _VALID.match(candidate)
            assert found is not None
        base, digits = found.group(1, 2)
        if digits is None or candidate in self._used:
            number = self._count.get(base, 0)
            if _illegal_names.get(candidate, obj) is not obj:
                number += 1
                candidate = f"{base}_{number}"
        else:
            number = int(digits)
        while candidate in self._used:
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._count[base] = number
        if obj is not None:
            self._name_of[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Note that a name, which is taken already, stands for an object that has none."""
        if self._name_of.setdefault(obj, name) is not name:
            raise AssertionError(f"{obj!r} has the name {self._name_of[obj]!r} already")

    def rename(self, obj: Any, name: str) -> None:
        """Give an object that has a name another one."""
        self._name_of[obj] = name
        self._used.add(name)


# ---------------------------------------------------------------- names of functions and classes


# Where public names live.  Earlier ones win where one function has several names.
_PUBLIC_MODULES = (
    "minitorch",
    "minitorch.nn.functional",
    "minitorch.linalg",
    "minitorch.fft",
    "minitorch.special",
    "minitorch.nn.init",
    "minitorch.nn.parameter",
    "minitorch.nn",
    "minitorch.nn.utils",
    "minitorch.nn.utils.rnn",
    "minitorch.signal.windows",
    "minitorch.amp",
    "minitorch.autograd",
    "minitorch.func",
    "minitorch.random",
    "minitorch.backends",
    "minitorch.utils.checkpoint",
    "minitorch.fx",
    "minitorch.fx._symbolic_trace",
    "minitorch._C",
)
_public_names: dict[int, str] = {}  # by id: what is listed lives as long as its module
_scanned: set[str] = set()


def _scan(module_name: str) -> None:
    module = sys.modules[module_name]
    prefix = "torch" + module_name.removeprefix("minitorch")
    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and getattr(value, "_replaced_for_tracing", False):
            value = value.__wrapped__
        if name.startswith("__") or isinstance(value, types.ModuleType) or not callable(value):
            continue
        if str(getattr(value, "__module__", None)).startswith("minitorch"):
            _public_names.setdefault(id(value), f"{prefix}.{name}")


def public_name(obj: Any) -> str | None:
    """Return ``"torch.relu"`` for what is public under that name, else None.

    Only loaded modules are asked: a function that somebody holds is from one of them.
    """
    found = _public_names.get(id(obj))
    if found is not None:
        return found
    for module_name in _PUBLIC_MODULES:
        if module_name in sys.modules and module_name not in _scanned:
            _scanned.add(module_name)
            _scan(module_name)
    return _public_names.get(id(obj))


def _torch_name(obj: Any) -> str | None:
    """Return the path under ``torch`` by which generated code reaches an object, or None."""
    if isinstance(obj, OpOverload):
        if keyword.iskeyword(obj.overload):  # random_.from
            return f'getattr(torch.ops.{obj.namespace}.{obj.basename}, "{obj.overload}")'
        return f"torch.ops.{obj}"
    if isinstance(obj, OpOverloadPacket):
        return f"torch.ops.{obj}"
    module = getattr(obj, "__module__", None)
    if isinstance(module, str) and module.startswith("torch.ops"):  # a higher-order operator
        return f"{module}.{obj.__name__}"
    name = getattr(obj, "__name__", None)
    if not isinstance(name, str):
        return None
    found = public_name(obj) if isinstance(module, str) and module.startswith("minitorch") else None
    if found is None and getattr(Tensor, name, None) is obj:
        return f"torch.Tensor.{name}"
    return found


def from_torch(obj: Any) -> bool:
    """Return whether generated code reaches an object through ``torch``."""
    return _torch_name(obj) is not None


def qualified_name(func: Any) -> str:
    """Return what a function is called in generated code.

    Returns
    -------
    str
        ``"torch.relu"``, ``"torch.nn.functional.gelu"``, ``"torch.ops.aten.add.Tensor"``, ``"getattr"``,
        ``"_operator.add"``, or the module and name of a function that is none of minitorch's.

    Raises
    ------
    RuntimeError
        If it has no name: a lambda that is not assigned to one.
    """
    name = getattr(func, "__name__", None)
    if isinstance(name, str) and getattr(builtins, name, None) is func:
        return name
    found = _torch_name(func)
    if found is not None:
        return found
    if not isinstance(name, str):
        raise RuntimeError(f"cannot call {func!r} in generated code: it has no __name__")
    if name == "<lambda>":
        try:
            name = inspect.getsource(func).split("=")[0].strip()
        except (OSError, TypeError) as error:  # no source
            raise RuntimeError("cannot name a lambda in generated code; make it a function with def") from error
    module = getattr(func, "__module__", None)
    if module is None:
        raise RuntimeError(f"cannot find the module of {func!r}")
    return f"{module}.{name}"


def type_text(obj: Any) -> str:
    """Return a type as an annotation says it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return _torch_name(obj) or f"{obj.__module__}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace(f"{Tensor.__module__}.Tensor", "torch.Tensor")  # as in list[Tensor]
