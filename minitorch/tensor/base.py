"""`TensorBase`: the part of a tensor that every operator call touches.

Compiled where a compiler exists, with its types in `base.pxd`.  `tensor.Tensor` adds the
rest of the public face in ordinary Python.

Note [Handles]
    A tensor's elements are in its *handle*, an array of its backend: a NumPy or CuPy
    array, a `MetaArray`, ...  The handle alone knows shape, strides (in bytes) and dtype,
    so a result costs no more than the object around it.

Note [Storage and versions]
    A `Storage` is the memory that a tensor and its views share: it remembers the handle
    that owns it and counts in-place changes.  It is made when the first view is, when a
    tensor is saved for backward as an output, or changed in place; until then a tensor
    has version 0 and its handle is its storage.  ``x.data`` shares the storage, and has a
    version counter of its own.
"""

from __future__ import annotations

from minitorch.core.dtype import from_numpy_dtype
from minitorch.core.layout import strided
from minitorch.core.size import Size
from minitorch.dispatch.keys import (
    AD_INPLACE_OR_VIEW,
    AUTOGRAD_KEYS,
    BACKEND_MASK,
    DEFAULT_INCLUDED,
    FUNCTIONALIZE,
    FUNCTORCH_KEYS,
    PYTHON,
    PYTHON_KEYS,
    DispatchKey,
    functionality_bit,
)
from minitorch.dispatch.local_state import LocalState, current
from minitorch.dispatch.operator import KeyedObject, Operator

COMPILED = not __file__.endswith(".py")

TENSOR_CLASS = None  # tensor.Tensor, set by `set_classes`
PARAMETER_CLASS = None  # nn.Parameter
# C integers when compiled.
_AD_INPLACE_OR_VIEW = AD_INPLACE_OR_VIEW
_NORMAL_KEYS = AD_INPLACE_OR_VIEW | AUTOGRAD_KEYS
_PYTHON = PYTHON
# What a plain tensor may carry: only instances of classes with __torch_dispatch__ have the Python keys.
_NO_PYTHON = 0xFFFFFFFFFFFFFFFF & ~PYTHON_KEYS

# What tensors may carry whose handle says which layout or device it is: wrapper subclasses, and `components.ComponentHandle`.
_DECLARING = _PYTHON | functionality_bit("Sparse") | functionality_bit("SparseCsr") | functionality_bit("Quantized")
# What tensors carry whose handle is a `wrapper.WrapperHandle`.
_WRAPPER_KEYS = FUNCTORCH_KEYS | FUNCTIONALIZE
# The key set of an ordinary CPU tensor; the ambient set of a thread where nothing is special.
_PLAIN_CPU_KEYS = (
    DispatchKey.by_name["CPU"].bits
    | DispatchKey.by_name["AutogradCPU"].bits
    | DispatchKey.by_name["AutocastCPU"].bits
    | AD_INPLACE_OR_VIEW
)
_DEFAULT_INCLUDED = DEFAULT_INCLUDED

# What `ViewInfo.creation` says of the circumstances a view was made in (spec A8).
VIEW_DEFAULT = 0
VIEW_NO_GRAD = 1
VIEW_INFERENCE = 2
VIEW_MULTI_OUTPUT = 3
VIEW_MULTI_OUTPUT_NO_GRAD = 4
VIEW_CUSTOM_FUNCTION = 5

# Backend index -> function of a handle that returns the device.
DEVICE_OF_BACKEND: dict = {}
# The operators behind Python's operators, by dunder name; filled in by `install_operators`.
_ops: dict = {}
_slow_binary = None
_getitem = None
_item = None
# How many __torch_function__ modes are active, in all threads together.
function_mode_count = 0


class VersionCounter:
    """Counts the in-place changes of the memory that some tensors share."""

    __slots__ = ("version",)

    def __init__(self):
        self.version = 0


class Storage(VersionCounter):
    """The memory behind a tensor and its views (Note [Storage and versions])."""

    __slots__ = ("root",)


def make_storage(root):
    """Return the storage that `root` owns."""
    cell: Storage = Storage.__new__(Storage)
    cell.version = 0
    cell.root = root
    return cell


