"""The modules of the stand-in: ``cupy``, ``cupy.linalg``, ``cupy.cuda`` and their kind."""

from __future__ import annotations

import contextlib
import inspect
import json
import threading
import types
from pathlib import Path

import numpy as np
import shim

from strict_cupy import arrays
from strict_cupy.device import make_cuda
from strict_cupy.ndarray import call, ndarray, plain, wrap
from strict_cupy.sparse import make as make_sparse

NAMES = json.loads(Path(__file__).parent.with_name("cupy_names.json").read_text(encoding="utf-8"))
_KINDS = {kind.name: kind for kind in (
    inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD,
)}  # fmt: skip
_AT = {
    "add": "ifdFDLIe?",
    "maximum": "ifdLI",
    "minimum": "ifdLI",
}  # type characters that CuPy scatters (int32, float, double, complex, unsigned)


def signature(parameters):
    """Return the signature that was recorded."""
    if parameters is None:
        return None
    empty = inspect.Parameter.empty
    return inspect.Signature([
        inspect.Parameter(name, _KINDS[kind], default=None if has_default and "VAR" not in kind else empty)
        for name, kind, has_default in parameters
    ])  # fmt: skip


class ufunc:
    """``cupy.ufunc``."""

    def __init__(self, name):
        self.name, self.raw = f"cupy_{name}", getattr(np, name)
        is_ufunc = isinstance(self.raw, np.ufunc)
        self.nin, self.nout = (self.raw.nin, self.raw.nout) if is_ufunc else (1, 1)
        self.types = self.raw.types if is_ufunc else []

    def __call__(self, *args, **kwargs):
        if len(args) > self.nin:
            kwargs["out"], args = args[self.nin], args[: self.nin]
        unknown = set(kwargs) - {"out", "dtype", "casting", "where"}
        if unknown:
            raise TypeError(f"Wrong arguments {unknown}")
        kwargs = {k: v for k, v in kwargs.items() if v is not None}
        return call(self.raw, args, kwargs)

    def at(self, a, indices, b=None):
        short = self.name.removeprefix("cupy_")
        if short not in _AT:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        if np.dtype(a.dtype).char not in _AT[short] and a.dtype != np.uint64:
            raise TypeError(f"{self.name}.at does not support {a.dtype}")
        with np.errstate(all="ignore"):
            self.raw.at(a._a, plain(indices), plain(b))

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False):
        if self.name not in ("cupy_add", "cupy_multiply"):
            raise NotImplementedError(f"`{self.name}.reduce` is not supported yet")
        kind = np.sum if self.name == "cupy_add" else np.prod
        return call(kind, (array,), {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims})

    def accumulate(self, array, axis=0, dtype=None, out=None):
        if self.name not in ("cupy_add", "cupy_multiply"):
            raise NotImplementedError(f"`{self.name}.accumulate` is not supported yet")
        kind = np.cumsum if self.name == "cupy_add" else np.cumprod
        return call(kind, (array,), {"axis": axis, "dtype": dtype, "out": out})


def checked(function, name, parameters):
    """Return a function that takes what CuPy's takes, and computes what NumPy's does."""
    known = signature(parameters)

    def run(*args, **kwargs):
        if known is not None:
            known.bind(*args, **kwargs)
        return call(function, args, {k: v for k, v in kwargs.items() if k != "blocking"})

    run.__name__ = run.__qualname__ = name
    return run


# ---------------------------------------------------------------- what differs from NumPy


def asarray(a, dtype=None, order=None, *, copy=None, blocking=False):
    if isinstance(a, ndarray):
        return a if dtype is None or a.dtype == dtype else a.astype(dtype)
    if isinstance(a, (list, tuple)) and any(isinstance(v, ndarray) for v in a):
        return call(np.stack, (list(a),), {})
    return array(a, dtype)


def array(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False):
    host = obj._a if isinstance(obj, ndarray) else np.array(obj, dtype)
    made = arrays.allocate(host.shape, host.dtype if dtype is None else dtype)
    made[...] = host
    return wrap(made)


def empty(shape, dtype=float, order="C"):
    return wrap(arrays.allocate(shape, dtype, order))


def empty_like(prototype, dtype=None, order="K", subok=None, shape=None):
    like = np.empty_like(prototype._a, dtype, order, shape=shape)
    made = arrays.allocate((like.nbytes,), np.uint8)
    return wrap(
        np.ndarray(like.shape, like.dtype, arrays.owner_of(made), arrays.MARGIN, like.strides) if like.size else like
    )


def zeros(shape, dtype=float, order="C"):
    made = arrays.allocate(shape, dtype, order)
    made[...] = 0
    return wrap(made)


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True):
    return a.get() if isinstance(a, ndarray) else np.asarray(a)


def argsort(a, axis=-1, kind=None):
    if kind not in (None, "stable"):
        raise ValueError("only stable sort is supported in CuPy")
    return call(np.argsort, (a,), {"axis": axis, "kind": "stable"})


def sort(a, axis=-1, kind=None):
    if kind not in (None, "stable"):
        raise ValueError("only stable sort is supported in CuPy")
    return call(np.sort, (a,), {"axis": axis})


