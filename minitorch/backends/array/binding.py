"""Kernels that run functions of plain arrays as kernels of a backend key.

Compiled where a compiler exists (`binding.pxd`).  Each kernel takes the handles out of the
tensors, calls the function with the array namespace first, and wraps what comes back.
When the function raises, the operator's shape function is run on the same handles, so
that the user reads which argument was wrong and not what NumPy made of it.
"""

from __future__ import annotations

from minitorch.backends.array.common import is_writeable
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOGRAD_KEYS
from minitorch.dispatch.local_state import LocalState, current
from minitorch.dispatch.operator import Kernel
from minitorch.ops.shapes.registry import SHAPES
from minitorch.tensor.base import TensorBase, new_tensor
from minitorch.tensor.memory import WRITES_ONE_VALUE, memory_of, overlaps_itself, refuse_overlap

COMPILED = not __file__.endswith(".py")
_NORMAL_KEYS = AD_INPLACE_OR_VIEW | AUTOGRAD_KEYS
_AD_INPLACE_OR_VIEW = AD_INPLACE_OR_VIEW  # a C integer when compiled


def handle_of(value):
    """Return the handle of a tensor, the handles of a list, anything else as it is."""
    if isinstance(value, TensorBase):
        tensor: TensorBase = value
        return tensor.handle
    if (type(value) is list or type(value) is tuple) and value and type(value[0]) is not int:
        return [handle_of(item) for item in value]
    return value


def explain(op, args, kwargs, error):
    """Raise the precise error for arguments that a kernel failed on, or `error` itself."""
    declaration = op.declaration
    functional = None if declaration is None or declaration.kind != "inplace" else declaration.functional
    shape = SHAPES.get(op.unqualified if functional is None else functional)
    if shape is not None:
        keywords = {}
        for name, value in (kwargs or {}).items():
            keywords[name] = handle_of(value)
        handles = [handle_of(a) for a in args]
        try:
            result = shape(*handles, **keywords)
        except Exception as precise:
            raise precise from None
        if functional is not None:
            check_result_shape(op, handles[0], result)
    if isinstance(error, IndexError):
        # Who found the position out of bounds does not know for which operator.
        name = f"{op.basename.rstrip('_')}()"
        if name not in str(error):
            raise type(error)(f"{name}: {error}") from None
    raise error


class Loop:
    """Runs an operator for the operands it was made for, before the array kernel is asked.

    Only the CPU backend has some, where it runs compiled (`backends.cpu.small`).
    """

    __slots__ = ()

    def run(self, args, kwargs):
        """Return the resulting array or tuple of arrays; None if the array kernel must run."""
        return None