class ViewInfo:
    """How a view came from its base: the operator, its arguments, and the view before it.

    Attributes
    ----------
    base : TensorBase
        The root of all views; itself no view.
    parent : ViewInfo or None
        The view that this one was made from, None if that was the base.
    op, args, kwargs
        The operator that made it, and its arguments after the first.
    output : int
        Which output of `op` it is; -1 for the only one.
    creation : int
        One of the ``VIEW_*`` constants.
    attr_version : int
        Version of the base when `node` of the view was last right.
    """

    __slots__ = ("args", "attr_version", "base", "creation", "kwargs", "op", "output", "parent")

    def replay(self, base):
        """Return the same view of another base of equal geometry."""
        if self.parent is not None:
            base = self.parent.replay(base)
        result = self.op.call((base, *self.args), self.kwargs)
        return result if self.output < 0 else result[self.output]


def make_view_info(base, parent, op, args, kwargs, output, creation):
    """Return a `ViewInfo`, made without a call of ``__init__``: one is made for every view."""
    info: ViewInfo = ViewInfo.__new__(ViewInfo)
    info.base = base
    info.parent = parent
    info.op = op
    info.args = args
    info.kwargs = kwargs
    info.output = output
    info.creation = creation
    info.attr_version = 0
    return info


def _steps_of_empty(shape):
    """Return the row-major strides of an array without elements, lengths of 0 counted as 1."""
    steps = []
    step = 1
    for n in reversed(shape):
        steps.append(step)
        step *= max(n, 1)
    return tuple(reversed(steps))