def lexsort(keys):
    return call(np.lexsort, (keys if isinstance(keys, ndarray) else asarray(keys),), {})


def from_dlpack(array, *, device=None, copy=None):
    if isinstance(array, ndarray):
        return array
    raise ValueError(
        "CPU arrays cannot be directly imported to CuPy. Use `cupy.array(numpy.from_dlpack(input))` instead."
    )


def copyto(dst, src, casting="same_kind", where=None):
    if isinstance(src, np.ndarray):
        raise TypeError("NumPy arrays do not mix with CuPy's")
    with np.errstate(all="ignore"):
        np.copyto(dst._a, plain(src), casting=casting, **({} if where is None else {"where": plain(where)}))


class RawModule:
    """``cupy.RawModule``: its kernels run in the shim."""

    def __init__(self, code=None, *, path=None, options=(), backend="nvrtc", translate_cucomplex=False, jitify=False,
                 name_expressions=None):  # fmt: skip
        self.code = code

    def get_function(self, name):
        run = shim.Kernel(self.code, name)

        def launch(grid, block, args, *, shared_mem=0):
            given = [a for a in args if isinstance(a, ndarray)]
            if any(not a._a.flags.c_contiguous for a in given):
                raise AssertionError(f"{name}: an array that is not row-major")
            if {a._index for a in given} - {arrays.current()}:
                raise AssertionError(f"{name}: an array of another device than the current one")
            if any(isinstance(a, np.ndarray) for a in args):
                raise TypeError("Unsupported type")
            run(grid, block, tuple([plain(a) for a in args]))
            for a in given:
                arrays.check_margins(a._a)

        return launch


_OWN = {
    "asarray": asarray, "array": array, "empty": empty, "empty_like": empty_like, "zeros": zeros, "asnumpy": asnumpy,
    "argsort": argsort, "sort": sort, "lexsort": lexsort, "from_dlpack": from_dlpack, "copyto": copyto, "ndarray": ndarray,
    "ufunc": ufunc, "RawModule": RawModule,
}  # fmt: skip


class _Config(threading.local):
    linalg = "ignore"


config = _Config()


@contextlib.contextmanager
def errstate(*, divide=None, over=None, under=None, invalid=None, linalg=None):
    """``cupyx.errstate``: of NumPy's conditions none, and whether singular matrices raise."""
    if {divide, over, under, invalid} != {None} or linalg not in (None, "ignore", "raise"):
        raise NotImplementedError
    before, config.linalg = config.linalg, linalg or config.linalg
    try:
        yield
    finally:
        config.linalg = before


def silent(function):
    """Return a function of matrices that fails without a word, as CuPy's, unless `errstate` says otherwise."""

    def run(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except np.linalg.LinAlgError as error:
            if config.linalg == "raise" or "dimension" in str(error) or "square" in str(error):
                raise
            raise AssertionError("a singular matrix, of which CuPy says nothing") from error

    return run


def _namespace(path, source):
    module = types.ModuleType(f"cupy.{path}")
    for name, parameters in NAMES["namespaces"][path].items():
        function = getattr(source, name, None)
        if function is not None:
            made = checked(function, name, parameters)
            setattr(module, name, silent(made) if path == "linalg" else made)
    return module


def make(devices=1):
    """Return the module ``cupy``."""
    arrays.Device.count = devices
    cupy = types.ModuleType("cupy")
    cupy.__version__ = "0+strict_cupy"
    for name in NAMES["names"]:
        if name in _OWN:
            value = _OWN[name]
        elif name in NAMES["ufuncs"]:
            if not hasattr(np, name):
                continue
            value = ufunc(name)
        elif name in NAMES["functions"]:
            function = getattr(np, name, None)
            if function is None:
                continue
            value = checked(function, name, NAMES["functions"][name])
        elif hasattr(np, name) and not isinstance(getattr(np, name), types.ModuleType):
            value = getattr(np, name)  # types and constants, which CuPy has from NumPy
        else:
            continue
        setattr(cupy, name, value)
    cupy.linalg, cupy.fft = _namespace("linalg", np.linalg), _namespace("fft", np.fft)
    cupy.linalg.LinAlgError = np.linalg.LinAlgError
    cupy.lib = types.ModuleType("cupy.lib")
    cupy.lib.stride_tricks = _namespace("lib.stride_tricks", np.lib.stride_tricks)
    cupy.cuda = make_cuda()
    cupy.get_default_memory_pool = lambda: cupy.cuda.pool
    cupy.get_default_pinned_memory_pool = lambda: cupy.cuda.pinned_pool
    cupyx = types.ModuleType("cupyx")
    cupyx.errstate = errstate
    cupyx.scipy = types.ModuleType("cupyx.scipy")
    cupyx.scipy.sparse = make_sparse()
    cupy._modules = {"cupy": cupy, "cupy.linalg": cupy.linalg, "cupy.fft": cupy.fft, "cupy.cuda": cupy.cuda, "cupyx": cupyx,
                     "cupyx.scipy": cupyx.scipy, "cupyx.scipy.sparse": cupyx.scipy.sparse,
                     "cupy.lib": cupy.lib, "cupy.lib.stride_tricks": cupy.lib.stride_tricks}  # fmt: skip
    return cupy