class ArrayKernel(Kernel):
    """Runs ``fn(xp, *arrays, **keywords)`` and wraps the arrays that it returns.

    Parameters
    ----------
    fn : callable
    xp : module
        The array namespace, `fn`'s first argument.
    array_type : type
        The class of its arrays; other results are made into arrays.
    keys : int
        Key set of the resulting tensors.
    """

    __slots__ = ("array_type", "inference_keys", "keys", "loop", "xp")

    def __init__(self, fn, xp, array_type, keys):
        Kernel.__init__(self, fn)
        self.loop = None
        self.xp = xp
        self.array_type = array_type
        self.keys = keys
        self.inference_keys = keys & ~_NORMAL_KEYS

    def is_leaf(self, op, entry):
        return True

    def wrap_one(self, result):
        if type(result) is not self.array_type:
            kind = type(result)
            if result is None or kind is bool or kind is int or kind is float or kind is complex:
                return result
            result = self.xp.asarray(result)
        state: LocalState = current()
        if state.inference_mode:
            return new_tensor(result, self.inference_keys)
        return new_tensor(result, self.keys)

    def wrap(self, result):
        if type(result) is self.array_type:
            return self.wrap_one(result)
        if type(result) is tuple:
            return tuple([self.wrap_one(item) for item in result])
        if type(result) is list:
            return [self.wrap_one(item) for item in result]
        return self.wrap_one(result)

    def convert(self, args):
        converted = [self.xp]
        for a in args:
            if isinstance(a, TensorBase):
                tensor: TensorBase = a
                a = tensor.handle
            elif type(a) is list or type(a) is tuple:
                a = handle_of(a)
            converted.append(a)
        return converted

    def run_plain(self, op, args, kwargs):
        """Return the raw result of the function."""
        count = len(args)
        if count <= 2 and not kwargs and count > 0:
            a = args[0]
            if isinstance(a, TensorBase):
                first: TensorBase = a
                try:
                    if count == 1:
                        return self.fn(self.xp, first.handle)
                    b = args[1]
                    if isinstance(b, TensorBase):
                        second: TensorBase = b
                        b = second.handle
                    elif type(b) is list or type(b) is tuple:
                        b = handle_of(b)
                    return self.fn(self.xp, first.handle, b)
                except Exception as error:
                    explain(op, args, kwargs, error)
        converted = self.convert(args)
        try:
            if kwargs:
                keywords = {}
                for name, value in kwargs.items():
                    keywords[name] = handle_of(value)
                return self.fn(*converted, **keywords)
            return self.fn(*converted)
        except Exception as error:
            explain(op, args, kwargs, error)

    def run(self, op, entry, args, kwargs):
        if self.loop is not None:
            result = self.loop.run(args, kwargs)
            if result is not None:
                return self.wrap(result)
        return self.wrap(self.run_plain(op, args, kwargs))


class PointwiseKernel(ArrayKernel):
    """An `ArrayKernel` that hands plain operands of one dtype straight to a ufunc.

    Parameters
    ----------
    fn : callable
        What runs for all other operands: promotes, computes, casts.
    ufunc : callable
        Right for operands whose dtype is in `fast`, equal in all of them.
    fast : dict
        The dtypes, as keys.
    """

    __slots__ = ("fast", "ufunc")

    def __init__(self, fn, xp, array_type, keys, ufunc, fast):
        ArrayKernel.__init__(self, fn, xp, array_type, keys)
        self.ufunc = ufunc
        self.fast = fast

    def run(self, op, entry, args, kwargs):
        if self.loop is not None:
            result = self.loop.run(args, kwargs)
            if result is not None:
                return self.wrap_one(result)
        if not kwargs:
            count = len(args)
            a = args[0]
            if isinstance(a, TensorBase):
                first: TensorBase = a
                x = first.handle
                dtype = x.dtype
                if dtype in self.fast:
                    if count == 1:
                        return self.wrap_one(self.ufunc(x))
                    if count == 2:
                        b = args[1]
                        if isinstance(b, TensorBase):
                            second: TensorBase = b
                            y = second.handle
                            if y.dtype is dtype:
                                try:
                                    return self.wrap_one(self.ufunc(x, y))
                                except Exception as error:
                                    explain(op, args, kwargs, error)
                        elif dtype.kind == "f" and (type(b) is float or type(b) is int):
                            return self.wrap_one(self.ufunc(x, b))
        return self.wrap(self.run_plain(op, args, kwargs))


