"""`autocast`: which dtypes operators compute in, how scopes nest and end, and the cache of casts."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import warnings
import weakref

import pytest

import minitorch as mt
from minitorch import amp
from minitorch.autocast_mode import autocast_state
from minitorch.dispatch.keys import AUTOCAST_KEYS
from minitorch.dispatch.local_state import current
from minitorch.utils._python_dispatch import TorchDispatchMode
from minitorch.utils.checkpoint import checkpoint

FLOATING = (mt.float16, mt.bfloat16, mt.float32, mt.float64)


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = autocast_state()
    assert (before.nesting, before.dtypes, before.cache_enabled, before.scopes) == (0, {}, True, [])
    yield
    state = autocast_state()
    assert (state.nesting, state.dtypes, state.cache_enabled, state.scopes, state.casts) == (0, {}, True, [], {})


def square(dtype=mt.float32, **options):
    return mt.ones(2, 2, dtype=dtype, **options)


# -- the probes of the specification ---------------------------------------------------

MM = mt.mm
PROBES = [
    (MM, ("float32", "float32"), "bfloat16"),
    (MM, ("float16", "float16"), "bfloat16"),
    (MM, ("bfloat16", "float32"), "bfloat16"),
    (MM, ("float64", "float64"), "float64"),
    (MM, ("int64", "int64"), "int64"),
    (lambda a, b: mt.cat([a, b]), ("bfloat16", "float32"), "float32"),
    (lambda a, b: mt.cat([a, b]), ("bfloat16", "bfloat16"), "bfloat16"),
    (lambda a, b: mt.cat([a, b]), ("float64", "float32"), "float64"),
    (lambda a, b: mt.cat([a, b]), ("float32", "float16"), "float32"),
    (lambda a, b: mt.stack((a, b)), ("int64", "bfloat16"), "bfloat16"),
    (mt.nn.functional.mse_loss, ("bfloat16", "bfloat16"), "float32"),
    (mt.prod, ("bfloat16",), "float32"),
    (lambda a: a.prod(0), ("bfloat16",), "float32"),
    (lambda a: mt.softmax(a, 0), ("bfloat16",), "bfloat16"),
    (mt.sum, ("bfloat16",), "bfloat16"),
    (mt.exp, ("bfloat16",), "bfloat16"),
    (lambda a: mt.dot(a[0], a[1]), ("float32",), "float32"),
    (lambda a: mt.mv(a, a[0]), ("float32",), "float32"),
    (mt.add, ("bfloat16", "float32"), "float32"),
    (lambda a, b: mt.einsum("ij,jk->ik", a, b), ("float32", "float32"), "bfloat16"),
]


@pytest.mark.parametrize(("function", "dtypes", "expected"), PROBES)
def test_probe_of_dtypes(function, dtypes, expected):
    args = [mt.eye(2).to(getattr(mt, name)) for name in dtypes]
    before = [a.clone() for a in args]
    with mt.autocast("cpu"):
        assert function(*args).dtype is getattr(mt, expected)
    assert all(mt.equal(a, b) and a.dtype is b.dtype for a, b in zip(args, before, strict=True))
    with mt.autocast("cuda", enabled=False), mt.autocast("cpu", enabled=False):
        outside = function(*args) if dtypes != ("bfloat16", "float32") or function is not MM else None
    assert outside is None or outside.dtype is mt.promote_types(args[0].dtype, args[-1].dtype)


def test_probe_of_errors():
    with mt.autocast("cpu"):
        with pytest.raises(RuntimeError, match="same dtype|dtype"):
            mt.mm(square(mt.float64), square())
        with pytest.raises(RuntimeError, match="Unexpected floating ScalarType in autocast of cat\\(\\): torch.float16"):
            mt.cat([square(mt.float16), square()])


def test_out_and_inplace_forms_keep_the_dtype_they_write_to():
    x, out = square(), mt.empty(2, 2)
    with mt.autocast("cpu"):
        assert mt.mm(x, x, out=out) is out
        assert out.dtype is mt.float32
        assert out.addmm_(x, x).dtype is mt.float32
        assert x.clone().mul_(2).dtype is mt.float32


def test_probe_of_calls():
    x, w = square(), square(requires_grad=True)
    names = operators_of(lambda: mt.mm(x, w), lambda: mt.mm(x, w))
    assert names == [["_to_copy", "_to_copy", "mm"], ["_to_copy", "mm"]]


def operators_of(*calls):
    """Return, for each call in one scope, the operators that a dispatch mode sees."""
    seen: list[list[str]] = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen[-1].append(func._schema.name.removeprefix("aten::"))
            return func(*args, **(kwargs or {}))

    with mt.autocast("cpu"), Mode():
        for call in calls:
            seen.append([])
            call()
    return seen


def test_keyword_arguments_and_lists_are_cast():
    x = square()
    with mt.autocast("cpu"):
        assert mt.addmm(input=x, mat1=x, mat2=x, beta=2).dtype is mt.bfloat16
        assert mt.addmm(x, x, x, beta=2)[0, 0].item() == 4.0
        assert mt.nn.functional.linear(x, x, bias=mt.ones(2)).dtype is mt.bfloat16
        assert mt.nn.functional.linear(x, x, bias=None).dtype is mt.bfloat16


def test_tensors_elsewhere_are_not_cast():
    x = mt.ones(2, 2, device="meta")
    with mt.autocast("cpu"):
        assert mt.mm(x, x).dtype is mt.float32


def test_the_set_dtype_policies():
    """CUDA's, under the CPU's key for the time."""
    table = amp.policies("cpu")
    before = dict(table)
    x = square(mt.float16)
    try:
        names = ("sum", "sum.dim_IntList", "softmax.int", "norm.Scalar", "norm.ScalarOpt_dim")
        table.update({name: amp.policies("cuda")[name] for name in names})
        with mt.autocast("cpu"):
            assert x.sum().dtype is mt.float32
            assert x.sum(dtype=mt.float16).dtype is mt.float16
            assert x.sum([0], keepdim=True).dtype is mt.float32
            assert x.double().sum().dtype is mt.float64
            assert square(mt.int32).sum().dtype is mt.int64
            assert x.softmax(0).dtype is mt.float32
            assert x.softmax(0, mt.float64).dtype is mt.float64
            assert x.softmax(0, dtype=mt.bfloat16).dtype is mt.bfloat16
            norm = mt.ops.aten.norm
            assert norm.Scalar(x).dtype is mt.float32
            assert norm.Scalar(x.double(), 1).dtype is mt.float64
            assert norm.ScalarOpt_dim(x, 2, [0]).dtype is mt.float32
            assert norm.ScalarOpt_dim(x, 2, [0], keepdim=True).shape == (1, 2)
    finally:
        for name in set(table) - set(before):
            del table[name]


# -- scopes ----------------------------------------------------------------------------


def dtype_now():
    return mt.mm(square(), square()).dtype


def test_scopes_nest():
    assert not mt.is_autocast_enabled("cpu")
    with mt.autocast("cpu") as scope:
        assert isinstance(scope, mt.autocast)
        assert mt.is_autocast_enabled("cpu")
        assert not mt.is_autocast_enabled("cuda")
        assert mt.autocast_increment_nesting() == 2
        assert mt.autocast_decrement_nesting() == 1
        with mt.autocast("cpu", enabled=False):
            assert dtype_now() is mt.float32
            assert mt.get_autocast_dtype("cpu") is mt.bfloat16
            with mt.autocast("cpu", dtype=mt.float16):
                assert dtype_now() is mt.float16
                assert mt.get_autocast_dtype("cpu") is mt.float16
                with mt.autocast("cpu"):
                    assert dtype_now() is mt.float16
            assert dtype_now() is mt.float32
        assert dtype_now() is mt.bfloat16
        with mt.autocast("cpu", cache_enabled=False):
            assert not mt.is_autocast_cache_enabled()
        with pytest.raises(KeyError), mt.autocast("cpu", mt.float16, cache_enabled=False):
            raise KeyError("inside")
        assert mt.is_autocast_cache_enabled()
        assert dtype_now() is mt.bfloat16
    assert dtype_now() is mt.float32


def test_one_instance_can_be_entered_again():
    scope = mt.autocast("cpu")
    with scope, scope:
        assert dtype_now() is mt.bfloat16
    assert dtype_now() is mt.float32
    with scope:
        assert dtype_now() is mt.bfloat16


def test_as_a_decorator():
    @mt.autocast("cpu", dtype=mt.float16)
    def product(x, *, y):
        """Multiply."""
        return x @ y

    assert product.__name__ == "product"
    assert product.__doc__ == "Multiply."
    assert product(square(), y=square()).dtype is mt.float16
    assert dtype_now() is mt.float32


def test_threads_begin_without():
    found = []
    with mt.autocast("cpu"):
        thread = threading.Thread(
            target=lambda: found.append((dtype_now(), mt.is_autocast_enabled("cpu"), autocast_state().nesting))
        )
        thread.start()
        thread.join()
    assert found == [(mt.float32, False, 0)]


def test_a_decorator_is_shared_by_threads():
    barrier = threading.Barrier(2)
    found = []

    @mt.autocast("cpu")
    def work():
        barrier.wait(10)
        found.append(dtype_now())
        barrier.wait(10)

    threads = [threading.Thread(target=lambda: (work(), found.append(dtype_now()))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, found)) == ["torch.bfloat16"] * 2 + ["torch.float32"] * 2


def test_the_switches():
    try:
        mt.set_autocast_enabled("cpu", True)
        mt.set_autocast_dtype("cpu", mt.float16)
        assert dtype_now() is mt.float16
        w = square(requires_grad=True)
        mt.mm(w, w)
        assert not autocast_state().casts  # nothing would ever empty the cache
    finally:
        mt.set_autocast_enabled("cpu", False)
        autocast_state().dtypes.clear()
    mt.set_autocast_enabled(True)
    assert mt.is_autocast_enabled()
    mt.set_autocast_enabled(False)
    assert not mt.is_autocast_enabled()
    assert mt.get_autocast_dtype("cuda") is mt.float16
    assert mt.get_autocast_dtype("cpu:0") is mt.bfloat16
    assert mt.get_autocast_dtype("mps") is mt.float16


def test_errors_of_the_switches():
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        mt.autocast("toaster")
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        mt.autocast("meta")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class 'int'>`"):
        mt.autocast(3)
    with pytest.raises(TypeError, match="argument 'device_type'.*must be str, not int"):
        mt.is_autocast_enabled(3)
    with pytest.raises(TypeError, match="argument 'dtype'.*must be a dtype, not int"):
        mt.set_autocast_dtype("cpu", 3)
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        mt.set_autocast_enabled("meta", True)
    assert amp.is_autocast_available("cpu")
    assert not amp.is_autocast_available("meta")
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        amp.is_autocast_available("toaster")


@pytest.mark.parametrize("dtype", [mt.float32, mt.float64])
def test_a_dtype_that_the_device_cannot_compute_in_disables(dtype):
    with pytest.warns(UserWarning, match=f"In CPU autocast, but the target dtype {dtype} is not supported. Disabling autocast"):
        scope = mt.autocast("cpu", dtype)
    with scope:
        assert dtype_now() is mt.float32


def test_without_the_device_autocast_is_off():
    if mt.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.warns(UserWarning, match="CUDA is not available. Disabling autocast."):
        scope = mt.autocast("cuda")
    with scope:
        assert not mt.is_autocast_enabled("cuda")
        assert dtype_now() is mt.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mt.autocast("cuda", enabled=False)


def test_the_older_names_are_deprecated():
    with pytest.warns(FutureWarning, match="minitorch.cpu.amp.autocast"):
        scope = mt.cpu.amp.autocast()
    with scope:
        assert dtype_now() is mt.bfloat16
    with pytest.warns(FutureWarning, match="minitorch.cpu.amp.GradScaler"):
        assert mt.cpu.amp.GradScaler(init_scale=2.0).get_scale() == 2.0
    with pytest.warns(FutureWarning, match="minitorch.cuda.amp.custom_fwd"):
        mt.cuda.amp.custom_fwd(lambda ctx: None)


def test_import_loads_nothing_of_it_and_the_keys_stay_excluded():
    code = (
        "import sys, minitorch as mt; "
        "assert not [m for m in sys.modules if m in ('minitorch.amp', 'minitorch.autocast_mode')]; "
        "mt.autocast; assert 'minitorch.amp' in sys.modules; print(isinstance(mt.autocast, type))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
    assert current().excluded & AUTOCAST_KEYS == AUTOCAST_KEYS


# -- the cache -------------------------------------------------------------------------


def casts_of(*calls):
    return [names.count("_to_copy") for names in operators_of(*calls)]


def test_only_leaves_that_require_grad_are_kept():
    x, w = square(mt.bfloat16), square(requires_grad=True)
    computed, view, plain, half = w * 1, w.view(4).view(2, 2), square(), square(mt.float16, requires_grad=True)
    assert casts_of(*[lambda: mt.mm(x, w)] * 3) == [1, 0, 0]
    for other in (computed, view, plain, half):
        assert casts_of(*[lambda other=other: mt.mm(x, other)] * 2) == [1, 1]


def test_two_uses_share_the_cast_and_gradients_add_up():
    x, w = square(), square(requires_grad=True)
    with mt.autocast("cpu"):
        a, b = mt.mm(x, w), mt.mm(x, w)
    assert a.grad_fn.next_functions[1][0] is b.grad_fn.next_functions[1][0]
    (a + b).sum().backward()
    assert w.grad.dtype is mt.float32
    assert w.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_the_outermost_exit_empties_the_cache():
    x, w = square(), square(requires_grad=True)
    with mt.autocast("cpu"):
        with mt.autocast("cpu"):
            mt.mm(x, w)
        assert len(autocast_state().casts) == 1
        mt.clear_autocast_cache()
        assert not autocast_state().casts
        mt.mm(x, w)
    assert not autocast_state().casts
    reference = weakref.ref(w)
    with mt.autocast("cpu"):
        mt.mm(x, w)
    del w
    gc.collect()
    assert reference() is None


def test_a_cast_without_history_goes_with_its_weight():
    x, w = square(), square(requires_grad=True)
    with mt.autocast("cpu"):
        with mt.no_grad():
            mt.mm(x, w)
        assert len(autocast_state().casts) == 1
        del w
        gc.collect()
        assert not autocast_state().casts


@pytest.mark.parametrize("off", [mt.no_grad, mt.inference_mode])
def test_a_cast_without_history_is_not_used_with_grad_mode(off):
    x, w = square(), square(requires_grad=True)
    with mt.autocast("cpu"):
        with off():
            assert not mt.mm(x, w).requires_grad
        y = mt.mm(x, w)
        assert y.requires_grad
        with off():
            assert not mt.mm(x, w).requires_grad
    y.sum().backward()
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_weight_that_changed_is_cast_again():
    x, w = square(), square(requires_grad=True)
    with mt.autocast("cpu"):
        assert mt.mm(x, w)[0, 0].item() == 2.0
        with mt.no_grad():
            w.mul_(2)
        assert mt.mm(x, w)[0, 0].item() == 4.0
        w.data = mt.full((2, 2), 3.0)
        assert mt.mm(x, w)[0, 0].item() == 6.0


def test_another_dtype_is_another_cast():
    x, w = square(), square(requires_grad=True)
    with mt.autocast("cpu"):
        assert mt.mm(x, w).dtype is mt.bfloat16
        with mt.autocast("cpu", mt.float16):
            assert mt.mm(x, w).dtype is mt.float16
        assert mt.mm(x, w).dtype is mt.bfloat16


def test_the_cache_can_be_off():
    x, w = square(mt.bfloat16), square(requires_grad=True)
    with mt.autocast("cpu", cache_enabled=False):
        a, b = mt.mm(x, w), mt.mm(x, w)
        assert not autocast_state().casts
    assert a.grad_fn.next_functions[1][0] is not b.grad_fn.next_functions[1][0]


# -- gradients -------------------------------------------------------------------------


def test_backward_outside_computes_in_the_dtypes_of_forward():
    seen = []
    x, w = square(requires_grad=True), square(requires_grad=True)
    with mt.autocast("cpu"):
        y = mt.mm(x, w)
    y.register_hook(lambda grad: seen.append(grad.dtype))
    y.float().sum().backward()
    assert seen == [mt.bfloat16]
    assert x.grad.dtype is w.grad.dtype is mt.float32


def test_gradients_are_near_those_of_float32():
    mt.manual_seed(0)
    model = mt.nn.Sequential(mt.nn.Linear(8, 16), mt.nn.GELU(), mt.nn.Linear(16, 4))
    x, target = mt.randn(32, 8), mt.randint(0, 4, (32,))
    grads = []
    for enabled in (False, True):
        model.zero_grad()
        with mt.autocast("cpu", enabled=enabled):
            out = model(x)
            loss = mt.nn.functional.cross_entropy(out, target)
        assert out.dtype is (mt.bfloat16 if enabled else mt.float32)
        assert loss.dtype is mt.float32
        loss.backward()
        grads.append([p.grad.clone() for p in model.parameters()])
    for exact, rough in zip(*grads, strict=True):
        assert rough.dtype is mt.float32
        assert (exact - rough).norm() < 0.02 * exact.norm()
        assert not mt.equal(exact, rough)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_recomputes_under_the_same_autocast(reentrant):
    seen = []

    def f(x):
        seen.append((dtype_now(), mt.is_autocast_cache_enabled()))
        return mt.mm(x, x)

    x = square(requires_grad=True)
    with mt.autocast("cpu", dtype=mt.float16, cache_enabled=False):
        y = checkpoint(f, x, use_reentrant=reentrant)
    y.float().sum().backward()
    assert seen == [(mt.float16, False)] * 2
    assert x.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


# -- autograd.Function -----------------------------------------------------------------


def function_of(cast_inputs=None):
    class Product(mt.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx, a, b, seen):
            ctx.save_for_backward(a, b)
            ctx.seen = seen
            seen((a.dtype, mt.is_autocast_enabled("cpu"), dtype_now()))
            return a.mm(b)

        @staticmethod
        @amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            ctx.seen((grad.dtype, mt.is_autocast_enabled("cpu"), dtype_now()))
            return grad.mm(b.t()), a.t().mm(grad), None

    return Product


def test_custom_functions_run_backward_under_the_autocast_of_forward():
    a, b, seen = square(requires_grad=True), square(requires_grad=True), []
    with mt.autocast("cpu", mt.float16):
        y = function_of().apply(a, b, seen.append)
    y.float().sum().backward()
    assert seen == [(mt.float32, True, mt.float16), (mt.float16, True, mt.float16)]
    assert a.grad.dtype is mt.float32
    seen.clear()
    y = function_of().apply(a, b, seen.append)
    with mt.autocast("cpu"):
        y.sum().backward()
    assert seen == [(mt.float32, False, mt.float32)] * 2


@pytest.mark.parametrize("cast_inputs", [mt.float32, mt.float16])
def test_custom_functions_can_have_their_inputs_cast(cast_inputs):
    a, b, seen = square(requires_grad=True), square(mt.bfloat16, requires_grad=True), []
    with mt.autocast("cpu"):
        y = function_of(cast_inputs).apply(a, b, seen.append)
    assert y.dtype is cast_inputs
    y.sum().backward()
    assert seen == [(cast_inputs, False, mt.float32)] * 2
    seen.clear()
    function_of(cast_inputs).apply(a, a, seen.append)
    assert seen == [(mt.float32, False, mt.float32)]


def test_custom_decorators_need_a_device_type():
    for decorator in (amp.custom_fwd, amp.custom_bwd):
        with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
            decorator(device_type=1)
        with pytest.raises(TypeError, match="device_type"):
            decorator(lambda ctx: None)
