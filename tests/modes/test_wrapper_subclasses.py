"""Tensor subclasses that wrap (spec P12, A11): geometry, keys, autograd, copies, modules, and well-known kinds of them."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

import minitorch
import minitorch._C  # as authors of subclasses import it
from minitorch import nn
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.func import functionalize, grad, vmap
from minitorch.modes import TorchDispatchMode
from minitorch.utils import _pytree as pytree
from minitorch.utils import swap_tensors
from minitorch.utils._python_dispatch import (
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)


def make_logging(torch, log, tree_map):
    """Return the well-known logging wrapper, written for either library."""

    class Logging(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            return torch.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
                layout=elem.layout, device=elem.device, requires_grad=elem.requires_grad,
            )  # fmt: skip

        def __init__(self, elem):
            self.elem = elem

        __torch_function__ = torch._C._disabled_torch_function_impl

        def __repr__(self):
            return f"Logging({self.elem})"

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            args, kwargs = tree_map(lambda x: x.elem if isinstance(x, cls) else x, (tuple(args), kwargs or {}))
            return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, func(*args, **kwargs))

    return Logging


@pytest.fixture
def log():
    return []


@pytest.fixture
def Logging(log):
    return make_logging(minitorch, log, pytree.tree_map)


# Programs that both libraries run, and whose operators are the same.
PROGRAMS = {
    "arithmetic": lambda torch, wrap: (wrap([1.0, 2.0]) + 1) * wrap([3.0, 4.0]),
    "conversion": lambda torch, wrap: wrap([1.0, 2.0]).to(torch.float64).sum(),
    "item": lambda torch, wrap: wrap([1.0]).item(),
    "views": lambda torch, wrap: wrap([[1.0, 2.0]]).t().view(2)[0],
    "split": lambda torch, wrap: wrap([1.0, 2.0]).split(1)[1] + 1,
    "in place": lambda torch, wrap: wrap([1.0]).add_(1).mul_(2),
    "data": lambda torch, wrap: wrap([1.0]).data,
    "factories": lambda torch, wrap: torch.zeros_like(wrap([1.0])) + wrap([1.0]).new_zeros(1),
    "indexing": lambda torch, wrap: wrap([1.0, 2.0, 3.0])[torch.tensor([0, 2])],
    "cat": lambda torch, wrap: torch.cat([wrap([1.0]), torch.ones(1)]),
    "where": lambda torch, wrap: torch.where(wrap([1.0, -1.0]) > 0, 1.0, 2.0),
    "loss": lambda torch, wrap: torch.nn.functional.cross_entropy(wrap([[1.0, 2.0]]), torch.tensor([0])),
    "backward": lambda torch, wrap: (lambda x: ((x * 2).sum().backward(), x.grad)[1])(wrap([1.0, 2.0]).requires_grad_()),
    "saved output": lambda torch, wrap: (lambda x: (x.exp().sum().backward(), x.grad)[1])(wrap([0.0]).requires_grad_()),
    "two passes": lambda torch, wrap: (
        lambda x: ((x * 2).sum().backward(), (x * 3).sum().backward(), x.grad)[2]
    )(wrap([1.0]).requires_grad_()),
    "in-place backward": lambda torch, wrap: (
        lambda x, y: (y.mul_(2), y.sum().backward(), x.grad)[2]
    )(*(lambda x: (x, x * 1))(wrap([1.0]).requires_grad_())),
    "view backward": lambda torch, wrap: (
        lambda x, y: (y[0].mul_(3), y.sum().backward(), x.grad)[2]
    )(*(lambda x: (x, x * 1))(wrap([1.0, 2.0]).requires_grad_())),
    "deepcopy": lambda torch, wrap: copy.deepcopy(wrap([1.0]).requires_grad_()),
    "parameter": lambda torch, wrap: torch.nn.Parameter(wrap([1.0])),
    "forward": lambda torch, wrap: (
        lambda m, w: (setattr(m, "weight", w), m(torch.ones(1, 2)))[1]
    )(torch.nn.Linear(2, 1, bias=False), torch.nn.Parameter(wrap([[1.0, 2.0]]))),
    "optimizer": lambda torch, wrap: (
        lambda p: (setattr(p, "grad", wrap([2.0])), torch.optim.SGD([p], lr=0.5).step(), p)[2]
    )(torch.nn.Parameter(wrap([1.0]))),
    "std": lambda torch, wrap: torch.std_mean(wrap([1.0, 3.0]))[1],
}  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_log_what_they_log_in_torch(torch, name):
    import torch.utils._pytree as reference_pytree

    seen = {}
    for lib, tree in ((torch, reference_pytree), (minitorch, pytree)):
        lines: list[str] = []
        cls = make_logging(lib, lines, tree.tree_map)
        result = PROGRAMS[name](lib, lambda values, cls=cls, lib=lib: cls(lib.tensor(values)))
        value = result.elem.double().round(decimals=5).tolist() if isinstance(result, cls) else result
        seen[lib.__name__] = (lines, value, type(result).__name__)
    assert seen["minitorch"] == seen["torch"]


# -- geometry and keys -----------------------------------------------------------------------------


class Described(minitorch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented

    __torch_function__ = minitorch._C._disabled_torch_function_impl


make = minitorch.Tensor._make_wrapper_subclass


def test_the_declared_geometry():
    x = make(Described, (2, 3), strides=(1, 2), storage_offset=5, dtype=minitorch.int8, device="meta")
    assert (x.shape, x.stride(), x.storage_offset()) == ((2, 3), (1, 2), 5)
    assert (x.dtype, x.device, x.layout) == (minitorch.int8, minitorch.device("meta"), minitorch.strided)
    assert not x.is_contiguous()
    assert (x.numel(), x.ndim, x.element_size(), x.data_ptr()) == (6, 2, 1, 0)
    assert make(Described, (2, 3)).untyped_storage().nbytes() == 24
    assert make(Described, (2,)).dtype is minitorch.get_default_dtype()
    assert make(Described, (1, 2, 3, 4), memory_format=minitorch.channels_last).stride() == (24, 1, 8, 2)
    with minitorch.device("meta"):
        assert make(Described, (2,)).device.type == "meta"


def test_keys_are_those_of_the_declared_kind():
    def keys(**kwargs):
        return minitorch._C._dispatch_keys(make(Described, (2, 3), **kwargs))

    python = DispatchKeySet("Python", "PythonTLSSnapshot", "ADInplaceOrView")
    assert keys() == python | DispatchKeySet("CPU", "AutogradCPU", "AutocastCPU")
    assert keys(device="cuda:1") == python | DispatchKeySet("CUDA", "AutogradCUDA", "AutocastCUDA")
    assert keys(layout=minitorch.sparse_coo) == python | DispatchKeySet("SparseCPU", "AutogradCPU", "AutocastCPU")
    assert make(Described, (2,), layout=minitorch.sparse_csr).layout is minitorch.sparse_csr
    assert make(Described, (2,), device="cuda:1").device == minitorch.device("cuda:1")
    with minitorch.inference_mode():
        assert make(Described, (2,)).is_inference()


def test_what_is_refused():
    class Plain(minitorch.Tensor):
        pass

    for cls in (minitorch.Tensor, Plain):
        with pytest.raises(TypeError, match=f"{cls.__name__} must define __torch_dispatch__"):
            make(cls, (2,))
    with pytest.raises(TypeError, match="must be a subclass of Tensor"):
        make(int, (2,))
    with pytest.raises(ValueError, match="Unknown sizes_strides_policy: all"):
        make(Described, (2,), dispatch_sizes_strides_policy="all")
    with pytest.raises(RuntimeError, match="floating point and complex dtype"):
        make(Described, (2,), dtype=minitorch.int64, requires_grad=True)
    with pytest.raises(RuntimeError, match="mismatch in length of strides and shape"):
        make(Described, (2,), strides=(1, 1))
    x = make(Described, (2,))
    for method in (x.numpy, x.tolist):
        with pytest.raises(RuntimeError, match="not supported for tensor subclasses, got Described"):
            method()
    with minitorch._C._DisableTorchDispatch(), pytest.raises(TypeError):
        x + 1  # no kernel can read it


def test_dispatch_policies_ask_each_time():
    asked = []
    sizes = [7]

    class Asked(Described):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            asked.append(str(func))
            aten, prim = minitorch.ops.aten, minitorch.ops.prim
            answers = {
                aten.sym_size.default: (sizes[0], 2), aten.sym_stride.default: (2, 1), aten.dim.default: 2,
                aten.sym_numel.default: 2 * sizes[0], aten.is_contiguous.default: True, aten.sym_storage_offset.default: 3,
                prim.device.default: minitorch.device("meta"), prim.layout.default: minitorch.sparse_coo,
            }  # fmt: skip
            return answers.get(func, NotImplemented)

    x = make(Asked, (2, 3), dispatch_sizes_strides_policy="sizes", dispatch_device=True, dispatch_layout=True)
    assert x.shape == (7, 2)
    sizes[0] = 8
    assert (x.shape, x.size(0), x.numel(), x.dim(), x.stride(), x.storage_offset()) == ((8, 2), 8, 16, 2, (2, 1), 3)
    assert x.is_contiguous()
    assert x.device.type == "meta"
    assert x.layout is minitorch.sparse_coo
    x = make(Asked, (2, 3), dispatch_sizes_strides_policy="strides")
    asked.clear()
    assert (x.shape, x.stride(), x.device.type) == ((2, 3), (2, 1), "cpu")
    assert asked == ["aten.sym_stride.default"]

    class Silent(Described):
        pass

    with pytest.raises(TypeError, match="aten::sym_size"):
        make(Silent, (2,), dispatch_sizes_strides_policy="sizes").shape  # noqa: B018


def test_make_subclass():
    class Plain(minitorch.Tensor):
        pass

    source = minitorch.ones(2, requires_grad=True) * 2
    x = minitorch.Tensor._make_subclass(Plain, source)
    assert type(x) is Plain
    assert not x.requires_grad
    assert x.data_ptr() == source.data_ptr()
    assert minitorch.Tensor._make_subclass(Plain, source, True).requires_grad
    moved = minitorch.Tensor._make_subclass(Described, source.detach(), device_for_backend_keys="cuda")
    assert minitorch._C._dispatch_keys(moved).has("AutogradCUDA")
    with pytest.raises(RuntimeError, match="floating point"):
        minitorch.Tensor._make_subclass(Plain, minitorch.ones(2).long(), True)
    with pytest.raises(TypeError, match="must be Tensor"):
        minitorch.Tensor._make_subclass(Plain, [1.0])


# -- autograd --------------------------------------------------------------------------------------


def test_views_count_with_their_base(Logging):
    x = Logging(minitorch.ones(2, 3))
    y = x.view(3, 2)
    assert y._base is x
    assert y._is_view()
    x.add_(1)
    assert x._version == y._version == 1
    parts = x.split(1)
    parts[0].add_(1)
    assert x._version == parts[1]._version == 2


def test_a_mode_may_return_a_fresh_tensor_for_a_view():
    class Fresh(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return minitorch.zeros(4)

    x = minitorch.ones(2, 2, requires_grad=True)
    with Fresh():
        y = x.view(4)
    assert y.tolist() == [0.0] * 4
    assert y.requires_grad


def test_saved_tensors_are_checked_and_freed(Logging):
    x = Logging(minitorch.zeros(2)).requires_grad_()
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    z = x.exp()
    alive = weakref.ref(z)
    gc.disable()
    try:
        del z
        assert alive() is None  # saving an output makes no cycle
    finally:
        gc.enable()


def test_a_gradient_that_others_hold_is_copied(Logging):
    held = []
    x = Logging(minitorch.ones(2)).requires_grad_()
    y = x * 1
    y.register_hook(held.append)
    y.sum().backward()
    assert type(x.grad) is Logging
    x.grad.elem.add_(1)
    assert held[0].elem.tolist() == [1.0, 1.0]


def test_saved_tensor_hooks(Logging):
    with minitorch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        x = Logging(minitorch.zeros(2)).requires_grad_()
        x.exp().sum().backward()
    assert type(x.grad) is Logging
    assert x.grad.elem.tolist() == [1.0, 1.0]


def test_double_backward(Logging):
    x = Logging(minitorch.tensor([2.0])).requires_grad_()
    (first,) = minitorch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (second,) = minitorch.autograd.grad(first.sum(), x)
    assert (first.elem.tolist(), second.elem.tolist()) == ([12.0], [12.0])


# -- transforms, nesting, modes --------------------------------------------------------------------


def test_in_transforms(Logging, log):
    x = Logging(minitorch.ones(2, 3))
    y = vmap(lambda row: row * 2)(x)
    assert type(y) is Logging
    assert log == ["aten.mul.Tensor"]
    assert grad(lambda r: (r * r).sum())(Logging(minitorch.ones(2))).elem.tolist() == [2.0, 2.0]
    z = functionalize(lambda r: r.clone().mul_(2))(Logging(minitorch.ones(2)))
    assert z.elem.tolist() == [2.0, 2.0]


def test_two_classes_nest(log):
    outer_log: list[str] = []
    Inner, Outer = make_logging(minitorch, log, pytree.tree_map), make_logging(minitorch, outer_log, pytree.tree_map)
    x = Outer(Inner(minitorch.ones(2, requires_grad=True)))
    y = (x * 2).sum()
    assert outer_log == log == ["aten.mul.Tensor", "aten.sum.default"]
    y.backward()
    assert type(x.grad) is Outer
    assert type(x.grad.elem) is Inner
    assert x.grad.elem.elem.tolist() == [2.0, 2.0]


def test_modes_see_calls_before_subclasses(Logging, log):
    order = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((str(func), types, len(log)))
            return func(*args, **(kwargs or {}))

    x = Logging(minitorch.ones(2))
    with Mode():
        x + 1
    assert order == [("aten.add.Tensor", (Logging,), 0)]
    assert log == ["aten.add.Tensor"]


# -- copies, parameters, modules -------------------------------------------------------------------


class Kept(minitorch.Tensor):
    """Of this module, so that it can be pickled."""

    @staticmethod
    def __new__(cls, elem):
        return make(cls, elem.shape, dtype=elem.dtype, device=elem.device, requires_grad=elem.requires_grad)

    def __init__(self, elem):
        self.elem = elem

    def __repr__(self):
        return f"Kept({self.elem})"

    __torch_function__ = minitorch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = pytree.tree_map(lambda x: x.elem if isinstance(x, cls) else x, (tuple(args), kwargs or {}))
        return pytree.tree_map(lambda x: cls(x) if isinstance(x, minitorch.Tensor) else x, func(*args, **kwargs))


class Flat(Kept):
    """One that says what is inside."""

    def __tensor_flatten__(self):
        return ["elem"], "context"

    @staticmethod
    def __tensor_unflatten__(inner, context, outer_size, outer_stride):
        assert context == "context"
        return Flat(inner["elem"])


def test_copies():
    x = Kept(minitorch.ones(2)).requires_grad_()
    x.note = [1]
    deep, shallow, loaded = copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))
    for other in (deep, shallow, loaded):
        assert type(other) is Kept
        assert other.requires_grad
        assert other.note == [1]
        assert other.elem.tolist() == [1.0, 1.0]
    assert deep.elem is not x.elem
    assert deep.note is not x.note
    assert shallow.elem is x.elem

    class NoClone(Kept):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return minitorch.zeros(1)

    with pytest.raises(RuntimeError, match=r"__deepcopy__\(\) for wrapper subclasses.*NoClone returned a Tensor"):
        copy.deepcopy(NoClone(minitorch.ones(1)))


def test_parameters_keep_their_class():
    p = nn.Parameter(Kept(minitorch.ones(2)))
    assert type(p) is Kept
    assert isinstance(p, nn.Parameter)
    assert p.requires_grad
    assert not isinstance(Kept(minitorch.ones(2)), nn.Parameter)
    assert isinstance(copy.deepcopy(p), nn.Parameter)
    module = nn.Module()
    module.weight = p
    assert list(module.parameters()) == [p]
    assert not isinstance(nn.Parameter(minitorch.ones(1)), nn.UninitializedParameter)

    class Unwraps(Kept):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return minitorch.zeros(2)

    with pytest.raises(RuntimeError, match="requires that detach"):
        nn.Parameter(Unwraps(minitorch.ones(2)))


def test_training_and_moving_a_module():
    linear = nn.Linear(2, 2, bias=False)
    weight = linear.weight = nn.Parameter(Flat(minitorch.ones(2, 2)))
    optimizer = minitorch.optim.Adam(linear.parameters(), lr=0.5)
    linear(minitorch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert weight.elem.flatten().tolist() == pytest.approx([0.5] * 4)
    linear.to(minitorch.float64)
    # The same object, so that who holds it goes on with it, and what is inside is of the new dtype.
    assert linear.weight is weight
    assert weight.elem.dtype is weight.dtype is weight.grad.elem.dtype is minitorch.float64
    assert isinstance(weight, nn.Parameter)
    minitorch.optim.SGD(linear.parameters(), lr=0.1).step()
    state = linear.state_dict()
    assert type(state["weight"]) is Flat
    other = nn.Linear(2, 2, bias=False, dtype=minitorch.float64)
    other.weight = nn.Parameter(Flat(minitorch.zeros(2, 2, dtype=minitorch.float64)))
    other.load_state_dict(state)
    assert other.weight.elem.tolist() == weight.elem.tolist()


def test_swap_tensors():
    a, b = Kept(minitorch.ones(2)), minitorch.zeros(3, requires_grad=True)
    b.note = "b"
    swap_tensors(a, b)
    assert type(b) is Kept
    assert b.elem.tolist() == [1.0, 1.0]
    assert type(a) is minitorch.Tensor
    assert a.requires_grad
    assert a.note == "b"
    assert (a * 2).tolist() == [0.0, 0.0, 0.0]
    assert type(b + 1) is Kept
    reference = weakref.ref(a)
    with pytest.raises(RuntimeError, match="weak references"):
        swap_tensors(a, b)
    del reference

    class Slotted(minitorch.Tensor):
        __slots__ = ("more",)

    with pytest.raises(RuntimeError, match="different slots"):
        swap_tensors(minitorch.ones(1), Slotted([1.0]))


# -- aliasing, flattening --------------------------------------------------------------------------


class Two(minitorch.Tensor):
    """Two tensors that everything is done to."""

    @staticmethod
    def __new__(cls, a, b):
        return make(cls, a.shape, strides=a.stride(), dtype=a.dtype, device=a.device, requires_grad=a.requires_grad)

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __repr__(self):
        return f"Two({self.a}, {self.b})"

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, outer_size, outer_stride):
        return Two(inner["a"], inner["b"])

    __torch_function__ = minitorch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def run(name):
            given = pytree.tree_map(lambda x: getattr(x, name) if isinstance(x, cls) else x, (tuple(args), kwargs or {}))
            return func(*given[0], **given[1])

        first, second = run("a"), run("b")
        flat, spec = pytree.tree_flatten(first)
        pairs = zip(flat, pytree.tree_leaves(second), strict=True)
        out = pytree.tree_unflatten([cls(a, b) if isinstance(a, minitorch.Tensor) else a for a, b in pairs], spec)
        return return_and_correct_aliasing(func, args, kwargs, out)


def test_two_tensors():
    x = Two(minitorch.ones(4), minitorch.zeros(4))
    y = x + 1
    assert (y.a.tolist(), y.b.tolist()) == ([2.0] * 4, [1.0] * 4)
    assert x.add_(1) is x
    assert x.b.tolist() == [1.0] * 4
    assert minitorch.add(x, 1, out=y) is y
    w = Two(minitorch.ones(2), minitorch.ones(2) * 3).requires_grad_()
    (w * w).sum().backward()
    assert (w.grad.a.tolist(), w.grad.b.tolist()) == ([2.0, 2.0], [6.0, 6.0])


def test_views_have_the_storage_of_their_base():
    x = Two(minitorch.ones(4), minitorch.zeros(4))
    storage = x.untyped_storage()._cdata
    assert x.view(2, 2).untyped_storage()._cdata == storage
    assert x.detach().untyped_storage()._cdata == storage
    assert all(part.untyped_storage()._cdata == storage for part in x.split(2))
    assert (x + 1).untyped_storage()._cdata != storage


def test_flattening():
    x = Two(minitorch.ones(2), minitorch.zeros(2))
    assert is_traceable_wrapper_subclass(x)
    assert is_traceable_wrapper_subclass(Two)
    assert not is_traceable_wrapper_subclass(minitorch.ones(2))
    assert not is_traceable_wrapper_subclass(Kept(minitorch.ones(2)))
    y = transform_subclass(x, lambda name, inner: inner + (1 if name == "a" else 2))
    assert (y.a.tolist(), y.b.tolist()) == ([2.0, 2.0], [2.0, 2.0])
    with pytest.raises(RuntimeError, match="made a tensor of size"):
        transform_subclass(x, lambda name, inner: inner[:1])


# -- well-known kinds ------------------------------------------------------------------------------


class QuantizedWeight(minitorch.Tensor):
    """int8 values and a scale, which read as floats: dequantized where an operator needs them."""

    @staticmethod
    def __new__(cls, values, scale):
        return make(cls, values.shape, dtype=scale.dtype, device=values.device)

    def __init__(self, values, scale):
        self.values, self.scale = values, scale

    __torch_function__ = minitorch._C._disabled_torch_function_impl

    def dequantize(self):
        return self.values.to(self.scale.dtype) * self.scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is minitorch.ops.aten.detach.default:
            return return_and_correct_aliasing(func, args, kwargs, cls(args[0].values, args[0].scale))
        if func is minitorch.ops.aten.t.default:
            return return_and_correct_aliasing(func, args, kwargs, cls(args[0].values.t(), args[0].scale))
        args, kwargs = pytree.tree_map(lambda x: x.dequantize() if isinstance(x, cls) else x, (tuple(args), kwargs or {}))
        return func(*args, **kwargs)


def test_a_quantized_weight():
    linear = nn.Linear(3, 2)
    x = minitorch.arange(6.0).view(2, 3)
    scale = linear.weight.detach().abs().max() / 127
    values = (linear.weight.detach() / scale).round().to(minitorch.int8)
    expected = minitorch.nn.functional.linear(x, values.float() * scale, linear.bias)
    linear.weight = nn.Parameter(QuantizedWeight(values, scale), requires_grad=False)
    assert linear.weight.values.nbytes == 6
    y = linear(x)
    assert type(y) is minitorch.Tensor
    assert minitorch.allclose(y, expected)
    y.sum().backward()
    assert linear.bias.grad.tolist() == [2.0, 2.0]


def test_a_device_that_is_not_there(Logging):
    """Tensors say that they are on a device which this machine may not have, and are computed on the CPU."""

    class Elsewhere(Kept):
        @staticmethod
        def __new__(cls, elem):
            return make(cls, elem.shape, dtype=elem.dtype, device="cuda:3", requires_grad=elem.requires_grad)

    x = Elsewhere(minitorch.ones(2)).requires_grad_()
    y = (x * 3).sum()
    assert y.device == minitorch.device("cuda:3")
    assert minitorch._C._dispatch_keys(y).has("AutogradCUDA")
    y.backward()
    assert x.grad.device == minitorch.device("cuda:3")
    assert x.grad.elem.tolist() == [3.0, 3.0]


class Masked(minitorch.Tensor):
    """Values of which some count: reductions take only those."""

    @staticmethod
    def __new__(cls, values, mask):
        return make(cls, values.shape, dtype=values.dtype, device=values.device)

    def __init__(self, values, mask):
        self.values, self.mask = values, mask

    __torch_function__ = minitorch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        aten = minitorch.ops.aten
        if func is aten.sum.default:
            return minitorch.where(args[0].mask, args[0].values, 0).sum()
        if func.is_view or func in (aten.mul.Tensor, aten.add.Tensor, aten.exp.default):
            masks = [a.mask for a in args if isinstance(a, cls)]
            values = func(*[a.values if isinstance(a, cls) else a for a in args], **(kwargs or {}))
            mask = func(masks[0], *args[1:]) if func.is_view else masks[0]
            for other in masks[1:]:
                mask = mask & other
            return cls(values, mask)
        return NotImplemented


def test_a_masked_tensor():
    x = Masked(minitorch.tensor([1.0, 2.0, 4.0]), minitorch.tensor([True, False, True]))
    y = Masked(minitorch.tensor([1.0, 1.0, 3.0]), minitorch.tensor([True, True, False]))
    assert (x + 1).sum().item() == 7.0
    assert (x * y).sum().item() == 1.0
    assert x[1:].sum().item() == 4.0
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'aten.cos.default'"):
        x.cos()


class Lazy(minitorch.Tensor):
    """Notes what is to be done, and does it when the result is asked for."""

    @staticmethod
    def __new__(cls, like, func, args, kwargs):
        return make(cls, like.shape, dtype=like.dtype)

    def __init__(self, like, func, args, kwargs):
        self.like, self.call = like, (func, args, kwargs)

    __torch_function__ = minitorch._C._disabled_torch_function_impl

    @staticmethod
    def of(tensor):
        return Lazy(tensor.to("meta"), lambda: tensor, (), {})

    def value(self):
        func, args, kwargs = self.call
        args, kwargs = pytree.tree_map(lambda x: x.value() if isinstance(x, Lazy) else x, (args, kwargs))
        result = func(*args, **kwargs)
        self.call = (lambda: result, (), {})
        return result

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        meta_args, meta_kwargs = pytree.tree_map(lambda x: x.like if isinstance(x, cls) else x, (tuple(args), kwargs or {}))
        return cls(func(*meta_args, **meta_kwargs), func, tuple(args), kwargs or {})


def test_a_lazy_tensor():
    done = []

    class Counts(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            done.append(str(func))
            return func(*args, **(kwargs or {}))

    x = Lazy.of(minitorch.ones(2, 3))
    y = (x @ Lazy.of(minitorch.ones(3, 4))).sum(1) * 2
    assert y.shape == (2,)
    with Counts():
        assert y.value().tolist() == [24.0, 24.0]
        y.value()
    assert done == ["aten.mm.default", "aten.sum.dim_IntList", "aten.mul.Tensor"]
