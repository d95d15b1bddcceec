"""``__torch_function__`` of everything public (`minitorch.overrides`): what handlers and modes see, and what stays as it is."""

from __future__ import annotations

import copy
import operator

import pytest

import minitorch
from minitorch import nn, overrides
from minitorch.overrides import (
    BaseTorchFunctionMode,
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    is_tensor_like,
    is_tensor_method_or_property,
    redispatch_function,
    resolve_name,
    wrap_torch_function,
)
from minitorch.utils._device import DeviceContext, set_device


def make_seeing(torch, seen):
    class Seeing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", str(func)))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Seeing


CALLS = {
    **{f"property {name}": (lambda torch, x, name=name: getattr(x, name)) for name in (
        "shape", "dtype", "device", "layout", "grad", "T", "mT", "H", "mH", "data", "requires_grad", "is_leaf", "grad_fn", "ndim",
        "itemsize", "nbytes", "real", "is_cuda", "is_cpu", "is_meta", "is_sparse", "is_quantized", "_version",
        "retains_grad",
    )},
    **{f"method {name}": (lambda torch, x, name=name: getattr(x, name)()) for name in (
        "size", "dim", "stride", "numel", "is_contiguous", "storage_offset", "element_size", "is_floating_point", "is_complex",
        "tolist", "numpy", "clone", "detach", "cpu", "float", "double", "sum", "t", "untyped_storage",
        "requires_grad_", "is_shared",
        "type", "contiguous", "__len__", "__repr__", "__dir__", "is_pinned", "is_inference", "get_device", "is_signed",
        "is_conj", "is_neg", "__reversed__", "__array__",
    )},
    **{f"operator {name}": (lambda torch, x, name=name: getattr(operator, name)(x, x)) for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne", "iadd", "isub", "imul",
    )},
    "radd": lambda torch, x: 1 + x, "rsub": lambda torch, x: 1 - x, "rpow": lambda torch, x: 2**x,
    "rfloordiv": lambda torch, x: 2 // x, "rmod": lambda torch, x: 5 % x, "rtruediv": lambda torch, x: 1 / x,
    "neg": lambda torch, x: -x, "invert": lambda torch, x: ~(x > 0), "abs": lambda torch, x: abs(x),
    "getitem": lambda torch, x: x[0], "setitem": lambda torch, x: x.__setitem__(0, 1.0),
    "contains": lambda torch, x: 1.0 in x, "bool": lambda torch, x: bool(x[0, 0] > 0), "float": lambda torch, x: float(x[0, 0]),
    "int": lambda torch, x: int(x[0, 0]), "format": lambda torch, x: f"{x[0, 0]}",
    "set grad": lambda torch, x: setattr(x, "grad", None), "del grad": lambda torch, x: delattr(x, "grad"),
    "set requires_grad": lambda torch, x: setattr(x, "requires_grad", False),
    "cat": lambda torch, x: torch.cat([torch.ones(2, 3), x]), "einsum": lambda torch, x: torch.einsum("ij,ij->", x, x),
    "relu": lambda torch, x: torch.nn.functional.relu(x), "softmax": lambda torch, x: torch.nn.functional.softmax(x, 0),
    "cross_entropy": lambda torch, x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 1])),
    "interpolate": lambda torch, x: torch.nn.functional.interpolate(x[None], scale_factor=2),
    "pad": lambda torch, x: torch.nn.functional.pad(x, (1, 1)), "svd": lambda torch, x: torch.linalg.svd(x),
    "module": lambda torch, x: torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())(x),
    "backward": lambda torch, x: (x.clone().requires_grad_() * 2).sum().backward(),
    "hook": lambda torch, x: x.clone().requires_grad_().register_hook(print),
}  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("name", CALLS)
def test_handlers_see_what_they_see_in_torch(torch, name):
    found = {}
    for lib in (torch, minitorch):
        seen: list[str] = []
        x = lib.ones(2, 3).as_subclass(make_seeing(lib, seen))
        seen.clear()
        result = CALLS[name](lib, x)
        found[lib.__name__] = (seen, type(result).__name__)
    assert found["minitorch"] == found["torch"]


def test_tensors_in_lists_are_asked_whatever_was_called_before():
    seen: list[str] = []
    x = minitorch.ones(2).as_subclass(make_seeing(minitorch, seen))
    minitorch.cat([minitorch.ones(2)])
    minitorch.stack((minitorch.ones(2),))
    seen.clear()
    assert type(minitorch.cat([x])) is type(x)
    minitorch.stack((minitorch.ones(2), x))
    assert seen == ["cat", "stack"]
    assert minitorch.cat([minitorch.ones(2)]).tolist() == [1.0, 1.0]
    assert seen == ["cat", "stack"]