class TensorBase(KeyedObject):
    """Handle, key set and autograd state of a tensor.

    Attributes
    ----------
    handle : array
        Note [Handles].
    requires_grad_flag : bool
        Set on leaves that ask for a gradient and on results that were recorded.
    node : Node or None
        What computed it; None for leaves.
    output_nr : int
        Which output of `node` it is.
    grad_slot : TensorBase or None
        The accumulated gradient of a leaf.
    """

    # -- memory ----------------------------------------------------------------

    def storage_of(self):
        """Return the storage, made now if there is none yet."""
        cell = self.storage_cell
        if cell is None:
            cell = make_storage(self.handle)
            self.storage_cell = cell
        return cell

    def counter_of(self):
        """Return the version counter, made now if there is none yet."""
        counter = self.version_counter
        if counter is None:
            counter = self.storage_of()
            self.version_counter = counter
        return counter

    def bump_version(self):
        """Count one in-place change."""
        if self.key_set & _AD_INPLACE_OR_VIEW:
            counter = self.counter_of()
            counter.version += 1

    @property
    def _version(self):
        if not self.key_set & _AD_INPLACE_OR_VIEW:
            raise RuntimeError("Inference tensors do not track version counter.")
        counter = self.version_counter
        return 0 if counter is None else counter.version

    # -- what it is ------------------------------------------------------------

    @property
    def shape(self):
        """The sizes of its dimensions, a `Size`."""
        shape = self.shape_cache
        if shape is None:
            shape = tuple.__new__(Size, self.handle.shape)
            if not self.key_set & _PYTHON:  # a subclass may be asked each time
                self.shape_cache = shape
        return shape

    def size(self, dim=None):
        """Return the sizes of all dimensions (`Size`), or that of `dim`."""
        shape = self.shape_cache
        if shape is None:
            shape = tuple.__new__(Size, self.handle.shape)
            if not self.key_set & _PYTHON:  # a subclass may be asked each time
                self.shape_cache = shape
        if dim is None:
            return shape
        count = len(shape)
        if not -count <= dim < count:
            bound = count if count else 1
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})"
            )
        return tuple.__getitem__(shape, dim)

    @property
    def ndim(self):
        return self.handle.ndim

    def dim(self):
        """Return the number of dimensions."""
        return self.handle.ndim

    @property
    def dtype(self):
        return from_numpy_dtype(self.handle.dtype)

    @property
    def layout(self):
        if self.key_set & _DECLARING:  # sparse tensors and wrapper subclasses say what they are
            if self.key_set & _WRAPPER_KEYS:
                return self.handle.value.layout
            return getattr(self.handle, "declared_layout", strided)
        return strided

    @property
    def device(self):
        if self.key_set & _WRAPPER_KEYS:
            return self.handle.value.device
        if self.key_set & _DECLARING:
            declared = getattr(self.handle, "declared_device", None)
            if declared is not None:
                return declared
        backend = (self.key_set & BACKEND_MASK).bit_length() - 1
        return DEVICE_OF_BACKEND[backend](self.handle)

    def numel(self):
        """Return the number of elements."""
        return self.handle.size

    def element_size(self):
        """Return the bytes of one element."""
        return self.handle.itemsize

    def stride(self, dim=None):
        """Return the steps between neighbours in each dimension, or in `dim`, in elements."""
        handle = self.handle
        itemsize = handle.itemsize
        strides = tuple([s // itemsize for s in handle.strides])
        if strides and strides[-1] == 0 and handle.size == 0 and not any(strides):
            strides = _steps_of_empty(handle.shape)  # NumPy keeps none
        if dim is None:
            return strides
        count = len(strides)
        if not -count <= dim < count:
            bound = count if count else 1
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})"
            )
        return strides[dim]

    @property
    def is_leaf(self):
        return self.node is None or not self.requires_grad_flag

    def is_inference(self):
        """Return whether it was made in inference mode."""
        return not self.key_set & _NORMAL_KEYS

    def item(self):
        """Return the only element as a Python number.

        Raises
        ------
        RuntimeError
            If it has several elements, or none.
        """
        # Note [Shortcut of item]: with an ordinary CPU tensor, and nothing special about the thread,
        # no kernel but the last one would do anything.
        state: LocalState = current()
        if (
            self.key_set == _PLAIN_CPU_KEYS
            and state.included == _DEFAULT_INCLUDED
            and type(self) is TENSOR_CLASS
            and not function_mode_count
            and not state.trace
        ):
            handle = self.handle
            if handle.size == 1 and handle.dtype.kind in "fiub":
                return handle.item()
        return _item(self)

    def __len__(self):
        handle = self.handle
        if handle.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return handle.shape[0]

    # -- Python's operators ------------------------------------------------------

    def __add__(self, other):
        return _binary("add", self, other)

    def __radd__(self, other):
        return _binary("add", self, other)

    def __sub__(self, other):
        return _binary("sub", self, other)

    def __rsub__(self, other):
        return _binary("rsub", self, other)

    def __mul__(self, other):
        return _binary("mul", self, other)

    def __rmul__(self, other):
        return _binary("mul", self, other)

    def __truediv__(self, other):
        return _binary("div", self, other)

    def __matmul__(self, other):
        return _binary("matmul", self, other)

    def __lt__(self, other):
        return _compare("lt", self, other)

    def __le__(self, other):
        return _compare("le", self, other)

    def __gt__(self, other):
        return _compare("gt", self, other)

    def __ge__(self, other):
        return _compare("ge", self, other)

    def __eq__(self, other):
        return _compare("eq", self, other)

    def __ne__(self, other):
        return _compare("ne", self, other)

    def __hash__(self):
        return id(self) >> 4

    def __neg__(self):
        if type(self) is TENSOR_CLASS and not function_mode_count:
            op: Operator = _ops["neg"]
            return op.call1(self)
        return _slow_binary("neg", self, None)

    def __getitem__(self, index):
        return _getitem(self, index)


if not COMPILED:
    # Compiled, these are C fields that start as None or 0.  Interpreted, class attributes
    # stand in, so that a new tensor sets only its handle and key set.
    TensorBase.requires_grad_flag = False
    TensorBase.node = None
    TensorBase.output_nr = 0
    TensorBase.grad_slot = None
    TensorBase.version_counter = None
    TensorBase.storage_cell = None
    TensorBase.view_info = None
    TensorBase.autograd_meta = None
    TensorBase.shape_cache = None
    TensorBase.extra = None


