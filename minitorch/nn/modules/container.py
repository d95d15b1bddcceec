"""Containers of modules and of parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from minitorch.nn.modules.module import Module, _addindent
from minitorch.nn.parameter import Parameter
from minitorch.tensor.base import TensorBase

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Sequential(Module):
    """Modules that are called one after the other.

    Parameters
    ----------
    *args : Module, or one OrderedDict of str to Module

    Examples
    --------
    >>> from minitorch import nn
    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        """Return the last module's result."""
        for module in self._modules.values():
            input = module(input)
        return input

    def _name_at(self, index: int) -> str:
        size = len(self)
        index = operator.index(index)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return next(islice(self._modules, index % size, None))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            for name in list(self._modules)[index]:
                delattr(self, name)
        else:
            delattr(self, self._name_at(index))
        self._modules = {str(i): m for i, m in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return self.extend(list(other))

    def __mul__(self, count: int) -> Sequential:
        if not isinstance(count, int):
            raise TypeError(
                f"unsupported operand type(s) for *: {type(self)} and {type(count)}"
            )
        if count <= 0:
            raise ValueError(
                f"Non-positive multiplication factor {count} for {type(self)}"
            )
        return Sequential(*(list(self) * count))

    __rmul__ = __mul__

    def __imul__(self, count: int) -> Sequential:
        if not isinstance(count, int):
            raise TypeError(
                f"unsupported operand type(s) for *: {type(self)} and {type(count)}"
            )
        if count <= 0:
            raise ValueError(
                f"Non-positive multiplication factor {count} for {type(self)}"
            )
        own = list(self)
        for _ in range(count - 1):
            self.extend(own)
        return self

    def pop(self, key: Any) -> Module:
        """Take a module out, and return it."""
        module = self[key]
        del self[key]
        return module

    def append(self, module: Module) -> Sequential:
        """Add a module at the end; return the container."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Sequential:
        """Put a module before `index`; return the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        if index < 0:
            index += size
        for i in range(size, index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Add modules at the end; return the container."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(Module):
    """A list of modules, which are registered.

    Parameters
    ----------
    modules : iterable of Module, optional
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _name_at(self, index: int) -> str:
        index = operator.index(index)
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return str(index + size if index < 0 else index)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._name_at(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            for i in range(len(self))[index]:
                delattr(self, str(i))
        else:
            delattr(self, self._name_at(index))
        self._modules = {str(i): m for i, m in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        """Return the text of the list, runs of equal modules told once."""
        texts = [repr(item) for item in self]
        if not texts:
            return self._get_name() + "()"
        runs: list[list[Any]] = []
        for i, text in enumerate(texts):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = []
        for start, stop, text in runs:
            label = f"({start})" if start == stop else f"({start}-{stop})"
            count = "" if start == stop else f"{stop - start + 1} x "
            lines.append(_addindent(f"{label}: {count}{text}", 2))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def insert(self, index: int, module: Module) -> None:
        """Put a module before `index`."""
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end; return the list."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Module:
        """Take a module out, and return it."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end; return the list."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        offset = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(offset + i), module)
        return self


class ModuleDict(Module):
    """A dictionary of modules, which are registered.

    Parameters
    ----------
    modules : mapping of str to Module, or iterable of pairs, optional
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take a module out, and return it."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Any:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Return (name, module) pairs."""
        return self._modules.items()

    def values(self) -> Any:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping or of pairs; later ones replace earlier ones."""
        _update(self, modules, "ModuleDict")


def _update(container: Any, entries: Any, name: str) -> None:
    """Add the entries of a mapping or of pairs to a dictionary of modules or parameters."""
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got "
            + type(entries).__name__
        )
    if isinstance(entries, Mapping | ModuleDict | ParameterDict):
        for key in entries.keys():
            container[key] = entries[key]
        return
    for i, entry in enumerate(entries):
        if not isinstance(entry, Iterable):
            raise TypeError(
                f"{name} update sequence element #{i} should be Iterable; is "
                + type(entry).__name__
            )
        pair = list(entry)
        if len(pair) != 2:
            raise ValueError(
                f"{name} update sequence element #{i} has length {len(pair)}; 2 is required"
            )
        container[pair[0]] = pair[1]


def _as_parameter(value: Any) -> Any:
    """Return a tensor as a parameter, anything else as it is."""
    if isinstance(value, TensorBase) and not isinstance(value, Parameter):
        return Parameter(value, value.requires_grad)
    return value


def _entry_text(value: Any) -> str:
    """Return what a container of parameters shows of one."""
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    sizes = "x".join(str(n) for n in value.size())
    device = "" if value.device.type == "cpu" else f" ({value.device})"
    return f"{kind} containing: [{value.dtype} of size {sizes}{device}]"


class ParameterList(Module):
    """A list of parameters, which are registered; tensors become parameters.

    Parameters
    ----------
    values : iterable, optional
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _name_at(self, index: int) -> str:
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index + self._size if index < 0 else index)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            result = type(self)()
            for i in range(start, stop, step):
                result.append(self[i])
            return result
        return getattr(self, self._name_at(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name_at(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end; return the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add values at the end; return the list."""
        if not isinstance(values, Iterable) or isinstance(values, TensorBase):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        lines = []
        for i, value in enumerate(self):
            if isinstance(value, TensorBase):
                lines.append(f"  ({i}): {_entry_text(value)}")
            else:
                lines.append(f"  ({i}): Object of type: {type(value).__name__}")
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters, which are registered; tensors become parameters.

    Parameters
    ----------
    parameters : mapping or iterable of pairs, optional
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}')."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, self._attribute(key), _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return another dictionary of the same parameters."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`, which is set to `default` if it has none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all parameters out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a value out, and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the last value out, and return its name and it."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a dictionary with `default` for each key."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Any:
        """Return (name, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Any:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add the entries of a mapping or of pairs; later ones replace earlier ones."""
        _update(self, parameters, "ParameterDict")

    def extra_repr(self) -> str:
        lines = []
        for key, value in self.items():
            if isinstance(value, TensorBase):
                lines.append(f"  ({key}): {_entry_text(value)}")
            else:
                lines.append(f"  ({key}): Object of type: {type(value).__name__}")
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self
