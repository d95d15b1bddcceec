"""``python -m minitorch.tools doctor NAME``: what a device's backend has, what it lacks, what that breaks, what to write.

Each piece is tried out, not only looked for.  A piece that needs another one which is missing is not tried, so that one
gap is reported once.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import minitorch
from minitorch.backends import lazy
from minitorch.backends.api import Backend
from minitorch.backends.device_modules import DEVICE_MODULES
from minitorch.backends.fallback import CpuFallback
from minitorch.backends.kernels import BackendKernel
from minitorch.core.device import device as device_class
from minitorch.core.device import dispatch_key_name, known_device_types
from minitorch.dispatch.keys import BACKENDS, DispatchKey
from minitorch.dispatch.operator import BACKEND_FALLBACKS, OPERATORS
from minitorch.tensor.base import DEVICE_OF_BACKEND

HANDLE_FACTS = ("shape", "strides", "dtype", "ndim", "size", "itemsize", "nbytes")

# What a backend must define: the method, what its lack breaks, what to write.
METHODS = {
    "nbytes(root)": ("the size of a storage; resize_, deepcopy, files", "return the bytes that the storage of `root` has"),
    "offset(root, handle)": ("every view of a view", "return the bytes from the storage's start to the first element"),
    "strided(root, shape, strides, offset, dtype)": ("every view", "return a handle over the same memory; no copy"),
    "allocate(nbytes)": ("empty, clone, casts, every result of the CPU fallback", "return a new handle of uint8"),
    "from_host(array, index)": ("every copy to the device", "return a handle of new memory with the array's elements"),
    "to_host(handle)": ("every copy from the device, printing, item()", "return the elements as a NumPy array"),
    "copy_(target, source)": ("clone, copy_, every in-place operator", "copy the elements; equal shapes, any strides"),
}  # fmt: skip
# What each method's trial needs besides the method itself.
NEEDS = {
    "nbytes": ("from_host",), "allocate": (), "from_host": (), "to_host": ("from_host",), "strided": ("from_host", "to_host"),
    "offset": ("from_host", "strided"), "copy_": ("from_host", "to_host"),
}  # fmt: skip

# What training the usual nets runs most; those without a kernel are listed.
EVERYDAY = (
    "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "neg", "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "gelu",
    "threshold_backward", "mm", "bmm", "addmm", "linear", "sum", "sum.dim_IntList", "mean", "mean.dim", "_softmax",
    "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data",
    "nll_loss_forward", "nll_loss_backward", "native_layer_norm",
    "native_layer_norm_backward", "convolution", "convolution_backward", "embedding", "cat", "where.self", "zero_", "fill.Scalar",
    "zeros", "ones", "full", "arange", "uniform_", "normal_",
)  # fmt: skip

# For devices without a `Backend`: the least kernels of tensors (PyTorch's list), and what each is for.
LEAST_KERNELS = {
    "empty.memory_format": "empty, and every factory", "empty_strided": "empty_like, gradients of strided tensors",
    "_to_copy": ".to(device), .cpu(), casts", "copy_": "copy_, in-place operators", "view": "view, reshape, printing",
    "as_strided": "as_strided, gradients of views", "resize_": "out= arguments of another shape",
    "_local_scalar_dense": "item(), bool(), float()", "fill.Scalar": "ones, full",
}  # fmt: skip
MODULE_FUNCTIONS = {
    "is_available": "the accelerator API", "device_count": "the accelerator API", "current_device": "the accelerator API",
    "set_device": "the accelerator API", "manual_seed_all": "minitorch.manual_seed", "_is_in_bad_fork": "minitorch.manual_seed",
    "get_rng_state": "random.fork_rng, checkpointing", "set_rng_state": "random.fork_rng, checkpointing",
    "get_amp_supported_dtype": "autocast",
}  # fmt: skip


@dataclass
class Finding:
    """One piece of a backend.

    Attributes
    ----------
    piece : str
    state : {"ok", "missing", "wrong", "optional", "not tried"}
        `optional` is missing and need not be there.
    breaks : str
        What does not work, or what is wrong.
    write : str
        The line to write.
    """

    piece: str
    state: str
    breaks: str = ""
    write: str = ""

    @property
    def is_gap(self) -> bool:
        """Whether something must be done."""
        return self.state in ("missing", "wrong")


class Wrong(Exception):
    """What a trial found."""


def examine(name: str, wanted: str = "") -> list[Finding]:
    """Return what the backend of a device type has and lacks.

    Parameters
    ----------
    name : str
        The device type.
    wanted : str, optional
        ``"module"`` or ``"module:function"``, which registers the backend: imported, and called, first.
    """
    if wanted:
        module, _, function = wanted.partition(":")
        imported = import_module(module)
        if function:
            getattr(imported, function)()
    if name not in known_device_types():
        write = f"register_backend({name!r}, MyBackend())"
        return [Finding("device type", "missing", f"minitorch.device({name!r}) is an error", write)]
    if name in ("cpu", "meta"):
        return [Finding("backend", "ok")]
    try:
        lazy.load(device_class(name).type)
    except lazy.DeviceUnavailable as error:
        return [Finding("backend", "missing", str(error), f"register_backend({name!r}, MyBackend())")]
    backend = lazy.BACKENDS_BY_TYPE.get(device_class(name).type)
    return _examine_kernels_alone(name) if backend is None else _Examination(backend).run()


class _Examination:
    """The trials of one `Backend`."""

    def __init__(self, backend: Backend):
        self.backend = backend
        self.findings: list[Finding] = []
        self.bad: set[str] = set()  # methods that are missing or wrong

    def run(self) -> list[Finding]:
        for signature, (breaks, write) in METHODS.items():
            method = signature.partition("(")[0]
            if getattr(type(self.backend), method) is getattr(Backend, method):
                self.bad.add(method)
                self.findings.append(Finding(f"method {signature}", "missing", breaks, f"def {method}(self, ...): {write}"))
        trials: dict[str, Callable[[], None]] = {
            "allocate": self.try_allocate, "from_host": self.try_from_host, "to_host": self.try_to_host,
            "copy_": self.try_copy, "strided": self.try_strided, "offset": self.try_offset, "nbytes": self.try_nbytes,
        }  # fmt: skip
        for method, trial in trials.items():
            if method in self.bad:
                continue
            signature = next(s for s in METHODS if s.startswith(method + "("))
            blocked = [need for need in NEEDS[method] if need in self.bad]
            if blocked:
                self.findings.append(Finding(f"method {signature}", "not tried", f"needs {', '.join(blocked)}"))
            else:
                self.attempt(f"method {signature}", trial, METHODS[signature][1], method)
        if not {"from_host", "to_host", "strided", "copy_"} & self.bad:
            self.attempt("copy_ of an expanded source", self.try_copy_of_expanded, METHODS["copy_(target, source)"][1], "copy_")
        if "from_host" not in self.bad:
            self.attempt("handles", self.try_handles, f"give {self.handle_class()} the attributes that NumPy's arrays have")
            self.attempt("device of a handle", self.try_device, "def device_of(self, handle): return device(self.name, number)")
        self.attempt("devices", self.try_devices, "def device_count(self), current_device(self), set_device(self, index)")
        self.attempt("random numbers", self.try_random, "generator_type = ..., a class of Generators")
        self.attempt("registrations", self.try_registrations, f"register_backend({self.backend.name!r}, ...)")
        if not self.bad:
            self.attempt("files", self.try_files, "see the methods above")
        self.findings += self.optional_pieces()
        return self.findings

    def attempt(self, piece: str, trial: Callable[[], None], write: str, method: str = "") -> None:
        try:
            trial()
            self.findings.append(Finding(piece, "ok"))
        except Exception as error:
            text = str(error) if isinstance(error, Wrong) else f"raises {type(error).__name__}: {error}"
            self.bad.add(method)
            self.findings.append(Finding(piece, "wrong", text, write))

    def handle_class(self) -> str:
        return getattr(self.backend.array_type, "__name__", str(self.backend.array_type))

    def handle(self, array: Any = None) -> Any:
        return self.backend.from_host(np.arange(6, dtype=np.float32).reshape(2, 3) if array is None else array, 0)

    def expect(self, is_so: bool, text: str) -> None:
        if not is_so:
            raise Wrong(text)

    # -- trials ------------------------------------------------------------------------

    def try_allocate(self) -> None:
        handle = self.backend.allocate(8)
        self.expect(isinstance(handle, self.backend.array_type), f"returned a {type(handle).__name__}, no {self.handle_class()}")
        self.expect(tuple(handle.shape) == (8,) and handle.dtype == np.uint8, "allocate(8) is no handle of 8 bytes (uint8)")
        self.expect(tuple(self.backend.allocate(0).shape) == (0,), "allocate(0) has elements")

    def try_from_host(self) -> None:
        source = np.arange(6, dtype=np.float32).reshape(2, 3)
        handle = self.handle(source)
        self.expect(isinstance(handle, self.backend.array_type), f"returned a {type(handle).__name__}, no {self.handle_class()}")
        self.expect(tuple(handle.shape) == (2, 3) and handle.dtype == np.float32, "shape or dtype is not the array's")
        if "to_host" not in self.bad:
            source[0, 0] = 99
            self.expect(np.ravel(self.backend.to_host(handle))[0] != 99, "it shares the array's memory; copy it")

    def try_to_host(self) -> None:
        for array in (np.arange(6, dtype=np.float32).reshape(2, 3), np.array(2.5), np.zeros((0, 3), np.int64), np.array([True])):
            values = self.backend.to_host(self.handle(array))
            self.expect(isinstance(values, np.ndarray), f"returned a {type(values).__name__}, no NumPy array")
            same = values.shape == array.shape and values.dtype == array.dtype and np.array_equal(values, array)
            self.expect(same, f"an array of shape {array.shape} and dtype {array.dtype} comes back changed")

    def view(self, root: Any) -> Any:
        """Return the second column of a 2x3 handle."""
        return self.backend.strided(root, (2,), (12,), 4, root.dtype)

    def try_strided(self) -> None:
        root = self.handle()
        turned = self.backend.strided(root, (3, 2), (4, 12), 0, root.dtype)
        as_asked = tuple(turned.shape) == (3, 2) and tuple(turned.strides) == (4, 12)
        self.expect(as_asked, "shape or strides are not those asked for")
        self.expect(self.backend.to_host(turned).tolist() == [[0, 3], [1, 4], [2, 5]], "a transposed view has other elements")
        self.expect(self.backend.to_host(self.view(root)).tolist() == [1, 4], "a view with an offset has other elements")
        expanded = self.backend.strided(root, (2, 3), (0, 4), 0, root.dtype)
        self.expect(self.backend.to_host(expanded).tolist() == [[0, 1, 2]] * 2, "an expanded view (stride 0) has other elements")
        as_bytes = self.backend.strided(root, (24,), (1,), 0, np.dtype(np.uint8))
        self.expect(self.backend.to_host(as_bytes).size == 24, "the storage cannot be seen as bytes")
        if "copy_" not in self.bad:
            self.backend.copy_(self.view(root), self.handle(np.array([7, 8], np.float32)))
            shared = self.backend.to_host(root).tolist() == [[0, 7, 2], [3, 8, 5]]
            self.expect(shared, "what is written to a view is not seen in its storage: it is a copy")

    def try_offset(self) -> None:
        root = self.handle()
        self.expect(self.backend.offset(root, root) == 0, "the offset of a storage's own handle is not 0")
        found = self.backend.offset(root, self.view(root))
        self.expect(found == 4, f"a view that begins with the second float32 has offset {found}, and not 4")

    def try_nbytes(self) -> None:
        found = self.backend.nbytes(self.handle())
        self.expect(found >= 24, f"a storage of 6 float32 has {found} bytes, and not 24")

    def try_copy(self) -> None:
        target, source = self.handle(), self.handle(np.arange(6, 12, dtype=np.float32).reshape(2, 3))
        self.backend.copy_(target, source)
        self.expect(self.backend.to_host(target).tolist() == [[6, 7, 8], [9, 10, 11]], "the elements are not copied")

    def try_copy_of_expanded(self) -> None:
        target, source = self.handle(), self.handle(np.arange(6, 12, dtype=np.float32).reshape(2, 3))
        self.backend.copy_(target, self.backend.strided(source, (2, 3), (0, 4), 0, source.dtype))
        right = self.backend.to_host(target).tolist() == [[6, 7, 8]] * 2
        self.expect(right, "an expanded source (stride 0) is copied wrongly")

    def try_handles(self) -> None:
        handle = self.handle()
        lacking = [fact for fact in HANDLE_FACTS if not hasattr(handle, fact)]
        self.expect(not lacking, f"handles have no {', '.join(lacking)}")
        strides = tuple(handle.strides)
        self.expect(strides == (12, 4), f"strides of a 2x3 float32 handle are {strides}, and not (12, 4) bytes")
        facts = (handle.ndim, handle.size, handle.itemsize, handle.nbytes)
        self.expect(facts == (2, 6, 4, 24), f"ndim, size, itemsize, nbytes are {facts}, and not (2, 6, 4, 24)")
        self.expect(isinstance(handle.dtype, np.dtype), f"dtype is a {type(handle.dtype).__name__}, and no numpy.dtype")

    def try_device(self) -> None:
        found = self.backend.device_of(self.handle())
        right = isinstance(found, device_class) and found.type == self.backend.name and found.index == 0
        self.expect(right, f"a handle made for device 0 is on {found}, and not on {self.backend.name}:0")

    def try_devices(self) -> None:
        backend = self.backend
        count = backend.device_count()
        self.expect(isinstance(count, int) and count > 0, f"device_count() is {count!r}: there is no device to use")
        before = backend.current_device()
        self.expect(0 <= before < count, f"current_device() is {before}, and there are {count}")
        with backend.on_device(count - 1):
            self.expect(backend.current_device() == count - 1, "set_device does not set current_device")
        self.expect(backend.current_device() == before, "the device before is not current again after a scope")
        backend.synchronize(before)

    def try_random(self) -> None:
        generator = self.backend.new_generator(0).manual_seed(3)
        self.expect(generator.device == device_class(self.backend.name, 0), f"a generator of device 0 is on {generator.device}")
        self.expect(generator.initial_seed() == 3, "a generator forgets its seed")
        generator.set_state_array(generator.state_array())

    def try_registrations(self) -> None:
        backend, name = self.backend, self.backend.name
        fallback = BACKEND_FALLBACKS.get(DispatchKey.by_name[backend.key].slot)
        self.expect(fallback is not None, f"nothing runs at the key {backend.key} for operators without a kernel")
        self.expect(f"is_{name}" in dir(minitorch.Tensor), f"there is no Tensor.is_{name}")
        self.expect(name in DEVICE_MODULES or hasattr(minitorch, name), f"there is no module minitorch.{name}")

    def try_files(self) -> None:
        with minitorch.backends.fallback_policy("allow"):
            tensor = minitorch.arange(6.0).reshape(2, 3).to(self.backend.name)
            file = io.BytesIO()
            minitorch.save([tensor, tensor[1]], file)
            file.seek(0)
            whole, row = minitorch.load(file)
        self.expect(whole.tolist() == tensor.tolist(), "a saved tensor comes back changed")
        self.expect(row.untyped_storage() == whole.untyped_storage(), "tensors that share memory do not after a file")

    # -- what need not be there ----------------------------------------------------------

    def optional_pieces(self) -> list[Finding]:
        backend, found = self.backend, []
        if not backend.autocast_dtypes:
            write = "autocast_dtypes = (minitorch.float16,)"
            found.append(Finding("autocast_dtypes", "optional", "autocast on this device", write))
        if type(backend).share_with_host is Backend.share_with_host:
            write = "def share_with_host(self, handle): return a NumPy array over its memory"
            found.append(Finding("share_with_host", "optional", "Tensor.numpy() raises; .cpu() copies", write))
        if "copy_" not in self.bad and "from_host" not in self.bad and "to_host" not in self.bad:
            try:
                backend.copy_(self.handle(np.zeros(2, np.int64)), self.handle(np.ones(2, np.float32)))
            except Exception:
                write = "let copy_ convert between dtypes"
                found.append(Finding("casts", "optional", "casts go over the CPU", write))
        without = [n for n in EVERYDAY if not self.has_kernel(n)]
        if without:
            piece = f"kernels: {len(EVERYDAY) - len(without)} of {len(EVERYDAY)} everyday operators"
            write = "; ".join(f'@backend.kernel("{n}")' for n in without[:3]) + (" ..." if len(without) > 3 else "")
            found.append(Finding(piece, "optional", f"on the CPU run {', '.join(without)}", write))
        return found

    def has_kernel(self, name: str) -> bool:
        op = OPERATORS.get("aten::" + name)
        return op is None or not isinstance(op.resolve(DispatchKey.by_name[self.backend.key].slot)[0], CpuFallback | type(None))


def _examine_kernels_alone(name: str) -> list[Finding]:
    """Return the findings for a device whose kernels are registered one by one, without a `Backend`."""
    kind = device_class(name).type
    key = dispatch_key_name(kind)
    found = [Finding("device type", "ok")]
    has_memory = BACKENDS.index(key) in DEVICE_OF_BACKEND
    found.append(
        Finding("memory", "ok") if has_memory
        else Finding("memory", "missing", "Tensor.device, storages, views", f"register_memory({key!r}, MyMemory())")
    )  # fmt: skip
    for operator, breaks in LEAST_KERNELS.items():
        if key in OPERATORS["aten::" + operator].kernels:
            found.append(Finding(f"kernel {operator}", "ok"))
        else:
            write = f'Library("aten", "IMPL", "{key}").impl("{operator}", fn)'
            found.append(Finding(f"kernel {operator}", "missing", breaks, write))
    slot = DispatchKey.by_name[key].slot
    found.append(
        Finding("CPU fallback", "ok") if slot in BACKEND_FALLBACKS
        else Finding("CPU fallback", "missing", "every operator without a kernel", f'Library("_", "IMPL").fallback(fn, "{key}")')
    )  # fmt: skip
    module = DEVICE_MODULES.get(kind)
    if module is None:
        write = f"minitorch._register_device_module({kind!r}, module)"
        found.append(Finding("device module", "missing", f"minitorch.{kind}, manual_seed, the accelerator API", write))
    else:
        for function, breaks in MODULE_FUNCTIONS.items():
            piece = f"module function {function}"
            there = hasattr(module, function)
            found.append(Finding(piece, "ok") if there else Finding(piece, "missing", breaks, f"def {function}(): ..."))
    if not hasattr(minitorch.Tensor, f"is_{kind}"):
        write = "minitorch.utils.generate_methods_for_privateuse1_backend()"
        found.append(Finding("methods", "missing", f"Tensor.{kind}(), Tensor.is_{kind}, Module.{kind}()", write))
    autocast = DispatchKey.by_name.get(f"Autocast{key}")
    if autocast is not None and autocast.slot not in BACKEND_FALLBACKS:
        write = f'Library("_", "IMPL").fallback(fallthrough_kernel, "Autocast{key}")'
        found.append(Finding("autocast", "optional", "autocast on this device", write))
    return found


def own_kernels(key: str) -> int:
    """Return how many operators have a kernel that somebody wrote for a backend."""
    return sum(isinstance(op.active(key), BackendKernel) for op in OPERATORS.values())


def text_of(name: str, findings: list[Finding]) -> str:
    """Return the findings as text, what must be done first."""
    order = {"wrong": 0, "missing": 0, "not tried": 1, "optional": 2, "ok": 3}
    lines = []
    for finding in sorted(findings, key=lambda finding: order[finding.state]):
        lines.append(f"{finding.state:10s} {finding.piece}")
        if finding.breaks:
            word = {"wrong": "because", "optional": "without it", "not tried": "because"}.get(finding.state, "breaks")
            lines.append(f"           {word}: {finding.breaks}")
        if finding.write:
            lines.append(f"           write: {finding.write}")
    gaps = sum(finding.is_gap for finding in findings)
    backend = lazy.BACKENDS_BY_TYPE.get(name)
    own = f", {own_kernels(backend.key)} kernels of its own under {backend.key}" if backend is not None else ""
    lines.append(f"{name}: {gaps or 'no'} gap{'' if gaps == 1 else 's'}{own}")
    return "\n".join(lines)