class InplacePointwiseKernel(PointwiseKernel):
    """The in-place form: the ufunc writes into the first operand's memory."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        a = args[0]
        if self.loop is not None and self.loop.run(args, kwargs) is not None:
            return a
        return self.write(op, a, args, kwargs)

    def write(self, op, a, args, kwargs):
        if isinstance(a, TensorBase):
            first: TensorBase = a
            x = first.handle
            if not kwargs:
                count = len(args)
                dtype = x.dtype
                if dtype in self.fast:
                    if count == 1:
                        try:
                            self.ufunc(x, x)
                        except ValueError as error:
                            return write_protected(self, op, args, kwargs, error)
                        return a
                    if count == 2:
                        b = args[1]
                        if isinstance(b, TensorBase):
                            second: TensorBase = b
                            y = second.handle
                            if y.dtype is dtype:
                                try:
                                    self.ufunc(x, y, x)
                                except Exception as error:
                                    return write_protected(self, op, args, kwargs, error)
                                return a
                        elif dtype.kind == "f" and (type(b) is float or type(b) is int):
                            try:
                                self.ufunc(x, b, x)
                            except ValueError as error:
                                return write_protected(self, op, args, kwargs, error)
                            return a
            result = self.run_plain(op, args, kwargs)
            if result is not x:  # the function may have written there itself
                try:
                    write_back(self.xp, op, x, result)
                except ValueError as error:
                    return write_protected(self, op, args, kwargs, error)
        return a


def write_protected(kernel, op, args, kwargs, error):
    """Run an in-place kernel again that NumPy refused to let write, or raise.

    Note [Memory that overlaps itself]
        An expanded tensor has several elements in one place, and PyTorch refuses to change it in
        place.  To look for stride 0 at each in-place call would cost those that have none; so such
        arrays are made read-only when they are made (`protect_overlap`), and NumPy refuses for
        nothing.  What is refused too, since views of a read-only array are read-only, is let
        through here: views that do not overlap, and operators that may write to memory that does.
    """
    target = args[0]
    handle = target.handle
    if is_writeable(handle):
        explain(op, args, kwargs, error)
    if op.basename not in WRITES_ONE_VALUE:
        refuse_overlap(op.basename, handle)
    writable = memory_of(target).writable(target.storage_of().root, handle)
    if writable is None:
        raise error  # the array of somebody else, who does not want it changed
    target.handle = writable
    try:
        return kernel.run(op, None, args, kwargs)
    finally:
        if overlaps_itself(handle):
            target.handle = handle


def write_back(xp, op, target, result):
    """Copy an out-of-place result into the array it should have been written to.

    Raises
    ------
    RuntimeError
        If the result has another shape, or a dtype of a higher category.
    """
    check_result_shape(op, target, result)
    if result.dtype.kind == "f" and target.dtype.kind == "c":
        raise RuntimeError(f"In-place {op.basename.rstrip('_')} is not supported for complex tensors.")
    check_result_cast(op, result.dtype, target.dtype)
    xp.copyto(target, result, casting="unsafe")


def check_result_shape(op, target, result):
    """Raise unless a result has the shape of the array it is to be written to."""
    if result.shape != target.shape:
        raise RuntimeError(
            f"{op.basename}: output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}; an in-place operator cannot enlarge its first argument"
        )


def check_result_cast(op, source, target):
    """Raise unless a result of NumPy dtype `source` may be stored as `target` (PyTorch's `can_cast`)."""
    from minitorch.core.dtype import from_numpy_dtype
    from minitorch.core.promotion import can_cast

    if source != target and not can_cast(from_numpy_dtype(source), from_numpy_dtype(target)):
        raise RuntimeError(
            f"{op.basename}: result type {from_numpy_dtype(source).scalar_name} can't be cast to the desired output type "
            f"{from_numpy_dtype(target).scalar_name}"
        )


class WritingKernel(ArrayKernel):
    """Runs a function that writes into its first array, and returns the first tensor where the schema has a return."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        try:
            self.run_plain(op, args, kwargs)
        except ValueError as error:
            if is_writeable(args[0].handle):
                raise
            return write_protected(self, op, args, kwargs, error)
        return args[0] if op.return_count else None


class ViewArrayKernel(ArrayKernel):
    """Runs a function that returns views of its first array; the tensors share its storage."""

    __slots__ = ()

    def wrap_view(self, source, result):
        tensor: TensorBase = new_tensor(result, source.key_set)
        tensor.storage_cell = source.storage_of()
        if source.key_set & _AD_INPLACE_OR_VIEW:
            tensor.version_counter = source.counter_of()
        return tensor

    def run(self, op, entry, args, kwargs):
        source: TensorBase = args[0]
        result = self.run_plain(op, args, kwargs)
        if type(result) is list or type(result) is tuple:
            return [self.wrap_view(source, item) for item in result]
        return self.wrap_view(source, result)