def test_elements_of_lists_are_asked_whatever_was_called_before():
    class Says(minitorch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "says"

    x = minitorch.ones(2)
    other = x.as_subclass(Says)
    minitorch.cat([x, x])  # the plan that is kept for a list
    assert minitorch.cat([other, other]) == minitorch.cat([x, other]) == minitorch.cat((other,)) == "says"
    assert type(minitorch.cat([x, x])) is minitorch.Tensor


class Like:
    """No tensor, and taken for one."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func



def test_tensor_likes_reach_every_overridable_function():
    missed = []
    signatures = overrides.get_testing_overrides()
    for space, functions in overrides.get_overridable_functions().items():
        if space is minitorch.Tensor:
            continue
        for function in functions:
            parameters = signatures[function].__signature__.parameters.values()
            required = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            count = max(len(required), 1)
            attempts = ([Like()] * count, [[Like()], *[Like()] * (count - 1)], ["i", *[Like()] * (count - 1)])
            for arguments in attempts:
                keywords = {p.name: 1 for p in parameters if p.default is p.empty and p.kind is p.KEYWORD_ONLY}
                try:
                    answer = function(*arguments, **keywords)
                except (TypeError, ValueError, AttributeError):
                    continue
                if answer is not None:
                    break
            else:
                missed.append(getattr(function, "__name__", function))
    assert not missed


class Mode(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def test_modes_see_properties_and_protocols():
    x = minitorch.ones(2)
    with Mode() as mode:
        x.shape  # noqa: B018
        x.size(0)
        len(x)
        x[0]
        x.requires_grad = True
        minitorch.tensor(1)
    assert mode.seen == [
        minitorch.Tensor.shape.__get__, minitorch.Tensor.size, minitorch.Tensor.__len__, minitorch.Tensor.__getitem__,
        minitorch.Tensor.requires_grad.__set__, minitorch.tensor,
    ]  # fmt: skip
    assert type(minitorch.Tensor.__dict__["T"]) is property  # nothing stays behind
    assert "shape" not in minitorch.Tensor.__dict__


def test_nested_modes_each_see_a_call():
    x = minitorch.ones(2)
    with Mode() as outer, Mode() as inner:
        assert x.shape == (2,)
        assert x.dim() == 1
    wanted = [minitorch.Tensor.shape.__get__, minitorch.Tensor.dim]
    assert inner.seen == wanted
    assert outer.seen == wanted
    handled = {minitorch.Tensor.shape.__get__: "shape"}
    assert handled[inner.seen[0]] == "shape"  # equal and of equal hash, in either way around


def test_the_library_s_own_questions_are_not_seen():
    with Mode() as mode:
        nn.functional.interpolate(minitorch.ones(1, 1, 2), scale_factor=2)
        nn.Linear(2, 3)(minitorch.ones(1, 2))
    names = [func.__name__ for func in mode.seen]
    assert "__get__" not in names
    assert "interpolate" in names
    assert "linear" in names


def test_modes_and_threads():
    import threading

    x = minitorch.ones(2)
    found = []
    with Mode() as mode:
        thread = threading.Thread(target=lambda: found.append((x.shape, (x + 1).tolist())))
        thread.start()
        thread.join()
    assert found == [((2,), [2.0, 2.0])]
    assert mode.seen == []


def test_base_modes():
    class Nothing(TorchFunctionMode):
        pass

    with Nothing(), pytest.raises(NotImplementedError, match="Nothing defines no __torch_function__"):
        minitorch.ones(1)
    with BaseTorchFunctionMode.push() as mode:
        assert minitorch.ones(1).tolist() == [1.0]
        assert overrides._get_current_function_mode() is mode
        assert overrides._get_current_function_mode_stack() == [mode]
        with overrides._pop_mode_temporarily() as popped:
            assert popped is mode
            assert overrides._get_current_function_mode() is None
    with pytest.raises(RuntimeError, match="none to leave"), overrides._pop_mode_temporarily():
        pass


def test_scopes_without_handlers():
    seen: list[str] = []
    x = minitorch.ones(2).as_subclass(make_seeing(minitorch, seen))
    with Mode() as mode:
        with DisableTorchFunctionSubclass():
            x + 1
        assert [f.__name__ for f in mode.seen] == ["add"]
        assert seen == []
        with DisableTorchFunction():
            x + 1
            x.shape  # noqa: B018
            assert not has_torch_function((x,))
            with overrides._enable_torch_function():
                assert has_torch_function((x,))
        assert len(mode.seen) == 1
    with DisableTorchFunctionSubclass():
        assert not has_torch_function((x,))
    assert has_torch_function((x,))


# -- functions of one's own ------------------------------------------------------------------------


def scaled(x, by):
    """A function that takes part."""
    if has_torch_function((x, by)):
        return handle_torch_function(scaled, (x, by), x, by=by)
    return minitorch.mul(x, by) + 1


def test_functions_of_one_s_own():
    assert scaled(2, minitorch.tensor(3)).item() == 7
    assert scaled(Like(), by=1) is scaled
    with Mode() as mode:
        scaled(minitorch.ones(1), by=2)
    assert mode.seen[1] is scaled
    with pytest.raises(TypeError, match="no implementation found for"):
        handle_torch_function(scaled, (1,), 1, by=2)

    class Declines:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="scaled.*Declines"):
        scaled(Declines(), 1)


def test_wrap_torch_function():
    @wrap_torch_function(lambda x, y=None: (x, y))
    def f(x, y=None):
        return "plain"

    assert f(1) == "plain"
    assert f(1, y=Like()) is f


def test_redispatch_shows_the_pieces():
    names = []

    class Logs(minitorch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return redispatch_function(func, types, args, kwargs)

    x = minitorch.ones(1).as_subclass(Logs)
    result = scaled(x, 2)
    assert names == ["scaled", "mul"]  # mul's result is a plain tensor, so that + 1 is not seen
    assert type(result) is minitorch.Tensor
    names.clear()
    nn.functional.cross_entropy(minitorch.ones(1, 2).as_subclass(Logs), minitorch.tensor([0]))
    assert names[0] == "cross_entropy"
    assert len(names) > 1


# -- questions -------------------------------------------------------------------------------------


def test_questions():
    x = minitorch.ones(1)
    assert not has_torch_function_unary(x)
    assert not has_torch_function_variadic(x, nn.Parameter(x))
    assert has_torch_function_variadic(x, Like())
    with Mode():
        assert has_torch_function_unary(1)
    assert is_tensor_like(x)
    assert is_tensor_like(Like())
    assert not is_tensor_like(1)
    T = minitorch.Tensor
    for func in (T.add, T.shape.__get__, T.size, T.grad.__set__):
        assert is_tensor_method_or_property(func)
    assert not is_tensor_method_or_property(minitorch.add)
    assert not is_tensor_method_or_property(len)
    assert resolve_name(minitorch.add) == "torch.add"
    assert resolve_name(T.add) == "torch.Tensor.add"
    assert resolve_name(T.shape.__get__) == "torch.Tensor.shape.__get__"
    assert resolve_name(minitorch.linalg.svd) == "torch.linalg.svd"
    assert resolve_name(nn.functional.cross_entropy) == "torch.nn.functional.cross_entropy"
    assert resolve_name(minitorch.ops.aten.add.Tensor) == "aten.add.Tensor"
    assert resolve_name(len) is None
    assert resolve_name([]) is None


def test_lists():
    overridable = {f for functions in overrides.get_overridable_functions().values() for f in functions}
    ignored = overrides.get_ignored_functions()
    assert {minitorch.add, minitorch.Tensor.add, minitorch.Tensor.shape.__get__, nn.functional.pad} <= overridable
    assert {minitorch.ones, minitorch.tensor, minitorch.is_grad_enabled} <= ignored
    assert not overridable & ignored
    dummies = overrides.get_testing_overrides()
    assert dummies[minitorch.add](1, 2, alpha=3) == -1
    with pytest.raises(TypeError):
        dummies[minitorch.add]()
    assert minitorch.Tensor.grad.__get__ in overrides.get_default_nowrap_functions()


@pytest.mark.oracle
def test_names_are_those_of_torch(torch):
    reference = {torch.overrides.resolve_name(f) for fs in torch.overrides.get_overridable_functions().values() for f in fs}
    ours = {resolve_name(f) for fs in overrides.get_overridable_functions().values() for f in fs}
    # Sparse, quantized and nested tensors, other devices' operators, and what PyTorch has for its own use.
    assert len(ours & reference) > 1100
    assert {n for n in reference if n and n.startswith(("torch.linalg.", "torch.fft.", "torch.special."))} <= ours


def test_classes_of_results():
    class Plain(minitorch.Tensor):
        pass

    class Own(nn.Parameter):
        pass

    x = minitorch.ones(2).as_subclass(Plain)
    assert type(x.T) is type(x + 1) is type(x[0]) is Plain
    x.requires_grad_()
    grad = minitorch.ones(2)
    x.grad = grad
    assert x.grad is grad
    assert type(Own(minitorch.ones(1)) + 1) is minitorch.Tensor  # as those of Parameter are
    assert type(copy.deepcopy(x)) is Plain


def test_a_subclass_may_override_a_hooked_attribute():
    seen: list[str] = []

    class Named(make_seeing(minitorch, seen)):
        @property
        def T(self):
            return "own"

        def size(self, dim=None):
            return super().size(dim)

    x = minitorch.ones(2).as_subclass(Named)
    seen.clear()
    assert x.T == "own"
    assert seen == []
    assert x.size(0) == 2
    assert seen == ["size"]
    x.note = 1
    assert x.note == 1


# -- devices ---------------------------------------------------------------------------------------


def test_a_device_as_a_mode():
    with DeviceContext("meta") as mode:
        assert overrides._get_current_function_mode() is mode
        assert minitorch.ones(2).is_meta
        assert minitorch.tensor([1.0]).is_meta
        assert not minitorch.ones(2, device="cpu").is_meta
    assert not minitorch.ones(2).is_meta

    @set_device("meta")
    def make():
        return minitorch.zeros(1)

    assert make().is_meta