def _binary(name, a, b):
    """Run a binary operator on a tensor and a tensor or number."""
    kind = type(b)
    if (kind is TENSOR_CLASS or kind is PARAMETER_CLASS or kind is float or kind is int) and not function_mode_count:
        kind = type(a)
        if kind is TENSOR_CLASS or kind is PARAMETER_CLASS:
            op: Operator = _ops.get(name)
            if op is not None:
                return op.call2(a, b)
    return _slow_binary(name, a, b)


def _compare(name, a, b):
    """Run a comparison of a tensor with a tensor or number."""
    kind = type(b)
    if (kind is TENSOR_CLASS or kind is PARAMETER_CLASS) and not function_mode_count:
        kind = type(a)
        if kind is TENSOR_CLASS or kind is PARAMETER_CLASS:
            op: Operator = _ops[name]
            return op.call2(a, b)
    return _slow_binary(name, a, b)


def new_tensor(handle, key_set):
    """Return a plain tensor around a handle: no history, no checks.

    It is of no subclass, so the Python keys that `key_set` may have of one are left out.
    """
    if COMPILED:
        result: TensorBase = minitorch_new_object(TensorBase, TENSOR_CLASS)  # noqa: F821 (declared in the .pxd)
        result.handle = handle
        result.key_set = key_set & _NO_PYTHON
        return result
    tensor = object.__new__(TENSOR_CLASS)
    tensor.handle = handle
    tensor.key_set = key_set & _NO_PYTHON
    return tensor


def bare_copy(tensor):
    """Return a tensor of the same class and the same memory, without history.

    Of plain tensors, and of a class whose handle is all there is (`Tensor._handle_is_all`), it has no storage cell and
    no version counter yet; other classes with ``__torch_dispatch__`` make it with their ``detach``.
    """
    if not tensor.key_set & _PYTHON:
        return new_tensor(tensor.handle, tensor.key_set)
    if not tensor._handle_is_all:
        return tensor.detach()
    result = TensorBase.__new__(type(tensor))
    result.handle = tensor.handle
    result.key_set = tensor.key_set
    return result


def is_plain(value):
    """Return whether `value` is a tensor that overrides nothing (a Tensor or Parameter proper)."""
    kind = type(value)
    return kind is TENSOR_CLASS or kind is PARAMETER_CLASS


def set_classes(tensor_class=None, parameter_class=None):
    """Tell the core which classes are the plain ones."""
    global TENSOR_CLASS, PARAMETER_CLASS
    if tensor_class is not None:
        TENSOR_CLASS = tensor_class
    if parameter_class is not None:
        PARAMETER_CLASS = parameter_class


def install_operators(operators, slow_binary, getitem, item):
    """Give the Python operators what they call.

    Parameters
    ----------
    operators : dict of str to Operator
        By name: ``"add"``, ``"lt"``, ``"neg"``, ...
    slow_binary : callable
        ``(name, a, b)`` for operands that are no plain tensors or numbers.
    getitem : callable
        ``(tensor, index)``
    item : callable
        The method ``item`` for tensors that are not ordinary.
    """
    global _slow_binary, _getitem, _item
    _item = item
    _ops.update(operators)
    _slow_binary = slow_binary
    _getitem = getitem
    if not COMPILED:
        for name in ("add", "sub", "mul", "matmul"):
            setattr(TensorBase, f"__{name}__", _direct(name, operators[name]))
        TensorBase.__truediv__ = _direct("div", operators["div"])


def _direct(name, op):
    """Return the method of a Python operator for where this runs interpreted: `_binary` without a call of its own."""
    call = op.call2

    def method(self, other):
        kind = type(other)
        if kind is TENSOR_CLASS or kind is PARAMETER_CLASS or kind is float or kind is int:
            kind = type(self)
            if (kind is TENSOR_CLASS or kind is PARAMETER_CLASS) and not function_mode_count:
                return call(self, other)
        return _slow_binary(name, self, other)

    method.__name__ = method.__qualname__ = f"__{name}__"
    return method


def count_function_modes(change):
    """Note that a ``__torch_function__`` mode was entered (+1) or left (-1)."""
    global function_mode_count
    function_mode_count += change


def modes_active():
    """Return how many ``__torch_function__`` modes are active, in all threads together."""
    return function_mode_count
